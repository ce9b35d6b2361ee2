package hosts

// The hosts of a cloud: what they are called, and how they are made and unmade.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"

	"holdfast.dev/dev/libvirt"
	"holdfast.dev/dev/netns"
	"holdfast.dev/dev/supervise"
)

// Max is how many hosts a machine can be made into.
const Max = 16

// Options say what hosts there are to be.
type Options struct {
	// Dir keeps everything; a folder makes the same hosts each time.
	Dir string
	// Name is what hosts are called, with a number behind it.
	Name  string
	Count int
	// Loopback are the ports of the machine's loopback interface that hosts reach.
	Loopback []int
	// Log gives the file of a daemon's log.
	Log func(daemon string) string
	// Restart says how daemons come back.
	Restart *supervise.Restart
	// Say is told of what goes wrong in the background.
	Say func(error)
}

// Host is one of them.
type Host struct {
	// Name is the host's in the cloud, Namespace its network namespace.
	Name, Namespace string
	// Address is the host's on the lan.
	Address netip.Addr
	// Libvirt is its own.
	Libvirt *libvirt.Libvirt

	number int
}

// Command is a command line that runs a program on the host.
func (h *Host) Command(program ...string) []string { return netns.Command(h.Namespace, program...) }

// telemetryPort is where a host's worker shows itself, on the lan.
const telemetryPort = 9176

// Telemetry is the address at which the host's worker shows itself.
func (h *Host) Telemetry() string { return netip.AddrPortFrom(h.Address, telemetryPort).String() }

// Hosts are those of one cloud.
type Hosts struct {
	Options
	All []*Host

	cloud   string // what its devices are called after
	lan     netip.Prefix
	stop    context.CancelFunc
	running sync.WaitGroup
}

// lanNumber is the machine's own on the lan.
const lanNumber = 254

// New names the hosts. It makes nothing.
func New(o Options) (*Hosts, error) {
	if o.Count < 1 || o.Count > Max {
		return nil, fmt.Errorf("%d hosts: a machine can be 1 to %d", o.Count, Max)
	}
	sum := sha256.Sum256([]byte(o.Dir))
	h := &Hosts{Options: o, cloud: "hf" + hex.EncodeToString(sum[:3])}
	// A network for tests between devices (RFC 2544), which nothing routes.
	h.lan = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + sum[3]&1, sum[4], 0}), 24)
	for n := 1; n <= o.Count; n++ {
		host := &Host{Name: fmt.Sprintf("%s-%d", o.Name, n), Namespace: fmt.Sprintf("%s-%d", h.cloud, n), Address: h.address(n), number: n}
		daemon := fmt.Sprintf("libvirtd-%d", n)
		host.Libvirt = &libvirt.Libvirt{
			Dir: filepath.Join(o.Dir, fmt.Sprintf("libvirt-%d", n)), LogFile: o.Log(daemon), Restart: o.Restart,
			Host: &libvirt.Host{Name: host.Name, Daemon: daemon, Namespace: host.Namespace, Address: host.Address,
				Cache: filepath.Join(o.Dir, "libvirt-cache"), UUID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(o.Dir+"#"+host.Name))},
		}
		h.All = append(h.All, host)
	}
	return h, nil
}

func (h *Hosts) address(n int) netip.Addr {
	bytes := h.lan.Addr().As4()
	bytes[3] = byte(n)
	return netip.AddrFrom4(bytes)
}

// Start makes what isn't there of lan and namespaces, and begins to forward and
// to join. Stop ends that.
func (h *Hosts) Start(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("hosts of their own need root; holdfast dev --driver simulated does not")
	}
	if err := h.makeLAN(ctx); err != nil {
		return fmt.Errorf("the hosts' network: %w", err)
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, host := range h.All {
		for _, port := range h.Loopback {
			if err := h.forward(ctx, host, port); err != nil {
				return fmt.Errorf("host %s: %w", host.Name, err)
			}
		}
	}
	h.running.Go(func() { h.join(ctx) })
	return nil
}

// Stop ends what Start began, and takes the bridges apart.
func (h *Hosts) Stop() error {
	if h.stop == nil {
		return nil
	}
	h.stop()
	h.running.Wait()
	return h.part(context.Background())
}

// Remove takes namespaces and lan away; their processes have ended.
func (h *Hosts) Remove() error {
	ctx := context.Background()
	var all error
	for _, host := range h.All {
		if netns.Exists(host.Namespace) {
			all = errors.Join(all, h.removeHost(ctx, host))
		}
	}
	if hasDevice(h.cloud) {
		all = errors.Join(all, netns.IP(ctx, "link", "delete", h.cloud))
	}
	return all
}

// removeHost takes the host's devices out here away first: those whose other ends are
// in a namespace go with that, but at some time after it.
func (h *Hosts) removeHost(ctx context.Context, host *Host) error {
	var links []link
	var all error
	if netns.Whole(host.Namespace) {
		links, all = linksOf(ctx, host.Namespace)
	}
	outside := []string{h.outside(host)}
	for _, l := range links {
		outside = append(outside, h.peerName(host, l.Name))
	}
	for _, device := range outside {
		if hasDevice(device) {
			all = errors.Join(all, netns.IP(ctx, "link", "delete", device))
		}
	}
	return errors.Join(all, netns.IP(ctx, "netns", "delete", host.Namespace))
}

// outside is what the host's end out here of its way to the lan is called.
func (h *Hosts) outside(host *Host) string { return fmt.Sprintf("%sv%d", h.cloud, host.number) }

// inLAN is the host's interface on the lan.
const inLAN = "lan"

// makeLAN makes the bridge, the namespaces, and what joins them.
func (h *Hosts) makeLAN(ctx context.Context) error {
	if !hasDevice(h.cloud) {
		if err := ips(ctx,
			"link add "+h.cloud+" type bridge forward_delay 0 stp_state 0",
			"link set "+h.cloud+" addrgenmode none",
		); err != nil {
			return err
		}
	}
	if err := ips(ctx,
		"address replace "+netip.PrefixFrom(h.address(lanNumber), h.lan.Bits()).String()+" dev "+h.cloud,
		"link set "+h.cloud+" up",
	); err != nil {
		return err
	}
	for _, host := range h.All {
		if err := h.makeHost(ctx, host); err != nil {
			return fmt.Errorf("%s: %w", host.Name, err)
		}
	}
	return nil
}

func (h *Hosts) makeHost(ctx context.Context, host *Host) error {
	if !netns.Exists(host.Namespace) {
		if err := ips(ctx, "netns add "+host.Namespace); err != nil {
			return err
		}
	}
	outside := h.outside(host)
	if !hasDevice(outside) {
		if err := ips(ctx, "link add "+outside+" type veth peer name "+inLAN+" netns "+host.Namespace); err != nil {
			return err
		}
	}
	inside := "-n " + host.Namespace + " "
	return ips(ctx,
		"link set "+outside+" addrgenmode none",
		"link set "+outside+" master "+h.cloud+" up",
		inside+"link set lo up",
		inside+"address replace "+netip.PrefixFrom(host.Address, h.lan.Bits()).String()+" dev "+inLAN,
		inside+"link set "+inLAN+" up",
	)
}

// ips runs several commands of iproute2.
func ips(ctx context.Context, commands ...string) error {
	for _, command := range commands {
		if err := netns.IP(ctx, strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// hasDevice asks for one of the machine.
func hasDevice(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}
