package compute_test

import (
	"context"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	path := "/servers/" + id + "/diagnostics"
	ask := func(token, version string, status int, want string) step {
		return step{token, version, "GET", path, "", status, want}
	}
	c.play(ask("root", "2.1", 409, conflict("Instance "+id+" is not ready")))
	c.settle(id, "active")
	c.play(
		ask("alice", "2.1", 403, forbidden("os_compute_api:os-server-diagnostics")),
		ask("root", "2.1", 200, `{"memory": 524288, "memory-actual": 262144, "cpu0_time": 17300000000,
			"vda_read_req": 112, "vda_read": 262144, "vda_write_req": 488, "vda_write": 5778432, "vda_errors": 1,
			"vnet1_rx": 2070139, "vnet1_rx_packets": 26701, "vnet1_rx_errors": 100, "vnet1_rx_drop": 200,
			"vnet1_tx": 140208, "vnet1_tx_packets": 662, "vnet1_tx_errors": 400, "vnet1_tx_drop": 500}`),
	)
	_, body, _ := c.ask("root", "2.48", "GET", path, "")
	if uptime, ok := body["uptime"].(float64); !ok || uptime < 0 || uptime > 60 {
		t.Errorf("uptime %v", body["uptime"])
	}
	for field, want := range map[string]any{"state": "running", "driver": "libvirt", "hypervisor": "kvm", "hypervisor_os": "linux",
		"config_drive": false, "num_cpus": 1.0, "num_disks": 1.0, "num_nics": 1.0} {
		if body[field] != want {
			t.Errorf("%s is %v, want %v", field, body[field], want)
		}
	}
	if memory := body["memory_details"].(map[string]any); memory["maximum"] != 512.0 || memory["used"] != 256.0 {
		t.Errorf("memory %v", memory)
	}
}

// A guest that doesn't run has nothing to tell.
func TestDiagnosticsOfOneThatIsOff(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Consoles = console{servers.PowerShutdown} })
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "stopped")
	for _, version := range []string{"2.1", "2.48"} {
		c.play(step{"root", version, "GET", "/servers/" + id + "/diagnostics", "", 409,
			conflict("Cannot 'get_diagnostics' instance " + id + " while it is in power state shutdown")})
	}
}

// metal is what the host of a server that is a whole machine says.
type metal struct{ console }

func (metal) Console(context.Context, string, string, string, int) ([]byte, error) {
	return nil, faults.New(faults.Invalid, steps.CodeNotSupported, "none")
}

func (metal) Diagnostics(context.Context, string, string, string) (servers.Diagnostics, error) {
	return servers.Diagnostics{}, faults.New(faults.Invalid, steps.CodeNotSupported, "none")
}

// Where the driver has no such thing, the original hasn't implemented it.
func TestWhatADriverCantRead(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Consoles = metal{} })
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	c.play(
		step{"root", "2.1", "GET", "/servers/" + id + "/diagnostics", "", 501, fault("notImplemented", "501", "The requested functionality is not supported.")},
		step{"alice", "2.1", "POST", "/servers/" + id + "/action", `{"os-getConsoleOutput": {}}`, 501,
			fault("notImplemented", "501", "The requested functionality is not supported.")},
	)
}
