package cloud

// The processes: killed, started again, and their logs.

import (
	"maps"
	"path/filepath"
	"syscall"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/supervise"
)

// Name is a process of the cloud.
type Name string

const (
	API      Name = "api"
	Control  Name = "control"
	Host     Name = "host" // all hosts
	Temporal Name = "temporal"
	Postgres Name = "postgres"
	// Conductor is there with Options.Machines or Options.Conductor, Companions with Options.Services.
	Conductor  Name = "conductor"
	Companions Name = "companions"
)

// Names are all of them.
var Names = []Name{API, Control, Host, Temporal, Postgres}

// The daemons under a host with the libvirt driver.
const (
	Libvirtd Name = "libvirtd"
	Virtlogd Name = "virtlogd"
)

// process describes one of ours, by its configuration.
func (c *Cloud) process(name Name, config string, args ...string) *supervise.Process {
	return launch.Holdfast(launch.HoldfastOptions{
		Name: string(name), Program: c.binary, Config: config, Args: args, Telemetry: c.telemetry[name], LogFile: c.log(name),
	})
}

// another describes one beside that of its role: the same configuration, but for its
// address and what is said.
func (c *Cloud) another(name Name, role string, other map[string]any, args ...string) *supervise.Process {
	c.t.Helper()
	config, file := maps.Clone(c.config), filepath.Join(c.dir, string(name)+".yaml")
	maps.Copy(config, other)
	c.telemetry[name] = c.address()
	config["telemetry."+role+"_listen"] = c.telemetry[name]
	if err := launch.WriteConfig(file, config); err != nil {
		c.t.Fatal(err)
	}
	return c.process(name, file, args...)
}

// AnotherAPI starts one more API process beside the first, until the test ends,
// and gives its URL.
func (c *Cloud) AnotherAPI() (url string) {
	c.t.Helper()
	listen := c.address()
	process := c.another("other api", "api", map[string]any{"api.listen": listen, "hostlink.listen": c.address()}, "api")
	if err := process.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := process.Kill(); err != nil {
			c.t.Error(err)
		}
	})
	return "http://" + listen
}

func (c *Cloud) log(name Name) string { return filepath.Join(c.dir, string(name)+".log") }

// Kill ends a process with SIGKILL.
func (c *Cloud) Kill(name Name) {
	c.t.Helper()
	switch name {
	case Temporal:
		c.pair.KillTemporal()
	case Postgres:
		c.pair.KillPostgres()
	case Libvirtd:
		libvirttest.Kill(c.t)
	case Virtlogd:
		libvirttest.KillLog(c.t)
	default:
		if err := c.processes[name].Kill(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// Freeze stops one of our processes where it is, so that nobody hears of it, until Thaw
// has it go on.
func (c *Cloud) Freeze(name Name) {
	c.t.Helper()
	c.signal(name, syscall.SIGSTOP)
}

// Thaw has a process go on that is frozen.
func (c *Cloud) Thaw(name Name) {
	c.t.Helper()
	c.signal(name, syscall.SIGCONT)
}

func (c *Cloud) signal(name Name, signal syscall.Signal) {
	c.t.Helper()
	state := c.processes[name].State()
	if !state.Running {
		c.t.Fatalf("%s does not run", name)
	}
	if err := syscall.Kill(state.Pid, signal); err != nil {
		c.t.Fatalf("%s to %s: %v", signal, name, err)
	}
}

// Restart starts a process that doesn't run.
func (c *Cloud) Restart(name Name) {
	c.t.Helper()
	switch name {
	case Temporal:
		c.pair.RestartTemporal()
	case Postgres:
		c.pair.RestartPostgres()
	case Libvirtd:
		libvirttest.Start(c.t)
	case Virtlogd:
		libvirttest.StartLog(c.t)
	default:
		if err := c.processes[name].Start(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
	}
}

// LoseTemporal kills the Temporal server and drops its databases.
func (c *Cloud) LoseTemporal() {
	c.t.Helper()
	c.pair.DropTemporalDatabase()
}
