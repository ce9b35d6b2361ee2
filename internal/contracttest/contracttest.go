// Package contracttest finds the contract data for tests: the folder that
// HOLDFAST_CONTRACTS names, by default ../shared/contracts beside the repository.
// A test that needs it and doesn't find it fails.
package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// variable names the environment variable of the folder.
const variable = "HOLDFAST_CONTRACTS"

// Folder is where the contract data is.
func Folder() (string, error) {
	if folder := os.Getenv(variable); folder != "" {
		return folder, nil
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "..", "shared", "contracts"), nil
		}
		if root == filepath.Dir(root) {
			return "", errors.New("no module around the test: set " + variable + " to the folder of the contract data")
		}
		root = filepath.Dir(root)
	}
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
