package service

// A companion's own tokens, for what it asks of other services.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Login gets tokens of one user for one project and keeps them while they last.
type Login struct {
	url, user, password, project string
	client                       *http.Client

	mu    sync.Mutex
	token string
	until time.Time
}

// tokenUse is how long a token is used; they last an hour.
const tokenUse = 30 * time.Minute

// NewLogin is that of a user and a project of the default domain, at the
// identity service of a URL ("http://127.0.0.1:5000/v3").
func NewLogin(url, user, password, project string) *Login {
	return &Login{url: url, user: user, password: password, project: project, client: &http.Client{Timeout: 10 * time.Second}}
}

// Token gives a token that is good for half an hour at least.
func (l *Login) Token(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return l.token, nil
	}
	domain := map[string]any{"id": "default"}
	body, err := json.Marshal(map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"},
			"password": map[string]any{"user": map[string]any{"name": l.user, "domain": domain, "password": l.password}}},
		"scope": map[string]any{"project": map[string]any{"name": l.project, "domain": domain}},
	}})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/auth/tokens?nocatalog", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("log in as %s: %w", l.user, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("log in as %s: the identity service answered with status %d", l.user, response.StatusCode)
	}
	l.token, l.until = response.Header.Get("X-Subject-Token"), time.Now().Add(tokenUse)
	return l.token, nil
}
