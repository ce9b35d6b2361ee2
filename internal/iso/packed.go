package iso

// Images as text, as the bare metal service takes and gives config drives.

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"holdfast.dev/internal/faults"
)

// maxPacked is what fits into the partition of a config drive.
const maxPacked = 64 << 20

// Packed makes an image, gzipped and in base64. Errors: Invalid, it is too large.
func Packed(i Image) (text string, err error) {
	dir, err := os.MkdirTemp("", "drive")
	if err != nil {
		return "", fmt.Errorf("config drive: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	name := filepath.Join(dir, "drive.iso")
	if err := Write(name, i); err != nil {
		return "", err
	}
	return pack(name)
}

func pack(name string) (text string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("config drive: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	n, err := io.Copy(to, io.LimitReader(f, maxPacked+1))
	if err := errors.Join(err, to.Close()); err != nil {
		return "", fmt.Errorf("config drive: %w", err)
	}
	if n > maxPacked {
		return "", faults.New(faults.Invalid, "ConfigDriveTooLarge", "the config drive is larger than %d MiB", maxPacked>>20)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}
