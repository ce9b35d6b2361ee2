// Package shacrypt hashes passwords as crypt(3) does by SHA-256, which the system of a
// ramdisk takes in the place of the password itself.
package shacrypt

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
)

// letters are those of salts and of hashes, by their value.
const letters = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const (
	// rounds are those of a hash that doesn't say how many it has.
	rounds = 5000
	// saltLength is as long as a salt can be.
	saltLength = 16
)

// Hash hashes a password with a salt of its own.
func Hash(password string) (string, error) {
	var salt strings.Builder
	for range saltLength {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", fmt.Errorf("a salt: %w", err)
		}
		salt.WriteByte(letters[at.Int64()])
	}
	return with(password, salt.String()), nil
}

// with hashes a password with a salt.
func with(password, salt string) string {
	p, s := []byte(password), []byte(salt)
	sum := func(parts ...[]byte) []byte {
		h := sha256.New()
		for _, part := range parts {
			h.Write(part)
		}
		return h.Sum(nil)
	}
	other := sum(p, s, p)
	first := [][]byte{p, s, stretch(other, len(p))}
	for n := len(p); n > 0; n >>= 1 {
		if n&1 == 1 {
			first = append(first, other)
		} else {
			first = append(first, p)
		}
	}
	now := sum(first...)
	var often [][]byte
	for range p {
		often = append(often, p)
	}
	bytesOfP := stretch(sum(often...), len(p))
	often = nil
	for range 16 + int(now[0]) {
		often = append(often, s)
	}
	bytesOfS := stretch(sum(often...), len(s))
	for round := range rounds {
		var parts [][]byte
		odd := round&1 == 1
		parts = append(parts, pick(odd, bytesOfP, now))
		if round%3 != 0 {
			parts = append(parts, bytesOfS)
		}
		if round%7 != 0 {
			parts = append(parts, bytesOfP)
		}
		now = sum(append(parts, pick(odd, now, bytesOfP))...)
	}
	return "$5$" + salt + "$" + spell(now)
}

func pick(first bool, a, b []byte) []byte {
	if first {
		return a
	}
	return b
}

// stretch repeats what there is up to a length.
func stretch(of []byte, length int) []byte {
	long := make([]byte, 0, length+len(of))
	for len(long) < length {
		long = append(long, of...)
	}
	return long[:length]
}

// spell writes a sum in letters: of each three bytes, which lie apart by a third of
// the sum, four.
func spell(sum []byte) string {
	var text strings.Builder
	write := func(a, b, c byte, length int) {
		value := int(a)<<16 | int(b)<<8 | int(c)
		for range length {
			text.WriteByte(letters[value&0x3f])
			value >>= 6
		}
	}
	a, b, c := 0, 10, 20
	for range 10 {
		write(sum[a], sum[b], sum[c], 4)
		a, b, c = c+1, a+1, b+1
	}
	write(0, sum[31], sum[30], 3)
	return text.String()
}
