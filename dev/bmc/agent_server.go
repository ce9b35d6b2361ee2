package bmc

// The agent's own API: what it does and what it was told.

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"time"

	"holdfast.dev/dev/ports"
)

// serving is the agent's server.
type serving struct {
	address string
	// stop ends it: after what is being answered, or at once.
	stop func(atOnce bool)
}

// serve has the machine's agent serve at the machine's address, with a new certificate.
func (m *Machine) serve(ctx context.Context, routes http.Handler) (*serving, []byte, error) {
	address, err := m.agentAddress()
	if err != nil {
		return nil, nil, err
	}
	var listener net.Listener
	for range 50 { // the one before may not have let go of it yet
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err == nil {
			break
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("listen for the conductor: %w", err)
	}
	certificate, err := selfSigned()
	if err != nil {
		_ = listener.Close() // nobody has been served
		return nil, nil, err
	}
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.presented, nil
		}}}
	m.mu.Lock()
	m.presented = certificate
	m.mu.Unlock()
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with stop
	return &serving{address, func(atOnce bool) {
		if !atOnce {
			bounded, done := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
			defer done()
			_ = server.Shutdown(bounded) // what is not answered by then is cut off
		}
		_ = server.Close()
	}}, certificate.Certificate[0], nil
}

// agentAddress is where the machine's agents listen, one after the other: at a port that
// nobody else takes while none runs.
func (m *Machine) agentAddress() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.address == "" {
		port, err := ports.Free()
		if err != nil {
			return "", err
		}
		m.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return m.address, nil
}

// answerTime is what an agent that retires has for its last answers.
const answerTime = time.Second

// selfSigned is a certificate for this host that its own key has signed.
func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "ramdisk"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// ChangeAgentCertificate has the ramdisk's server show one that it hasn't told of.
func (m *Machine) ChangeAgentCertificate() error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.presented = certificate
	return nil
}

func (a *Agent) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"started_at": float64(a.started.UnixMicro()) / 1e6, "version": agentVersion})
	})
	mux.HandleFunc("GET /v1/commands/{$}", a.known(func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"commands": a.shown()})
	}))
	mux.HandleFunc("GET /v1/commands/{id}", a.known(a.showCommand))
	mux.HandleFunc("POST /v1/commands/{$}", a.known(a.runCommand))
	mux.HandleFunc("/v1/commands", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/commands/?"+r.URL.RawQuery, http.StatusPermanentRedirect)
	})
	return mux
}

// known lets in who has the token.
func (a *Agent) known(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		token := a.token
		a.mu.Unlock()
		if token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(r.URL.Query().Get("agent_token"))) != 1 {
			wrong(w, http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
			return
		}
		f(w, r)
	}
}

// wrong is how the agent refuses.
func wrong(w http.ResponseWriter, status int, text string) {
	who := "Client"
	if status >= 500 {
		who = "Server"
	}
	send(w, status, map[string]any{"faultcode": who, "faultstring": text})
}

func (a *Agent) showCommand(w http.ResponseWriter, r *http.Request) {
	c := a.find(r.PathValue("id"))
	if c == nil {
		wrong(w, http.StatusNotFound, fmt.Sprintf("Not found: Command with id %s not found.", r.PathValue("id")))
		return
	}
	if r.URL.Query().Get("wait") == "true" {
		c.await(r.Context())
	}
	send(w, http.StatusOK, c.shown())
}

func (a *Agent) runCommand(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name   *string
		Params map[string]json.RawMessage
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 128<<20)).Decode(&in); err != nil || in.Name == nil || in.Params == nil {
		wrong(w, http.StatusBadRequest, "400 Bad Request: Missing or invalid name or params")
		return
	}
	fault := next(a.machine, &a.machine.agentFaults)
	switch fault {
	case Busy:
		wrong(w, http.StatusConflict, "Agent is busy: executing command something_else")
		return
	case Dies:
		a.quit()
		panic(http.ErrAbortHandler)
	}
	c, refused := a.execute(*in.Name, in.Params, fault)
	if refused != nil {
		wrong(w, refused.Code, refused.String())
		return
	}
	switch fault {
	case Drops:
		panic(http.ErrAbortHandler)
	case Restarts:
		a.machine.restartRamdisk(a)
		panic(http.ErrAbortHandler)
	case Garbage:
		_, _ = w.Write([]byte("<html>not now</html>")) // to somebody who may be gone
		return
	case Endless:
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
		return
	}
	if r.URL.Query().Get("wait") == "true" {
		c.await(r.Context())
	}
	send(w, http.StatusOK, c.shown())
}

// MisbehaveAgent has the next commands that the machine's ramdisk is told meet
// these faults, one each.
func (m *Machine) MisbehaveAgent(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agentFaults = append(m.agentFaults, faults...)
}

// restartRamdisk has a new ramdisk begin where one was.
func (m *Machine) restartRamdisk(old *Agent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agent != old || m.power != On {
		return
	}
	m.stop()
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.life)
	next := newAgent(m, old.told)
	m.agent = next
	m.work.Go(func() { next.live(ctx) })
}
