// Package contracttest finds the contract data for tests: the folder that
// HOLDFAST_CONTRACTS names, by default ../shared/contracts beside the repository.
// A test that needs it and doesn't find it fails.
package contracttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/repotest"
)

// variable names the environment variable of the folder.
const variable = "HOLDFAST_CONTRACTS"

// Folder is where the contract data is.
func Folder() (string, error) {
	if folder := os.Getenv(variable); folder != "" {
		return folder, nil
	}
	root, err := repotest.Root()
	if err != nil {
		return "", fmt.Errorf("set %s to the folder of the contract data: %w", variable, err)
	}
	return filepath.Join(root, "..", "shared", "contracts"), nil
}

// Text reads a file of the contract data, "compute/operations.json".
func Text(path string) ([]byte, error) {
	folder, err := Folder()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(path)))
	if err != nil {
		err = fmt.Errorf("set %s to the folder of the contract data: %w", variable, err)
	}
	return text, err
}

// Read decodes a JSON file of the contract data.
func Read(t testing.TB, path string, into any) {
	t.Helper()
	text, err := Text(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
