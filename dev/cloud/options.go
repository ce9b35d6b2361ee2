package cloud

// What a cloud is made of, and where it listens.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"holdfast.dev/dev/ports"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
)

// Options say what the cloud is like.
type Options struct {
	// Dir keeps everything. It is made if there is none.
	Dir string
	// Program is the holdfast binary.
	Program string
	// Driver runs guests: DriverLibvirt or DriverSimulated.
	Driver string
	// Hosts is how many hosts there are. Several with DriverLibvirt are namespaces
	// with a libvirtd each (package hosts); it has at most hosts.Max.
	Hosts int
	// Machines is how many simulated machines there are for the bare metal service, with
	// a conductor that works on them, and a host worker that builds servers on their nodes;
	// none has none of that.
	Machines int
	// Ports are other than the table's, by name.
	Ports map[string]int
	// FreePorts takes free ports instead of the table's, and of those of the last
	// start that are taken. A later start takes the same, as it does with Ports.
	FreePorts bool
	// Progress gets a line for each thing that has been done.
	Progress io.Writer
}

// The drivers. Simulated guests are files.
const (
	DriverLibvirt   = "libvirt"
	DriverSimulated = "simulated"
)

// DirVariable names the environment variable that says where the cloud is kept.
const DirVariable = "HOLDFAST_DEV_DIR"

// DefaultDir is $HOLDFAST_DEV_DIR or .dev in the working folder.
func DefaultDir() string {
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir
	}
	return ".dev"
}

// Port is a place where the cloud listens on 127.0.0.1.
type Port struct {
	Name    string
	Default int
	What    string
}

// Ports gives all of them.
func Ports() []Port { return append([]Port(nil), portTable...) }

var portTable = []Port{
	{"identity", 5000, "Identity API v3"},
	{"compute", 8774, "Compute API v2.1"},
	{"image", 9292, "Image API v2"},
	{"network", 9696, "Network API v2.0"},
	{"volume", 8776, "Block Storage API v3"},
	{"hostlink", 8775, "host link, for host workers"},
	{"metadata", 8777, "metadata service, for the networks' proxies"},
	{"temporal", 7233, "Temporal, gRPC"},
	{"temporal-ui", 8233, "Temporal's UI"},
	{"postgres", 15432, "PostgreSQL"},
	{"telemetry-api", 9174, "/metrics and /healthcheck of the API"},
	{"telemetry-control", 9175, "the same of the control worker"},
	{"telemetry-host", 9176, "the same of the host worker"},
	{"telemetry-conductor", 9177, "the same of the conductor (--baremetal)"},
	{"telemetry-nodes", 9178, "the same of the host worker whose hosts are nodes (--baremetal)"},
	{"redfish", 8778, "Redfish of the simulated machines (--baremetal)"},
	{"boot", 8779, "what the machines are booted from, by HTTP and TFTP (--baremetal)"},
	{"parts", 8780, "what boot images are made of, and an image to deploy (--baremetal)"},
}

// addresses are the ports of one cloud, by name.
type addresses map[string]int

func (a addresses) host(name string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(a[name]))
}

func (a addresses) url(name string) string { return "http://" + a.host(name) }

// portsFile keeps the ports of the last start, if they aren't the table's.
const portsFile = "ports.json"

// resolve finds the ports: those asked for, those kept, free ones, the table's.
func (o Options) resolve() (addresses, error) {
	all := addresses{}
	kept, err := os.ReadFile(filepath.Join(o.Dir, portsFile))
	if err == nil {
		err = json.Unmarshal(kept, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the cloud's ports: %w", err)
	}
	for _, p := range portTable {
		if o.FreePorts && all[p.Name] == 0 {
			if all[p.Name], err = freePort(all); err != nil {
				return nil, err
			}
		}
		if all[p.Name] == 0 {
			all[p.Name] = p.Default
		}
	}
	for name, port := range o.Ports {
		if all[name] == 0 {
			return nil, faults.New(faults.Invalid, "InvalidPort", "there is no port called %q; holdfast dev --help lists them", name)
		}
		all[name] = port
	}
	names := map[int]string{}
	for _, p := range portTable {
		if other := names[all[p.Name]]; other != "" {
			return nil, faults.New(faults.Invalid, "InvalidPort", "port %d is to be both %s and %s: give one of them another (--port)", all[p.Name], other, p.Name)
		}
		names[all[p.Name]] = p.Name
	}
	return all, nil
}

// keepPorts has a later start take the same ports, unless they are the table's.
func (c *cloud) keepPorts() error {
	usual := true
	for _, p := range portTable {
		usual = usual && c.at[p.Name] == p.Default
	}
	if usual {
		return statedir.Remove(c.path(portsFile))
	}
	text, err := json.MarshalIndent(c.at, "", "  ")
	if err == nil {
		err = statedir.Write(c.path(portsFile), text)
	}
	if err != nil {
		return fmt.Errorf("the cloud's ports: %w", err)
	}
	return nil
}

func freePort(taken addresses) (int, error) {
	for {
		port, err := ports.Free()
		if err != nil {
			return 0, err
		}
		double := false
		for _, other := range taken {
			double = double || other == port
		}
		if !double {
			return port, nil
		}
	}
}

// taken refuses ports that somebody else has, and names the first one.
func (a addresses) taken() (name string, err error) {
	for _, p := range portTable {
		socket, err := net.Listen("tcp", a.host(p.Name))
		if err != nil {
			return p.Name, faults.New(faults.Conflict, "PortInUse",
				"port %d (%s, %s) is taken by another program: stop it, or start with --port %s=NUMBER or --free-ports", a[p.Name], p.Name, p.What, p.Name)
		}
		if err := socket.Close(); err != nil {
			return p.Name, err
		}
	}
	return "", nil
}
