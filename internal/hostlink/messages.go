package hostlink

// What is said, as JSON. Fields are only ever added: hosts may be a release
// behind.

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
)

// Report is what a host says of itself, at registration and in each heartbeat.
type Report struct {
	Incarnation int64 `json:"incarnation"`
	// Capacity in CPUs, MiB and GiB.
	VCPUs    int   `json:"vcpus"`
	MemoryMB int64 `json:"memory_mb"`
	DiskGB   int64 `json:"disk_gb"`
	// Details are CPU model, versions and the like: an object, opaque here.
	Details json.RawMessage `json:"details,omitempty"`
	// NUMA are the host's cells, as its settings have them; nil if it doesn't say.
	NUMA *numa.Host `json:"numa,omitempty"`
	// Devices are those that the host lends to guests.
	Devices []pci.Device `json:"devices,omitempty"`
	// Resources and Traits are what its operator says that it has.
	Resources map[string]provider.Inventory `json:"resources,omitempty"`
	Traits    []string                      `json:"traits,omitempty"`
	// Uptime is how long the host has been up, in the words of uptime(1); empty
	// if it isn't known.
	Uptime string  `json:"uptime,omitempty"`
	Guests []Guest `json:"guests"`
	// Steps are the steps that the host's release knows.
	Steps []string `json:"steps"`
}

// Guest is one that is on the host, half-made ones included.
type Guest struct {
	ServerID   string `json:"server_id"`
	PowerState int    `json:"power_state"`
	// Generation is the highest under which the host has let anything be done to
	// the server: it refuses what is older.
	Generation int64 `json:"generation,omitempty"`
}

// Registration is the first thing that a host's worker says.
type Registration struct {
	Name string `json:"name"`
	// Instance tells this process from another with the same incarnation.
	Instance         string `json:"instance"`
	Driver           string `json:"driver"`
	AvailabilityZone string `json:"availability_zone,omitempty"`
	// LinkAddress is the host:port of its Listener.
	LinkAddress string `json:"link_address"`
	Report      Report `json:"report"`
}

// Answer is what a host is told.
type Answer struct {
	// Debts are undos that the host owes, oldest first: at most MaxDebts; the
	// rest comes when these are paid.
	Debts []Debt `json:"debts"`
	// Images are those that the host is to have in its cache, if it has one: what no
	// server asks for yet.
	Images []string `json:"images,omitempty"`
}

// MaxDebts is how many debts one answer lists.
const MaxDebts = 200

// Debt is the undo of one effect, which the host pays before any other work.
type Debt struct {
	OperationID string `json:"operation_id"`
	Seq         int    `json:"seq"`
	// Kind is that of the effect; a host that doesn't know it can't pay.
	Kind string `json:"kind"`
	// Ref is the server's id.
	Ref string `json:"ref"`
	// Generation and Attempt are the effect's: the fence of its undo.
	Generation int64 `json:"generation"`
	Attempt    int   `json:"attempt"`
}

// wireFault is a fault as a body.
type wireFault struct {
	Kind    faults.Kind `json:"kind"`
	Code    string      `json:"code"`
	Message string      `json:"message"`
}

// statuses of faults; the body says which it was, so few are needed.
var statuses = map[faults.Kind]int{
	faults.Invalid:      http.StatusBadRequest,
	faults.Unauthorized: http.StatusUnauthorized,
	faults.Forbidden:    http.StatusForbidden,
	faults.NotFound:     http.StatusNotFound,
	faults.Conflict:     http.StatusConflict,
	faults.Superseded:   http.StatusConflict,
	faults.OverLimit:    http.StatusRequestEntityTooLarge,
	faults.Unavailable:  http.StatusServiceUnavailable,
}

func writeFault(w http.ResponseWriter, err error) {
	f := faults.As(err)
	status, ok := statuses[f.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	writeJSON(w, status, wireFault{Kind: f.Kind, Code: f.Code, Message: f.Message})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Whoever hung up has no use for the error.
	_ = json.NewEncoder(w).Encode(body)
}

// readFault makes the fault of an answer that isn't a success.
func readFault(resp *http.Response) error {
	var f wireFault
	err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&f)
	if err != nil || !f.Kind.Known() {
		return faults.Wrap(err, faults.Unavailable, "HostLink", "the host link answered %s", resp.Status)
	}
	return faults.New(f.Kind, f.Code, "%s", f.Message)
}

// readJSON reads one JSON value of at most limit bytes and nothing after it.
func readJSON(r io.Reader, limit int64, into any) error {
	limited := &io.LimitedReader{R: r, N: limit + 1}
	d := json.NewDecoder(limited)
	err := d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	if limited.N <= 0 {
		return faults.New(faults.OverLimit, "TooLarge", "the body is larger than %d bytes", limit)
	}
	if err != nil {
		return faults.Wrap(err, faults.Invalid, "InvalidBody", "the body is not what is expected: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
