package service

// Who asks.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Ref names a thing of the identity service.
type Ref struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Scoped is a user or a project with the domain that it belongs to.
type Scoped struct {
	Ref
	Domain Ref `json:"domain"`
}

// Caller is who a token stands for, and where.
type Caller struct {
	User    Scoped
	Project *Scoped // nil without project scope
	Domain  *Ref    // nil without domain scope
	System  bool    // scoped to the deployment
	Roles   []Ref
	Expires time.Time
	Token   string
}

// Has says whether the caller holds the role in its scope.
func (c *Caller) Has(role string) bool {
	return slices.ContainsFunc(c.Roles, func(r Ref) bool { return strings.EqualFold(r.Name, role) })
}

// Admin says whether the caller administers the deployment, which the role
// admin means in any scope, as in the services' default policies.
func (c *Caller) Admin() bool { return c.Has("admin") }

// ProjectID is the project in scope, or "".
func (c *Caller) ProjectID() string {
	if c.Project == nil {
		return ""
	}
	return c.Project.ID
}

// Authenticator finds the caller behind a token.
type Authenticator interface {
	// Authenticate gives an Error of status 401 if the token is worth nothing,
	// 503 if it can't be told.
	Authenticate(ctx context.Context, token string) (*Caller, error)
	// URL is where tokens are had.
	URL() string
}

// errUnauthorized has the identity service's own text.
var errUnauthorized = Fail(http.StatusUnauthorized, "The request you have made requires authentication.")

// Unauthorized is the 401 of a missing or worthless token.
func Unauthorized() error { return errUnauthorized }

// Keystone asks the identity service at url ("http://127.0.0.1:5000/v3"), each
// time, so a revoked token is refused at once.
func Keystone(url string) Authenticator {
	return &keystone{url: strings.TrimRight(url, "/"), client: &http.Client{Timeout: 10 * time.Second}}
}

type keystone struct {
	url    string
	client *http.Client
}

func (k *keystone) URL() string { return k.url }

// longestToken is far above any that the identity companion gives out.
const longestToken = 4096

func (k *keystone) Authenticate(ctx context.Context, token string) (*Caller, error) {
	if token == "" || len(token) > longestToken {
		return nil, errUnauthorized
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url+"/auth/tokens?nocatalog", nil)
	if err != nil {
		return nil, err
	}
	// A token may always be validated with itself.
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("X-Subject-Token", token)
	response, err := k.client.Do(request)
	if err != nil {
		return nil, &Error{Status: http.StatusServiceUnavailable, Message: "The identity service can't be reached.", Err: err}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusNotFound:
		return nil, errUnauthorized
	default:
		return nil, Fail(http.StatusServiceUnavailable, "The identity service answered with status %d.", response.StatusCode)
	}
	var body struct {
		Token struct {
			User    Scoped          `json:"user"`
			Project *Scoped         `json:"project"`
			Domain  *Ref            `json:"domain"`
			System  map[string]bool `json:"system"`
			Roles   []Ref           `json:"roles"`
			Expires time.Time       `json:"expires_at"`
		} `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&body); err != nil {
		return nil, fmt.Errorf("the identity service's answer: %w", err)
	}
	t := body.Token
	return &Caller{User: t.User, Project: t.Project, Domain: t.Domain, System: t.System["all"], Roles: t.Roles, Expires: t.Expires, Token: token}, nil
}
