package sshkeys

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	const key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDx8nkQv/zgGgB4rMYmIf+6A4l6Rr+o/6lHBQdW5aYd44bd8JttDCE/F/pNRr0lRE+PiqSPO8nDPHw0010JeMH9gYgnnFlyY3/OcJ02RhIPyyxYpv9FhY+2YiUkpwFOcLImyrxEsYXpD/0d3ac30bNH6Sw9JD9UZHYcpSxsIbECHw== Generated-by-Nova"
	if got, err := Fingerprint("ssh", key); err != nil || got != "1e:2c:9b:56:79:4b:45:77:f9:ca:7a:98:2c:b0:d5:3c" {
		t.Errorf("%s %v", got, err)
	}
	for _, kind := range []string{"ssh", "x509"} {
		if got, err := Fingerprint(kind, "nonsense"); err == nil {
			t.Errorf("nonsense has the %s fingerprint %s", kind, got)
		}
	}
}

// A new key's halves belong together, and the public one has a fingerprint.
func TestGenerate(t *testing.T) {
	t.Parallel()
	for kind, begins := range map[string]string{"ssh": "ssh-rsa AAAA", "x509": "-----BEGIN CERTIFICATE-----"} {
		public, private, err := Generate(kind, "alice")
		if err != nil || !strings.HasPrefix(public, begins) {
			t.Fatalf("%s: %q %v", kind, public, err)
		}
		if _, err := Fingerprint(kind, public); err != nil {
			t.Error(err)
		}
		block, _ := pem.Decode([]byte(private))
		if kind == "ssh" {
			_, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		} else {
			_, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		}
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
