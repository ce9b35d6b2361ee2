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

// process describes one of ours.
func (c *Cloud) process(name Name, telemetry map[Name]string, args ...string) *supervise.Process {
	return launch.Holdfast(launch.HoldfastOptions{
		Name: string(name), Program: c.binary, Config: c.configFile(), Args: args, Telemetry: telemetry[name], LogFile: c.log(name),
	})
}

// AnotherAPI starts one more API process beside the first, until the test ends,
// and gives its URL.
func (c *Cloud) AnotherAPI() (url string) {
	c.t.Helper()
	const name = "api-2"
	config := maps.Clone(c.config)
	listen, telemetry := c.address(), c.address()
	config["api.listen"], config["telemetry.api_listen"], config["hostlink.listen"] = listen, telemetry, c.address()
	path := filepath.Join(c.dir, name+".yaml")
	if err := launch.WriteConfig(path, config); err != nil {
		c.t.Fatal(err)
	}
	process := launch.Holdfast(launch.HoldfastOptions{
		Name: name, Program: c.binary, Config: path, Args: []string{"api"}, Telemetry: telemetry, LogFile: c.log(name),
	})
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
