// Command generate writes schemas/compute/requests.json from the contract data
// in the folder that HOLDFAST_CONTRACTS names: the product never reads the
// contracts while it runs. Run it from the module's root:
//
//	go run ./schemas/internal/generate
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"holdfast.dev/schemas/internal/requests"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := requests.Compute(os.Getenv("HOLDFAST_CONTRACTS"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("schemas", "compute", "requests.json"), text, 0o644)
}
