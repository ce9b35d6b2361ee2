package qemu

// The driver: how it is opened, and what it shows.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/kvm"
	"holdfast.dev/internal/numa"
)

// Socket is where libvirtd listens by default.
const Socket = "/run/libvirt/libvirt-sock"

// DefaultCache is how much disk unused bases of images may take: 20 GiB.
const DefaultCache = 20 << 30

// Options of a host.
type Options struct {
	// HostID is the host's own.
	HostID string
	// StateDir is the host's folder, locked by the caller.
	StateDir string
	// Socket is libvirtd's; empty is Socket.
	Socket string
	// Images says where servers' images come from.
	Images images.Source
	// Servers tells what config drives hold and how volumes are reached.
	Servers Servers
	// CacheBytes bounds bases that no guest uses; 0 is DefaultCache.
	CacheBytes int64
	// Migration is how guests come and go.
	Migration Migration
	// Shared are the CPUs on which guests float that lie on no NUMA cell; empty is
	// all.
	Shared numa.CPUs
	// Lends says that guests may have devices of the host; they are not looked at
	// otherwise.
	Lends bool
	// OnStep is told of each sub-step before it acts; for tests.
	OnStep func(serverID, step string)
	// Hold is called before each sub-step and keeps it waiting, or ends it by an
	// error; nil holds nothing. For tests.
	Hold func(ctx context.Context, serverID, step string) error
}

// Servers is what a host asks about a server; hostlink.Client is one.
type Servers interface {
	ConfigDrive(ctx context.Context, serverID string) (hostlink.ConfigDrive, error)
	Volumes(ctx context.Context, serverID string) (hostlink.Volumes, error)
}

// Driver implements libvirt.Driver.
type Driver struct {
	hostID    string
	dir       string // of the guests
	socket    string
	daemon    *connection
	cache     *images.Cache
	servers   Servers
	migration Migration
	shared    numa.CPUs
	lends     bool
	kvm       bool
	amd       bool
	onStep    func(serverID, step string)
	hold      func(ctx context.Context, serverID, step string) error
	poll      time.Duration
	patience  time.Duration // with a start that an earlier call has begun
}

var (
	_ libvirt.Driver   = (*Driver)(nil)
	_ libvirt.Migrator = (*Driver)(nil)
)

// New opens the host. It doesn't wait for libvirtd.
func New(o Options) (*Driver, error) {
	if o.Socket == "" {
		o.Socket = Socket
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCache
	}
	d := &Driver{
		hostID: o.HostID,
		dir:    filepath.Join(o.StateDir, "guests"), socket: o.Socket, daemon: newConnection(o.Socket), servers: o.Servers, migration: o.Migration, shared: o.Shared, lends: o.Lends,
		kvm: kvm.Works(), amd: isAMD(), onStep: o.OnStep, hold: o.Hold, poll: 250 * time.Millisecond, patience: callTime,
	}
	err := os.MkdirAll(d.dir, 0o711)
	if err == nil {
		// QEMU's user has to get to the guests' folders, not to see what is there.
		err = os.Chmod(o.StateDir, 0o711)
	}
	if err == nil {
		d.cache, err = images.Open(filepath.Join(o.StateDir, "images"), o.Images, o.CacheBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("libvirt driver: %w", err)
	}
	return d, nil
}

// Close drops the connection.
func (d *Driver) Close() error {
	d.daemon.close()
	return nil
}

// Observe shows one guest.
func (d *Driver) Observe(ctx context.Context, serverID string) (libvirt.Guest, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	there, err := g.exists()
	if err != nil {
		return libvirt.Guest{}, err
	}
	state, err := g.state(ctx)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if !there && state.missing {
		return libvirt.Guest{}, notFound(serverID)
	}
	return libvirt.Guest{ServerID: serverID, PowerState: state.power}, nil
}

// List shows all guests: each has a folder for as long as anything of it is left.
func (d *Driver) List(ctx context.Context) ([]libvirt.Guest, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, broken(err)
	}
	guests := make([]libvirt.Guest, 0, len(entries))
	states := map[string]int{}
	if len(entries) > 0 {
		if states, err = d.powers(ctx); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		id, _, _ := strings.Cut(entry.Name(), ".")
		have, err := readRecord(filepath.Join(d.dir, entry.Name()))
		if err != nil && !faults.Is(err, faults.NotFound) {
			return nil, err
		}
		power, here := states[id]
		if seen[id] || d.others(have) && !here {
			continue
		}
		seen[id] = true
		guests = append(guests, libvirt.Guest{ServerID: id, PowerState: power})
	}
	return guests, nil
}

// powers gives the power state of every domain by its UUID.
func (d *Driver) powers(ctx context.Context) (map[string]int, error) {
	var domains []golibvirt.Domain
	err := d.daemon.call(ctx, callTime, "list domains", func(rpc *golibvirt.Libvirt) (err error) {
		domains, _, err = rpc.ConnectListAllDomains(1, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	states := make(map[string]int, len(domains))
	for _, domain := range domains {
		state, err := d.stateOf(ctx, domain)
		if faults.Is(err, faults.NotFound) {
			continue // gone since
		}
		if err != nil {
			return nil, err
		}
		states[formatUUID(domain.UUID)] = state.power
	}
	return states, nil
}

// Console gives the last length bytes of the guest's console log.
func (d *Driver) Console(_ context.Context, serverID string, length int) ([]byte, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return nil, err
	}
	switch there, err := g.exists(); {
	case err != nil:
		return nil, err
	case !there:
		return nil, notFound(serverID)
	}
	return readLog(g.file(consoleFile), length)
}

// maxBackups is how many older files virtlogd may keep of a log (its default is 3).
const maxBackups = 10

// readLog reads the end of a log that virtlogd has cut into files: path is the
// newest, path.0 the one before.
func readLog(path string, length int) ([]byte, error) {
	var log []byte
	for n := -1; n < maxBackups && (length < 0 || len(log) < length); n++ {
		name := path
		if n >= 0 {
			name = fmt.Sprintf("%s.%d", path, n)
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, broken(err)
		}
		log = append(data, log...)
	}
	if length >= 0 && length < len(log) {
		log = log[len(log)-length:]
	}
	return log, nil
}
