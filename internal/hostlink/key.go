package hostlink

// The deployment's key, shared by the API and all hosts.

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/internal/statedir"
)

// keySize is what HMAC-SHA256 can use.
const keySize = 32

// Key signs and checks passes.
type Key struct{ secret []byte }

// LoadKey reads a key file: 32 bytes in hex, readable by its owner only.
func LoadKey(path string) (Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Key{}, fmt.Errorf("host link key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Key{}, fmt.Errorf("host link key %s can be read by others than its owner; chmod 600 it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("host link key: %w", err)
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != keySize {
		return Key{}, fmt.Errorf("host link key %s is not %d bytes in hex", path, keySize)
	}
	return Key{secret}, nil
}

// CreateKey writes a new key to path, unless a file is there, and gives the
// key that the file holds: of several processes that do so at once all get the
// same.
func CreateKey(path string) (Key, error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return LoadKey(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Key{}, fmt.Errorf("host link key: %w", err)
	}
	secret := make([]byte, keySize)
	rand.Read(secret) // never fails since Go 1.24
	if err := statedir.Create(path, []byte(hex.EncodeToString(secret)+"\n")); err != nil {
		return Key{}, fmt.Errorf("host link key: %w", err)
	}
	return LoadKey(path)
}
