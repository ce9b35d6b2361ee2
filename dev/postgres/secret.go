// Passwords, one file each.

package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secret returns the password of a role, made on first use and kept in the
// folder for the owner's eyes only. The file appears whole or not at all.
func secret(dir, role string) (string, error) {
	file := filepath.Join(dir, role+".password")
	text, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("password of %s: %w", role, err)
	}
	password := strings.ToLower(rand.Text())
	temporary, err := os.CreateTemp(dir, role+".password.")
	if err != nil {
		return "", fmt.Errorf("password of %s: %w", role, err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(password + "\n")
	if err = errors.Join(err, temporary.Close()); err != nil {
		return "", fmt.Errorf("password of %s: %w", role, err)
	}
	// Link, not rename: who comes second takes the password of the first.
	if err := os.Link(temporary.Name(), file); errors.Is(err, fs.ErrExist) {
		return secret(dir, role)
	} else if err != nil {
		return "", fmt.Errorf("password of %s: %w", role, err)
	}
	return password, nil
}
