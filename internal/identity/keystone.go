package identity

// Keystone: how it is reached, and what its answers mean.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"holdfast.dev/internal/faults"
)

const (
	// maxAnswer bounds what is read of an answer of Keystone, in bytes.
	maxAnswer = 8 << 20
	// maxValidations bounds the tokens that are asked about at the same time.
	maxValidations = 64
)

// Options say how Keystone is reached and who Holdfast is there.
type Options struct {
	// AuthURL is Keystone's, "https://cloud.example:5000/v3"; the version may
	// be left out.
	AuthURL string
	// The service user, its project and their domains, by name. The user needs
	// the role service (or admin) to check tokens.
	Username, Password, UserDomain string
	Project, ProjectDomain         string
	// CAFile holds certificates to trust beside the system's; empty for none.
	CAFile string
	// Timeout is the longest time for one call.
	Timeout time.Duration
	// CacheTime is how long a valid token is believed without asking again, and
	// so the longest time that a revoked one still works. CacheSize is how many
	// are remembered.
	CacheTime time.Duration
	CacheSize int
	Log       *slog.Logger
}

// Keystone checks tokens and makes sessions. It is safe for concurrent use.
type Keystone struct {
	options Options
	// http reaches Keystone; services reaches the services of its catalog, whose
	// calls and answers may be long.
	http, services http.Client
	service        *Session
	known          *otter.Cache[tokenHash, remembered]
	asking         singleflight.Group
	slots          *semaphore.Weighted
	now            func() time.Time
}

// New makes one; it asks Keystone nothing yet. Errors are faults.Invalid.
func New(o Options) (*Keystone, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	transport, err := o.transport()
	if err != nil {
		return nil, err
	}
	k := &Keystone{
		options:  o,
		http:     http.Client{Transport: bounded{transport}, Timeout: o.Timeout, CheckRedirect: noRedirect},
		services: http.Client{Transport: transport, CheckRedirect: noRedirect},
		slots:    semaphore.NewWeighted(maxValidations),
		now:      time.Now,
	}
	k.service = k.session(gophercloud.AuthOptions{
		Username: o.Username, Password: o.Password, DomainName: o.UserDomain,
		Scope: &gophercloud.AuthScope{ProjectName: o.Project, DomainName: o.ProjectDomain},
	})
	k.known, err = otter.New(&otter.Options[tokenHash, remembered]{
		MaximumSize:      o.CacheSize,
		ExpiryCalculator: otter.ExpiryWriting[tokenHash, remembered](o.CacheTime),
	})
	return k, err
}

func (o *Options) check() error {
	address, err := url.Parse(o.AuthURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return faults.New(faults.Invalid, "InvalidConfiguration", "%q is no URL of Keystone", o.AuthURL)
	}
	if o.Timeout <= 0 || o.CacheTime <= 0 || o.CacheSize <= 0 {
		return faults.New(faults.Invalid, "InvalidConfiguration", "Keystone's timeout, cache time and cache size must be more than 0")
	}
	return nil
}

func (o *Options) transport() (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxValidations
	if o.CAFile == "" {
		return transport, nil
	}
	certificates, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "InvalidConfiguration", "the CA file can't be read: %s", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%s holds no certificate", o.CAFile)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// noRedirect keeps tokens and passwords with the server they were meant for.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bounded limits how long an answer may be.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// Ping says whether Keystone answers.
func (k *Keystone) Ping(ctx context.Context) error {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, k.options.AuthURL, nil)
	if err != nil {
		return err
	}
	answer, err := k.http.Do(ask)
	if err != nil {
		return unavailable(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode >= http.StatusInternalServerError {
		return unavailable(errors.Join(err, errors.New(answer.Status)))
	}
	return nil
}

// unavailable is the middleware's text when Keystone can't be asked.
func unavailable(cause error) error {
	return faults.Wrap(cause, faults.Unavailable, "KeystoneUnavailable", "The Keystone service is temporarily unavailable.")
}

// asUnavailable makes any failure this side's: a caller can't help that the
// service user may not ask.
func asUnavailable(err error) error {
	if faults.Is(err, faults.Unavailable) {
		return err
	}
	return unavailable(err)
}

// kinds are what Keystone's refusals are to a caller.
var kinds = map[int]faults.Kind{
	http.StatusBadRequest:   faults.Invalid,
	http.StatusUnauthorized: faults.Unauthorized,
	http.StatusForbidden:    faults.Forbidden,
	http.StatusNotFound:     faults.NotFound,
	http.StatusConflict:     faults.Conflict,
}

// fault turns an error of a call into a fault with Keystone's own message; nil
// stays nil.
func fault(err error) error {
	if err == nil {
		return nil
	}
	var refused gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &refused) {
		return unavailable(err)
	}
	kind, known := kinds[refused.Actual]
	if !known {
		return unavailable(err)
	}
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(refused.Body, &body) != nil || body.Error.Message == "" {
		body.Error.Message = "Keystone refused: " + http.StatusText(refused.Actual)
	}
	return faults.Wrap(err, kind, "KeystoneRefused", "%s", body.Error.Message)
}
