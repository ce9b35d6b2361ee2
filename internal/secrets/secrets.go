// Package secrets encrypts what is kept at rest and must not be read there:
// user data, passwords, tokens of trusts. AES-256-GCM; the id of the key goes
// with the text, so that keys can be changed and old texts still read.
//
// It knows files and bytes; where sealed text is kept is its callers' matter.
package secrets

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
)

const (
	keyLength  = 32
	maxKeyID   = 255
	firstKeyID = "1"
)

// Box seals and opens texts.
type Box struct {
	current string
	keys    map[string]cipher.AEAD
}

// Load reads a file of keys: a line each, an id and 64 hex digits. The first
// one seals; all of them open.
func Load(path string) (*Box, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("secret keys: %w", err)
	}
	defer file.Close()
	box := &Box{keys: map[string]cipher.AEAD{}}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		id, digits, ok := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if id == "" {
			continue
		}
		key, err := hex.DecodeString(strings.TrimSpace(digits))
		if !ok || err != nil || len(key) != keyLength || len(id) > maxKeyID {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%s: line %d is not an id and %d hex digits", path, n, 2*keyLength)
		}
		if box.keys[id], err = aead(key); err != nil {
			return nil, err
		}
		if box.current == "" {
			box.current = id
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("secret keys: %w", err)
	}
	if box.current == "" {
		return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%s: there is no key in it", path)
	}
	return box, nil
}

// LoadOrCreate is Load, after writing a file with one fresh key if there is
// none. Of several processes that do so at once, one writes it.
func LoadOrCreate(path string) (*Box, error) {
	if box, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		return box, err
	}
	key := make([]byte, keyLength)
	rand.Read(key) // crypto/rand.Read never fails since Go 1.24
	if err := statedir.Create(path, []byte(firstKeyID+" "+hex.EncodeToString(key)+"\n")); err != nil {
		return nil, fmt.Errorf("secret keys: %w", err)
	}
	return Load(path)
}

func aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	return cipher.NewGCM(block)
}

// Seal encrypts text for one place, for example a row's id and column: only
// there can it be opened. The result is the key's id (a length byte first), a
// nonce, and the encrypted text.
func (b *Box) Seal(text []byte, place string) []byte {
	gcm := b.keys[b.current]
	sealed := append([]byte{byte(len(b.current))}, b.current...)
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce)
	sealed = append(sealed, nonce...)
	return gcm.Seal(sealed, nonce, text, []byte(place))
}

// Open decrypts what Seal gave for the same place. Errors: Internal, if the key
// is not at hand or the text is not what was sealed.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	if len(sealed) == 0 || len(sealed) < 1+int(sealed[0]) {
		return nil, faults.New(faults.Internal, "SecretDamaged", "a secret is damaged")
	}
	id, rest := string(sealed[1:1+sealed[0]]), sealed[1+sealed[0]:]
	gcm, ok := b.keys[id]
	if !ok {
		return nil, faults.New(faults.Internal, "SecretKeyMissing", "the key %q of a secret is missing", id)
	}
	if len(rest) < gcm.NonceSize() {
		return nil, faults.New(faults.Internal, "SecretDamaged", "a secret is damaged")
	}
	text, err := gcm.Open(nil, rest[:gcm.NonceSize()], rest[gcm.NonceSize():], []byte(place))
	if err != nil {
		return nil, faults.Wrap(err, faults.Internal, "SecretDamaged", "a secret is damaged")
	}
	return text, nil
}
