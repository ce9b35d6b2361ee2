package cloud

// A cloud: what it is made of, and how it starts.

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hold"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/internal/testenv"
)

// Options of a cloud.
type Options struct {
	// Hosts is how many there are; 0 is 3.
	Hosts int
	// Others is how many more there are, two at least, in a process of their own
	// (OtherHosts).
	Others int
	// Delay slows the hosts' sub-steps down: "build.disk=300ms" and more, with
	// commas between (activities/libvirt/simulated).
	Delay string
	// BootImage is the file of an image that boots (BuildImage): then there is
	// one host, over the libvirtd that libvirttest has made, and the services
	// that a host needs beside it.
	BootImage string
	// Services says that the other services are there, and users are those of the
	// identity service; otherwise nobody knows of any.
	Services bool
	// Machines is how many simulated machines there are (dev/bmc), with a conductor
	// for them; 0 is neither.
	Machines int
	// MachinesApart gives each of them a BMC at an address of its own.
	MachinesApart bool
	// TwoConductors has another one beside the conductor, in a process of its own
	// (OtherConductor).
	TwoConductors bool
	// Conductor says that there is one without simulated machines, for those that the test
	// has.
	Conductor bool
	// Fleet has a worker whose hosts are the machines' nodes, in a process of its own
	// (Fleet), as far as they are offered; it needs Machines and Services.
	Fleet bool
	// Config is laid over the configuration, by dotted key.
	Config map[string]any
}

// Cloud is one that runs.
type Cloud struct {
	// Points stops operations.
	Points hold.Points
	// DB is the product's database, to look into.
	DB *store.DB
	// Engine reads operations from DB.
	Engine *engine.Engine
	// BMC is the service of the simulated machines; nil without them.
	BMC *bmc.Service
	// Temporal is a client of the engine's namespace.
	Temporal client.Client

	t         testing.TB
	dir       string
	binary    string
	pair      *testenv.Pair
	processes map[Name]*supervise.Process
	config    map[string]any // by dotted key
	url       string
	telemetry map[Name]string
	http      *http.Client
	hosts     int
	others    int
	image     string
	project   string      // the id of the users'
	services  *companions // nil without them
}

// Image is an id that servers may be made from: simulated hosts read no images.
const Image = "00000000-0000-4000-8000-000000000001"

// Patience is for what has no time of its own; what is promised within a time has
// that time.
const Patience = testenv.Patience

// Flavor is the flavor that servers get, OtherFlavor one that they can be resized to.
const (
	Flavor      = "tiny"
	OtherFlavor = "small"
)

// Tokens of a user, of an administrator, of one who works in the user's project, and of
// one of the whole system.
const (
	UserToken   = "token-of-a-user"
	AdminToken  = "token-of-an-admin"
	HelperToken = "token-of-a-helper"
	SystemToken = "token-of-the-system"
	project     = "demo"
)

// Whose they are.
const (
	aUser        = "alice"
	anAdmin      = "root"
	adminProject = "admin"
)

