// Package repotest finds the repository that a test is in: above its working folder,
// since a binary may not know what it was made from (-trimpath).
package repotest

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrNoModule says that there is no module around the working folder.
var ErrNoModule = errors.New("no module around the test")

// Root is the folder of the module that the test is in.
func Root() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", ErrNoModule
		}
		at = filepath.Dir(at)
	}
}
