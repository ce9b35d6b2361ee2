// Package sshkeys makes keys for servers and says what fingerprint one has.
// Types are Nova's: "ssh", an OpenSSH public key line, and "x509", a PEM
// certificate. Pure but for the machine's random numbers.
package sshkeys

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // the original's fingerprint of certificates
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// bits of new keys, as the original's.
const bits = 2048

// Fingerprint is the MD5 of an SSH key or the SHA-1 of a certificate, in hex
// pairs with colons. An error says only that the key is none.
func Fingerprint(kind, publicKey string) (string, error) {
	if kind == "x509" {
		return certificateFingerprint(publicKey)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(publicKey))
	if err != nil {
		return "", fmt.Errorf("not an SSH public key: %w", err)
	}
	return ssh.FingerprintLegacyMD5(key), nil
}

func certificateFingerprint(text string) (string, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "", errors.New("not a PEM certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("not a certificate: %w", err)
	}
	sum := sha1.Sum(certificate.Raw) //nolint:gosec // see the import
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = hex.EncodeToString([]byte{b})
	}
	return strings.Join(pairs, ":"), nil
}

// Generate makes a new RSA key for a user: its public half in the form of its
// kind, and the private one as PEM.
func Generate(kind, user string) (public, private string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return "", "", fmt.Errorf("new key: %w", err)
	}
	if kind == "x509" {
		return certificate(key, user)
	}
	line, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		return "", "", fmt.Errorf("new key: %w", err)
	}
	public = strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(line)), "\n") + " Generated-by-Nova"
	return public, pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), nil
}

// certificate signs the key for logins of the user, for ten years.
func certificate(key *rsa.PrivateKey, user string) (public, private string, err error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return "", "", fmt.Errorf("new certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user},
		NotBefore:    time.Now(),
		NotAfter:     time.Now().AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return "", "", fmt.Errorf("new certificate: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", fmt.Errorf("new certificate: %w", err)
	}
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", pkcs8), nil
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
