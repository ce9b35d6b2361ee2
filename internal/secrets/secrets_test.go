package secrets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/internal/faults"
)

func keys(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var keyOne, keyTwo = strings.Repeat("11", 32), strings.Repeat("22", 32)

func TestSealedTextOpensInItsPlaceOnly(t *testing.T) {
	t.Parallel()
	box, err := Load(keys(t, "1 "+keyOne+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	sealed := box.Seal([]byte("swordfish"), "servers/1/user_data")
	if bytes.Contains(sealed, []byte("swordfish")) {
		t.Fatal("the text shows in what was sealed")
	}
	if text, err := box.Open(sealed, "servers/1/user_data"); err != nil || string(text) != "swordfish" {
		t.Errorf("opened %q, %v; want swordfish", text, err)
	}
	if _, err := box.Open(sealed, "servers/2/user_data"); faults.As(err).Code != "SecretDamaged" {
		t.Errorf("elsewhere: %v; want SecretDamaged", err)
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := box.Open(damaged, "servers/1/user_data"); err == nil {
			t.Fatalf("opened with byte %d changed", i)
		}
		if _, err := box.Open(sealed[:i], "servers/1/user_data"); err == nil {
			t.Fatalf("opened with %d bytes only", i)
		}
	}
}

func TestKeysAreChanged(t *testing.T) {
	t.Parallel()
	old, err := Load(keys(t, "1 "+keyOne))
	if err != nil {
		t.Fatal(err)
	}
	young, err := Load(keys(t, "2 "+keyTwo+"\n1 "+keyOne))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := young.Open(old.Seal([]byte("a"), "p"), "p"); err != nil || string(text) != "a" {
		t.Errorf("an old text with the new keys: %q, %v", text, err)
	}
	if _, err := old.Open(young.Seal([]byte("a"), "p"), "p"); faults.As(err).Code != "SecretKeyMissing" {
		t.Errorf("a new text with the old key: %v; want SecretKeyMissing", err)
	}
}

func TestBadKeyFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n", "1", "1 zz", "1 " + keyOne[:62], strings.Repeat("x", 256) + " " + keyOne} {
		if _, err := Load(keys(t, text)); faults.As(err).Code != "InvalidConfiguration" {
			t.Errorf("%.20q: %v; want InvalidConfiguration", text, err)
		}
	}
}

func TestOneOfManyCreatesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	sealed := make([][]byte, 8)
	boxes := make([]*Box, len(sealed))
	var all sync.WaitGroup
	for i := range sealed {
		all.Go(func() {
			box, err := LoadOrCreate(path)
			if err != nil {
				t.Error(err)
				return
			}
			boxes[i], sealed[i] = box, box.Seal([]byte("a"), "p")
		})
	}
	all.Wait()
	for _, s := range sealed {
		if _, err := boxes[0].Open(s, "p"); err != nil {
			t.Error("two processes made two keys:", err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v; want 0600", info.Mode(), err)
	}
}
