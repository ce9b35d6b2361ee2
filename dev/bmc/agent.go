package bmc

// The ramdisk of a machine, as ironic-python-agent 13.0.0 behaves: it asks the API
// which node it is on, serves its conductor over TLS with a certificate that it
// makes itself, and says that it is alive for as long as it runs.

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// agentVersion is what ramdisks say that they are.
const agentVersion = "13.0.0"

// Agent is a ramdisk that runs.
type Agent struct {
	machine *Machine
	told    map[string]string
	started time.Time
	client  *http.Client
	// forced asks for a heartbeat before its time.
	forced chan struct{}
	// newest is the minor version of the API, once that has said it; for live alone.
	newest int

	mu       sync.Mutex
	end      context.CancelFunc // nil before it lives
	node     string
	token    string
	address  string
	commands []*command
	beats    int
	refused  []string
}

// newAgent is a ramdisk that was told something by its kernel's command line.
func newAgent(m *Machine, told map[string]string) *Agent {
	return &Agent{machine: m, told: told, started: time.Now(), token: told["ipa-agent-token"], client: &http.Client{Timeout: time.Minute},
		forced: make(chan struct{}, 1)}
}

// Told is what the ramdisk was told by its kernel's command line.
func (a *Agent) Told() map[string]string { return a.told }

// Address is where the ramdisk listens; empty while it doesn't.
func (a *Agent) Address() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.address
}

// Beats is how often its heartbeat was accepted.
func (a *Agent) Beats() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beats
}

// Refused are the answers of the API that it couldn't use.
func (a *Agent) Refused() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.refused...)
}

// Beat has the ramdisk say that it is alive before its time.
func (a *Agent) Beat() {
	select {
	case a.forced <- struct{}{}:
	default: // it was asked already
	}
}

// seconds are some of the ramdisk's.
func (a *Agent) seconds(n float64) time.Duration {
	return time.Duration(n * float64(a.machine.Pace))
}

// live does all that the ramdisk does, until the machine is turned off or it gives up.
func (a *Agent) live(power context.Context) {
	ctx, end := context.WithCancel(power)
	defer end()
	a.mu.Lock()
	a.end = end
	a.mu.Unlock()
	api := strings.TrimSuffix(a.told["ipa-api-url"], "/")
	var id string
	if at := a.told["ipa-inspection-callback-url"]; at != "" {
		var err error
		if id, err = a.inspect(ctx, at); err != nil {
			a.note(err)
		}
	}
	if api == "" {
		<-ctx.Done()
		return
	}
	timeout, err := a.lookup(ctx, api, id)
	if err != nil {
		a.note(err)
		return
	}
	stop, err := a.listen(ctx)
	if err != nil {
		a.note(err)
		return
	}
	defer func() { stop(power.Err() != nil) }()
	a.heartbeats(ctx, api, timeout)
}

// quit ends the ramdisk, and nothing else that the machine does.
func (a *Agent) quit() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end != nil {
		a.end()
	}
}

// note keeps what went wrong.
func (a *Agent) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.refused) < 100 {
		a.refused = append(a.refused, err.Error())
	}
}

