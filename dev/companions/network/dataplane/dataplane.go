package dataplane

// The loop, and what is made and unmade.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/dev/netns"
)

// Config is what a data plane stands on.
type Config struct {
	// Dir holds a folder for each namespace, with its files; it is the data
	// plane's alone.
	Dir string
	// MetadataURL is the metadata service, "http://127.0.0.1:8775", and Secret
	// what it shares with the proxy.
	MetadataURL, Secret string
	Log                 *slog.Logger
}

// Plane is the data plane of one machine.
type Plane struct {
	Config
	kick     chan struct{}
	networks map[string]*running
}

// New makes a data plane; Run brings it up.
func New(cfg Config) *Plane {
	return &Plane{Config: cfg, kick: make(chan struct{}, 1), networks: map[string]*running{}}
}

// Kick says that the plan may have changed. It never blocks.
func (p *Plane) Kick() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

const (
	// lookAgain is how often the plan is read without a kick.
	lookAgain = 10 * time.Second
	// mark is the alias of our bridges.
	mark        = "holdfast development"
	prefix      = "qdhcp-"
	inside      = "ns-dhcp" // the interface in each namespace
	metadataIP  = "169.254.169.254"
	stopTimeout = 30 * time.Second
)

// Run keeps what is there as plan says until ctx ends, and takes it away then.
func (p *Plane) Run(ctx context.Context, plan Planner) error {
	if os.Geteuid() != 0 {
		return errors.New("the networks' data plane needs root")
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return fmt.Errorf("the data plane's folder: %w", err)
	}
	defer p.stop(context.WithoutCancel(ctx))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if err := p.Reconcile(ctx, plan); err != nil && ctx.Err() == nil {
			p.Log.Error("the networks' data plane", "error", err)
		}
		timer.Reset(lookAgain)
		select {
		case <-ctx.Done():
			return nil
		case <-p.kick:
		case <-timer.C:
		}
	}
}

// Reconcile makes what is there fit the plan once. It isn't to be called while
// Run runs.
func (p *Plane) Reconcile(ctx context.Context, plan Planner) error {
	wanted, err := plan(ctx)
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	planned := map[string]bool{}
	var all error
	for _, n := range wanted {
		planned[n.ID] = true
		if err := p.bringUp(ctx, n); err != nil {
			all = errors.Join(all, fmt.Errorf("network %s: %w", n.ID, err))
		}
	}
	ours, err := p.ours()
	if err != nil {
		return errors.Join(all, err)
	}
	for _, id := range ours {
		if !planned[id] {
			all = errors.Join(all, p.takeDown(ctx, id))
		}
	}
	return all
}

func (p *Plane) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	ours, err := p.ours()
	for _, id := range ours {
		err = errors.Join(err, p.takeDown(ctx, id))
	}
	if err != nil {
		p.Log.Error("take the networks down", "error", err)
	}
}

