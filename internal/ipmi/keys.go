package ipmi

// Cipher suites, and the keys of a session.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
)

// Suite is a cipher suite by its number.
type Suite byte

// The suites that are talked: both encrypt by AES, and sign by SHA-1 or SHA-256.
const (
	SHA1   Suite = 3
	SHA256 Suite = 17
)

// algorithms are a suite's, by the numbers that open a session.
type algorithms struct {
	authentication, integrity, confidentiality byte
	hash                                       func() hash.Hash
	// code is the length of the code that signs a packet.
	code int
}

var suites = map[Suite]algorithms{SHA1: {1, 1, 1, sha1.New, 12}, SHA256: {3, 4, 1, sha256.New, 16}}

func (a algorithms) mac(key []byte, parts ...[]byte) []byte {
	m := hmac.New(a.hash, key)
	for _, part := range parts {
		m.Write(part)
	}
	return m.Sum(nil)
}

// keys sign and encrypt the packets of a session.
type keys struct {
	algorithms
	integrity []byte // K1
	block     cipher.Block
}

// newKeys makes those of a session's own key.
func newKeys(a algorithms, sik []byte) (keys, error) {
	constant := func(n byte) (all []byte) {
		for range 20 {
			all = append(all, n)
		}
		return all
	}
	block, err := aes.NewCipher(a.mac(sik, constant(2))[:16])
	if err != nil {
		return keys{}, fmt.Errorf("the key of a session: %w", err)
	}
	return keys{a, a.mac(sik, constant(1)), block}, nil
}

// encrypted is a payload with its vector before it.
func (k keys) encrypted(plain []byte) ([]byte, error) {
	padded := append([]byte(nil), plain...)
	n := byte(0)
	for len(padded)%aes.BlockSize != aes.BlockSize-1 {
		n++
		padded = append(padded, n)
	}
	padded = append(padded, n)
	sealed := make([]byte, aes.BlockSize+len(padded))
	if _, err := rand.Read(sealed[:aes.BlockSize]); err != nil {
		return nil, fmt.Errorf("encrypt a packet: %w", err)
	}
	cipher.NewCBCEncrypter(k.block, sealed[:aes.BlockSize]).CryptBlocks(sealed[aes.BlockSize:], padded)
	return sealed, nil
}

// decrypted is what was encrypted; not ok if it can't have been.
func (k keys) decrypted(sealed []byte) (plain []byte, ok bool) {
	if len(sealed) < 2*aes.BlockSize || len(sealed)%aes.BlockSize != 0 {
		return nil, false
	}
	plain = make([]byte, len(sealed)-aes.BlockSize)
	cipher.NewCBCDecrypter(k.block, sealed[:aes.BlockSize]).CryptBlocks(plain, sealed[aes.BlockSize:])
	end := len(plain) - 1 - int(plain[len(plain)-1])
	if end < 0 {
		return nil, false
	}
	return plain[:end], true
}
