package shacrypt

import (
	"strings"
	"testing"
)

// The hashes that openssl passwd gives.
func TestWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ password, salt, want string }{
		{"Hello world!", "saltstring", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"},
		{"x", "ab", "$5$ab$5ydlOaPxAq0VpamGFK.BZgHF7HlR0erJsH.F7VB19f0"},
		{"a much longer password than any sum has bytes, so that it is stretched twice", "0123456789abcdef",
			"$5$0123456789abcdef$HmFbGBf9uaDvBop84SJXJljq5zeCs4A1xAcAGTSkuB6"},
	} {
		if got := with(c.password, c.salt); got != c.want {
			t.Errorf("%s: %s", c.password, got)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	one, err := Hash("s3cret")
	other, err2 := Hash("s3cret")
	if err != nil || err2 != nil || one == other || !strings.HasPrefix(one, "$5$") || len(one) != len("$5$")+saltLength+1+43 {
		t.Errorf("%s, %s, %v, %v", one, other, err, err2)
	}
	if parts := strings.Split(one, "$"); with("s3cret", parts[2]) != one {
		t.Errorf("%s", one)
	}
}