// Start starts a cloud and waits until its hosts are up.
func Start(t testing.TB, o Options) *Cloud {
	t.Helper()
	if o.Hosts == 0 {
		o.Hosts = 3
	}
	if o.BootImage != "" {
		o.Hosts = 1
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cloud{t: t, dir: t.TempDir(), binary: path, hosts: o.Hosts, others: o.Others, image: Image, project: project, http: &http.Client{Timeout: 20 * time.Second}}
	c.Points = hold.Points(filepath.Join(c.dir, "hold"))
	// Registered first and so run last: by then every log is complete.
	t.Cleanup(c.printLogs)
	c.pair = testenv.Private(t)
	c.url = "http://" + c.address()
	over := map[string]any{}
	if o.BootImage != "" {
		over = overLibvirt()
	}
	if o.BootImage != "" || o.Services {
		c.services = c.companions()
		maps.Copy(over, c.services.config())
	}
	if o.Services {
		over["dev.static_tokens"] = nil // Keystone knows them
	}
	if o.Machines > 0 {
		over["baremetal.enabled_rescue_interfaces"] = []string{"agent", "no-rescue"}
	}
	if o.Fleet {
		over["baremetal.service_project"] = serviceProject
	}
	maps.Copy(over, o.Config)
	c.configure(over)
	c.simulate(o)
	if o.Delay != "" {
		c.Slow(o.Delay)
	}
	t.Cleanup(c.stop)
	if c.services != nil {
		c.services.start(o.BootImage)
	}
	if o.Services {
		c.services.admit()
	}
	c.open()
	c.seed()
	for _, name := range c.names() {
		c.Restart(name)
	}
	c.AwaitHosts()
	c.awaitConductor()
	if o.BootImage != "" {
		c.crowd()
	}
	return c
}

// loopback is where simulated machines, their ramdisks and what they are booted from
// are.
var loopback = []string{"127.0.0.0/8"}

// configure writes the configuration and describes the processes.
func (c *Cloud) configure(over map[string]any) {
	api, link, images := strings.TrimPrefix(c.url, "http://"), c.address(), c.address()
	telemetry := map[Name]string{API: c.address(), Control: c.address(), Host: c.address(), Conductor: c.address()}
	temporal, namespace := c.pair.Temporal()
	c.telemetry = telemetry
	flat := map[string]any{
		"database.dsn":                c.pair.DSN(),
		"database.max_connections":    16,
		"temporal.address":            temporal,
		"temporal.namespace":          namespace,
		"api.listen":                  api,
		"orchestration.guest_url":     "http://" + api + "/orchestration",
		"orchestration.cfn_guest_url": "http://" + api + "/cloudformation",
		"compute.host_down_after":     "8s", // less than a step waits for its host
		"hostlink.listen":             link,
		"hostlink.url":                "http://" + link,
		"hostlink.key_file":           filepath.Join(c.dir, "hostlink.key"),
		"secrets.key_file":            filepath.Join(c.dir, "secrets.keys"),
		"host.name":                   "sim",
		"host.state_dir":              filepath.Join(c.dir, "hosts"),
		"host.driver":                 "simulated",
		"host.report_interval":        "1s",
		"log.format":                  "text",
		"telemetry.api_listen":        telemetry[API],
		"telemetry.control_listen":    telemetry[Control],
		"telemetry.host_listen":       telemetry[Host],

		"telemetry.conductor_listen":   telemetry[Conductor],
		"conductor.name":               "conductor-1",
		"conductor.heartbeat_interval": "1s",
		"conductor.networks":           loopback,
		"conductor.image_networks":     loopback,
		"conductor.boot_listen":        images,
		"conductor.boot_url":           "http://" + images,
		"conductor.boot_dir":           filepath.Join(c.dir, "boot"),
		"conductor.tftp_listen":        images,
		"conductor.tftp_root":          filepath.Join(c.dir, "loaders"),
		"conductor.callback_url":       "http://" + api + "/baremetal",
		"baremetal.agent_networks":     loopback,

		"baremetal.default_network_interface": "noop", // there may be no Neutron

		"dev.hold_dir": string(c.Points),
		"dev.static_tokens": []map[string]any{
			{"token": UserToken, "user": aUser, "project": project, "roles": []string{"member", "reader"}},
			{"token": HelperToken, "user": anAdmin, "project": project, "roles": []string{"admin", "member", "reader"}},
			{"token": AdminToken, "user": anAdmin, "project": adminProject, "roles": []string{"admin", "member", "reader"}},
			{"token": SystemToken, "user": anAdmin, "system": true, "roles": []string{"admin", "member", "reader"}},
		},
	}
	for key, value := range over {
		flat[key] = value
	}
	c.config = flat
	if err := launch.WriteConfig(c.configFile(), flat); err != nil {
		c.t.Fatal(err)
	}
	c.processes = map[Name]*supervise.Process{
		API:     c.process(API, c.configFile(), "api"),
		Control: c.process(Control, c.configFile(), "worker", "--role", "control"),
		Host:    c.process(Host, c.configFile(), "worker", "--role", "host", "--hosts", fmt.Sprint(c.hosts)),
	}
	if c.others > 0 {
		c.otherHosts()
	}
}

// address is one that nobody listens at.
func (c *Cloud) address() string { return fmt.Sprintf("127.0.0.1:%d", c.freePort()) }

func (c *Cloud) freePort() int {
	c.t.Helper()
	port, err := ports.Free()
	if err != nil {
		c.t.Fatal(err)
	}
	return port
}

// Slow slows the hosts' sub-steps down from now on, as Options.Delay does from the
// start.
func (c *Cloud) Slow(delay string) {
	c.t.Helper()
	if c.hosts == 1 {
		c.order("", map[string]string{"delay": delay})
		return
	}
	for _, name := range append(c.HostNames(Host), c.HostNames(OtherHosts)...) {
		c.order(name, map[string]string{"delay": delay})
	}
}

func (c *Cloud) configFile() string { return filepath.Join(c.dir, "holdfast.yaml") }

// stop ends our processes; the pair ends by itself.
func (c *Cloud) stop() {
	for _, p := range c.processes {
		if err := p.Kill(); err != nil {
			c.t.Error(err)
		}
	}
}

// TemporalAddress says where the engine's Temporal is.
func (c *Cloud) TemporalAddress() (address, namespace string) { return c.pair.Temporal() }

// DSN is the address of the product's database.
func (c *Cloud) DSN() string { return c.pair.DSN() }

// Telemetry is where a process serves /metrics and /healthcheck.
func (c *Cloud) Telemetry(name Name) string { return c.telemetry[name] }

// open opens what the test itself looks through.
func (c *Cloud) open() {
	c.t.Helper()
	var err error
	if c.DB, err = store.Open(c.t.Context(), c.pair.DSN(), 4); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(c.DB.Close)
	c.Engine = engine.New(c.DB, compute.Resource(), orchestration.Locks(), orchestration.SnapshotLocks(), baremetal.Locks())
	address, namespace := c.pair.Temporal()
	c.Temporal, err = engine.Dial(engine.TemporalOptions{Address: address, Namespace: namespace, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(c.Temporal.Close)
}

// seed makes the flavors and lifts the project's limits.
func (c *Cloud) seed() {
	c.t.Helper()
	c.CLI("flavor", "set", Flavor, "--ram", "128", "--disk", "1")
	c.CLI("flavor", "set", OtherFlavor, "--ram", "256", "--disk", "2")
	for _, resource := range []string{"instances", "cores", "ram"} {
		_, err := c.DB.Pool.Exec(c.t.Context(), `INSERT INTO compute.quota_limits (project_id, resource, hard_limit) VALUES ($1, $2, -1)`, c.project, resource)
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if c.processes[Fleet] != nil {
		c.seedMetal()
	}
}

// AwaitHosts waits until every host is up.
func (c *Cloud) AwaitHosts() {
	c.t.Helper()
	c.Eventually("every host is up", Patience, func(ctx context.Context) error {
		var up int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM compute.hosts WHERE last_seen > now() - interval '3 s'`).Scan(&up)
		if all := c.hosts + c.others; err == nil && up < all {
			err = fmt.Errorf("%d of %d are", up, all)
		}
		return err
	})
}

// AwaitDown waits until the hosts of a process count as down.
func (c *Cloud) AwaitDown(process Name) {
	c.t.Helper()
	c.Eventually("the hosts of "+string(process)+" are down", Patience, func(ctx context.Context) error {
		var up int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM compute.hosts WHERE name = ANY ($1) AND last_seen > now() - interval '9 s'`,
			c.HostNames(process)).Scan(&up)
		if err == nil && up > 0 {
			err = fmt.Errorf("%d are up", up)
		}
		return err
	})
}

// Eventually waits until holds returns nil, and fails the test with its last
// error when the time is over.
func (c *Cloud) Eventually(what string, within time.Duration, holds func(context.Context) error) {
	c.t.Helper()
	if err := c.Await(within, holds); err != nil {
		c.t.Fatalf("in vain for %s: %s: %v\n%s", within, what, err, c.Story())
	}
}

// Await waits until holds returns nil, and gives its last error when the time
// is over: what it said itself, rather than that it was cut short by that.
func (c *Cloud) Await(within time.Duration, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	var last error
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(100 * time.Millisecond):
		}
	}
}