// ours are the networks that have a folder.
func (p *Plane) ours() ([]string, error) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, entry := range entries {
		if _, err := uuid.Parse(entry.Name()); err == nil && entry.IsDir() {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}

// running is a network that is up.
type running struct {
	dnsmasq  *dnsmasq
	metadata *proxy
}

// short is the part of a network's id that fits into an interface's name.
func short(id string) string { return id[:11] }

func outside(id string) string { return "hfd" + short(id) }

func (p *Plane) bringUp(ctx context.Context, n Network) error {
	up := p.networks[n.ID]
	if up == nil {
		// What an earlier end left is made anew.
		if err := p.takeDown(ctx, n.ID); err != nil {
			return err
		}
		if err := os.MkdirAll(p.folder(n.ID), 0o755); err != nil {
			return err
		}
		if err := makeLinks(ctx, n); err != nil {
			return err
		}
		up = &running{}
		p.networks[n.ID] = up
	}
	if err := setAddresses(ctx, n); err != nil {
		return err
	}
	if up.metadata == nil {
		var err error
		if up.metadata, err = startProxy(prefix+n.ID, p.MetadataURL, p.Secret, p.Log); err != nil {
			return err
		}
	}
	up.metadata.know(n)
	if up.dnsmasq == nil {
		up.dnsmasq = &dnsmasq{namespace: prefix + n.ID, dir: p.folder(n.ID), log: p.Log, ended: p.Kick}
	}
	return up.dnsmasq.serve(n)
}

func (p *Plane) folder(id string) string { return filepath.Join(p.Dir, id) }

// makeLinks makes the bridge, the namespace and what joins them.
func makeLinks(ctx context.Context, n Network) error {
	if err := makeBridge(ctx, n); err != nil {
		return err
	}
	mtu, namespace := strconv.Itoa(n.MTU), prefix+n.ID
	for _, args := range [][]string{
		{"netns", "add", namespace},
		{"-n", namespace, "link", "set", "lo", "up"},
		{"link", "add", outside(n.ID), "mtu", mtu, "type", "veth", "peer", "name", inside, "mtu", mtu, "netns", namespace},
		{"link", "set", outside(n.ID), "addrgenmode", "none"},
		{"link", "set", outside(n.ID), "master", n.Bridge, "up"},
		{"-n", namespace, "link", "set", inside, "address", n.ServerMAC, "up"},
	} {
		if err := netns.IP(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// makeBridge takes one of ours that is there already; guests may be in it.
func makeBridge(ctx context.Context, n Network) error {
	alias, err := os.ReadFile(filepath.Join("/sys/class/net", n.Bridge, "ifalias"))
	if err == nil {
		if strings.TrimSpace(string(alias)) != mark {
			return fmt.Errorf("there is an interface %s that isn't ours", n.Bridge)
		}
		return nil
	}
	for _, args := range [][]string{
		{"link", "add", n.Bridge, "mtu", strconv.Itoa(n.MTU), "type", "bridge", "forward_delay", "0", "stp_state", "0"},
		{"link", "set", n.Bridge, "alias", mark},
		// The machine itself takes no part in the network.
		{"link", "set", n.Bridge, "addrgenmode", "none"},
		{"link", "set", n.Bridge, "up"},
	} {
		if err := netns.IP(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// setAddresses gives the namespace its server addresses; it may do so twice.
func setAddresses(ctx context.Context, n Network) error {
	addresses := []string{metadataIP + "/32"}
	for _, s := range n.Subnets {
		addresses = append(addresses, fmt.Sprintf("%s/%d", s.Server, s.CIDR.Bits()))
	}
	for _, address := range addresses {
		if err := netns.IP(ctx, "-n", prefix+n.ID, "address", "replace", address, "dev", inside); err != nil {
			return err
		}
	}
	return nil
}

// takeDown removes what there is of a network of ours, running or left over.
func (p *Plane) takeDown(ctx context.Context, id string) error {
	if up := p.networks[id]; up != nil {
		up.dnsmasq.stop()
		up.metadata.stop()
		delete(p.networks, id)
	}
	if _, err := os.Stat(p.folder(id)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all error
	if exists("/run/netns/" + prefix + id) {
		// A dnsmasq of an earlier run would keep the namespace alive.
		all = errors.Join(endAll(ctx, prefix+id), netns.IP(ctx, "netns", "delete", prefix+id))
	}
	if exists("/sys/class/net/" + outside(id)) {
		// It goes with the namespace that its peer was in, a moment later.
		if err := netns.IP(ctx, "link", "delete", outside(id)); err != nil && exists("/sys/class/net/"+outside(id)) {
			all = errors.Join(all, err)
		}
	}
	all = errors.Join(all, dropBridge(ctx, "brq"+short(id)))
	if all != nil {
		return all
	}
	return os.RemoveAll(p.folder(id))
}

// dropBridge removes a bridge of ours that nobody is plugged into.
func dropBridge(ctx context.Context, name string) error {
	alias, err := os.ReadFile(filepath.Join("/sys/class/net", name, "ifalias"))
	if err != nil || strings.TrimSpace(string(alias)) != mark {
		return nil // none, or not ours
	}
	plugged, err := os.ReadDir(filepath.Join("/sys/class/net", name, "brif"))
	if err != nil || len(plugged) > 0 {
		return err
	}
	return netns.IP(ctx, "link", "delete", name)
}

// endAll ends the processes in a namespace.
func endAll(ctx context.Context, namespace string) error {
	out, err := exec.CommandContext(ctx, "ip", "netns", "pids", namespace).Output()
	if err != nil {
		return fmt.Errorf("ip netns pids: %w", err)
	}
	for _, field := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid == os.Getpid() {
			continue
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			return err
		}
		if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
