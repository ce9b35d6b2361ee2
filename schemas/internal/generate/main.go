// Command generate writes schemas/compute/requests.json and
// schemas/baremetal/bodies.json from the contract data in the folder that
// HOLDFAST_CONTRACTS names: the product never reads the contracts while it runs.
// Run it from the module's root:
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
	contracts := os.Getenv("HOLDFAST_CONTRACTS")
	for path, text := range map[string]func(contracts string) ([]byte, error){
		filepath.Join("compute", "requests.json"): requests.Compute,
		filepath.Join("baremetal", "bodies.json"): requests.Baremetal,
	} {
		made, err := text(contracts)
		if err == nil {
			err = os.WriteFile(filepath.Join("schemas", path), made, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