// ask sends a request to the API and reads what comes back.
func (a *Agent) ask(ctx context.Context, method, to, version string, body, answer any) (status int, err error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, to, sent)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if version != "" {
		r.Header.Set("X-OpenStack-Ironic-API-Version", version)
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode >= 400 {
		return resp.StatusCode, fmt.Errorf("%s %s: %d %s", method, to, resp.StatusCode, text)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	return resp.StatusCode, err
}

// Versions of the API that the agent knows by itself.
const (
	assumed       = 31
	knowsTokens   = 62
	knowsVerifyCA = 68
)

// version is the newest minor version of the API, which is asked until it has said it.
func (a *Agent) version(ctx context.Context, api string) int {
	if a.newest > 0 {
		return a.newest
	}
	var document struct {
		DefaultVersion struct{ Version string } `json:"default_version"`
	}
	if _, err := a.ask(ctx, http.MethodGet, api+"/", "", nil, &document); err != nil {
		return assumed
	}
	_, minor, _ := strings.Cut(document.DefaultVersion.Version, ".")
	number, err := strconv.Atoi(minor)
	if err != nil {
		return assumed
	}
	a.newest = number
	return number
}

func header(minor int) string { return fmt.Sprintf("1.%d", minor) }

// inspect tells what the machine is made of, and is told its node's id.
func (a *Agent) inspect(ctx context.Context, at string) (id string, err error) {
	for try := range 5 {
		var answer struct{ UUID string }
		status, err := a.ask(ctx, http.MethodPost, at, "", a.machine.inventory(), &answer)
		if err == nil {
			return answer.UUID, nil
		}
		if status >= 400 && status < 500 && status != http.StatusConflict || try == 4 {
			return "", err
		}
		if err := pause(ctx, a.seconds(5)); err != nil {
			return "", err
		}
	}
	return "", nil
}

// patience is how long a machine tries to read what it boots, and its ramdisk asks which node it
// is on. Whoever is away comes back in his own time, however short the ramdisk's seconds are.
const patience = 10 * time.Minute

// lookup finds out which node the machine is, and how to behave; it asks until it
// is told.
func (a *Agent) lookup(ctx context.Context, api, id string) (timeout float64, err error) {
	query := url.Values{"addresses": {a.machine.MAC}}
	if id != "" {
		query.Set("node_uuid", id)
	}
	wait := a.seconds(1)
	for until := time.Now().Add(patience); ; {
		var answer struct {
			Node   struct{ UUID string }
			Config struct {
				HeartbeatTimeout float64 `json:"heartbeat_timeout"`
				Token            string  `json:"agent_token"`
			}
		}
		version := header(min(a.version(ctx, api), knowsTokens))
		_, err := a.ask(ctx, http.MethodGet, api+"/v1/lookup?"+query.Encode(), version, nil, &answer)
		if err == nil && answer.Node.UUID != "" {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.node = answer.Node.UUID
			if len(answer.Config.Token) >= 32 {
				a.token = answer.Config.Token
			}
			if a.token == "" {
				return 0, fmt.Errorf("somebody else has the token of node %s", a.node)
			}
			return answer.Config.HeartbeatTimeout, nil
		}
		if err != nil {
			a.note(err)
		}
		if time.Now().After(until) {
			return 0, fmt.Errorf("nobody says which node this is: %w", err)
		}
		if err := pause(ctx, time.Duration(rand.Int64N(int64(wait)+1))); err != nil {
			return 0, err
		}
		wait = min(2*wait, a.seconds(60))
	}
}

// listen serves the agent's own API, at the address that the machine has had before.
func (a *Agent) listen(ctx context.Context) (stop func(atOnce bool), err error) {
	server, certificate, err := a.machine.serve(ctx, a.routes())
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.address = "https://" + server.address
	a.machine.presents(certificate)
	return server.stop, nil
}

// least is the shortest time between two heartbeats, in the agent's seconds.
const least = 5

// heartbeats says that the ramdisk is alive.
func (a *Agent) heartbeats(ctx context.Context, api string, timeout float64) {
	for {
		interval := least * (1 + rand.Float64())
		if err := a.beat(ctx, api, min(a.version(ctx, api), knowsVerifyCA)); err != nil {
			a.note(err)
		} else {
			interval = timeout * (0.3 + 0.3*rand.Float64())
		}
		if pause(ctx, a.seconds(least)) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-a.forced:
		case <-time.After(a.seconds(interval - least)):
		}
	}
}

func (a *Agent) beat(ctx context.Context, api string, version int) error {
	a.mu.Lock()
	node := a.node
	said := map[string]any{"callback_url": a.address, "agent_version": agentVersion}
	if version >= knowsTokens {
		said["agent_token"] = a.token
	}
	a.mu.Unlock()
	if version >= knowsVerifyCA {
		said["agent_verify_ca"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.machine.certificate()}))
	}
	if _, err := a.ask(ctx, http.MethodPost, api+"/v1/heartbeat/"+node, header(version), said, nil); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beats++
	return nil
}
