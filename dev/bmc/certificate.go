package bmc

// The service's certificate, and who signs it.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/internal/statedir"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

const lasts = 10 * 365 * 24 * time.Hour

// certify gives who signs the certificates of the service whose folder it is, and the
// file of its own; a later start has the same authority.
func certify(dir string) (caFile string, ca *authority, err error) {
	caFile, keyFile := filepath.Join(dir, "bmc-ca.pem"), filepath.Join(dir, "bmc-ca.key")
	ca, err = load(caFile, keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if ca, err = newAuthority(); err == nil {
			err = ca.save(caFile, keyFile)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("the BMCs' authority: %w", err)
	}
	return caFile, ca, nil
}

// strange is a certificate of an address that nobody trusts.
func strange(at net.IP) (*tls.Certificate, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	return ca.sign(at)
}

// loopback is where the service is, unless its machines are apart.
var loopback = net.IPv4(127, 0, 0, 1)

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated BMCs"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(lasts), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

// sign makes a certificate of an address.
func (a *authority) sign(at net.IP) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "simulated BMC"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts), IPAddresses: []net.IP{at},
		DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (a *authority) save(certFile, keyFile string) error {
	der, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return err
	}
	if err := statedir.Write(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})); err != nil {
		return err
	}
	return statedir.Write(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

func load(certFile, keyFile string) (*authority, error) {
	keyText, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	certText, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	keyBlock, _ := pem.Decode(keyText)
	certBlock, _ := pem.Decode(certText)
	if keyBlock == nil || certBlock == nil {
		return nil, errors.New("its files can't be read")
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	return &authority{cert, key}, err
}
