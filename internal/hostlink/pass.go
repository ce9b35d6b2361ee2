package hostlink

// Passes: signed, short-lived permissions for one verb on one object.

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast.dev/internal/faults"
)

// Pass is what a request is allowed.
type Pass struct {
	// Caller is who asks: "host/<id>" or "api".
	Caller string `json:"caller"`
	// Verb is the HTTP method, Object the thing asked about.
	Verb   string    `json:"verb"`
	Object string    `json:"object"`
	Expiry time.Time `json:"expiry"`
	// Nonce tells passes apart where each serves once.
	Nonce string `json:"nonce"`
}

const (
	// passLife is how long a pass is good for: a request and its retries.
	passLife = time.Minute
	// maxPassLife bounds what a checker believes, whoever signed it, clocks
	// that differ included.
	maxPassLife = 5 * time.Minute
	// maxPass bounds the header's length, in bytes.
	maxPass = 2 << 10
)

var passEncoding = base64.RawURLEncoding

// Issue signs a fresh pass for verb on object.
func (k Key) Issue(caller, verb, object string) string {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	return k.sign(Pass{Caller: caller, Verb: verb, Object: object,
		Expiry: time.Now().Add(passLife).UTC().Truncate(time.Second), Nonce: passEncoding.EncodeToString(nonce)})
}

func (k Key) sign(p Pass) string {
	claims, err := json.Marshal(p)
	if err != nil { // strings and a time in this century: can't be
		return ""
	}
	text := passEncoding.EncodeToString(claims)
	return text + "." + passEncoding.EncodeToString(k.mac(text))
}

func (k Key) mac(text string) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte("holdfast host link pass\n" + text))
	return h.Sum(nil)
}

// Check gives the pass in a request's Authorization header if it is genuine,
// not expired and for this verb and object. Otherwise faults.Unauthorized,
// which doesn't say why.
func (k Key) Check(r *http.Request, object string) (Pass, error) {
	refused := faults.New(faults.Unauthorized, "Unauthorized", "the host link needs a valid pass")
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	text, mac, dotted := strings.Cut(token, ".")
	if !ok || !dotted || len(token) > maxPass || len(k.secret) == 0 {
		return Pass{}, refused
	}
	given, err := passEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(given, k.mac(text)) {
		return Pass{}, refused
	}
	var p Pass
	claims, err := passEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(claims, &p) != nil {
		return Pass{}, refused
	}
	if left := time.Until(p.Expiry); left <= 0 || left > maxPassLife || p.Verb != r.Method || p.Object != object {
		return Pass{}, refused
	}
	return p, nil
}

// spent remembers passes that have served, until they expire.
type spent struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// maxSpent bounds the memory; only holders of the key fill it.
const maxSpent = 10_000

// spend is true the first time it sees the pass.
func (s *spent) spend(p Pass) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	if _, seen := s.until[p.Nonce]; seen || p.Nonce == "" {
		return false
	}
	if len(s.until) >= maxSpent {
		now := time.Now()
		for nonce, expiry := range s.until {
			if now.After(expiry) {
				delete(s.until, nonce)
			}
		}
		if len(s.until) >= maxSpent {
			return false
		}
	}
	s.until[p.Nonce] = p.Expiry
	return true
}
