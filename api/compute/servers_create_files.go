package compute

// What a create request brings for the guest: files, until 2.56, and user data.

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/compute"
)

// fileRequest is an entry of "personality"; its schema asks for neither half.
type fileRequest struct {
	Path     *string `json:"path"`
	Contents *string `json:"contents"`
}

// wholeFiles refuses a file that lacks a half; the original fails on it.
func (c *createRequest) wholeFiles() error {
	for _, f := range c.Personality {
		switch {
		case f.Path == nil:
			return faults.New(faults.Invalid, "InvalidPersonality", "Bad personality format: missing path")
		case f.Contents == nil:
			return faults.New(faults.Invalid, "InvalidPersonality", "Bad personality format: missing contents")
		}
	}
	return nil
}

// bootData is what the guest is told, its keypair left out.
func (c *createRequest) bootData(password string) (compute.BootData, error) {
	data := compute.BootData{AdminPassword: password}
	if err := c.wholeFiles(); err != nil {
		return data, err
	}
	for _, f := range c.Personality {
		contents, err := decodeBase64(*f.Contents)
		if err != nil {
			return data, faults.Wrap(err, faults.Invalid, "InvalidPersonality", "Personality content for %s cannot be decoded", *f.Path)
		}
		data.Files = append(data.Files, compute.InjectedFile{Path: *f.Path, Contents: contents})
	}
	if c.UserData == nil || *c.UserData == "" {
		return data, nil
	}
	var err error
	if data.UserData, err = decodeBase64(*c.UserData); err != nil {
		return data, faults.Wrap(err, faults.Invalid, "InstanceUserDataMalformed", "User data needs to be valid base 64.")
	}
	return data, nil
}

// decodeBase64 skips what isn't of the alphabet, as Python's reader does.
func decodeBase64(text string) ([]byte, error) {
	kept := strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("+/=", c)) {
			return c
		}
		return -1
	}, text)
	return base64.StdEncoding.DecodeString(kept)
}

// checkFiles holds the files against the quota: how many, the longest path, the
// longest content as it was sent. -1 is no limit.
func (c *createRequest) checkFiles(limits map[string]int64) error {
	if over(len(c.Personality), limits["injected_files"]) {
		return faults.New(faults.OverLimit, "OnsetFileLimitExceeded", "Personality file limit exceeded")
	}
	path, content := 0, 0
	for _, f := range c.Personality {
		path, content = max(path, utf8.RuneCountInString(*f.Path)), max(content, len(*f.Contents))
	}
	if most := limits["injected_file_path_bytes"]; over(path, most) {
		return faults.New(faults.OverLimit, "OnsetFilePathLimitExceeded", "Personality file path exceeds maximum %d", most)
	}
	if most := limits["injected_file_content_bytes"]; over(content, most) {
		return faults.New(faults.OverLimit, "OnsetFileContentLimitExceeded", "Personality file content exceeds maximum %d", most)
	}
	return nil
}

func over(n int, most int64) bool { return most >= 0 && int64(n) > most }
