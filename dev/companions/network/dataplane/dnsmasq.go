package dataplane

// The DHCP server of one network.

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// dnsmasq runs in a namespace. It reads hosts and options again on SIGHUP. For
// other subnets, which are arguments, it is started anew, and for a host that is
// gone: it remembers the lease, and would refuse the address to its next owner.
type dnsmasq struct {
	namespace, dir string
	log            *slog.Logger
	ended          func() // it ended by itself

	command  *exec.Cmd
	done     chan struct{}
	stopping atomic.Bool
	subnets  string // those that it was started with
	hosts    string // what its files hold
	options  string
}

// serve makes the server know what n says.
func (d *dnsmasq) serve(n Network) error {
	hosts, options := hostsFile(n), optionsFile(n)
	changed := d.hosts != hosts || d.options != options
	if changed {
		for name, text := range map[string]string{"hosts": hosts, "options": options} {
			if err := replaceFile(filepath.Join(d.dir, name), text); err != nil {
				return err
			}
		}
	}
	ranges := rangesOf(n)
	if d.alive() && d.subnets == strings.Join(ranges, " ") && !lacksLine(hosts, d.hosts) {
		if changed {
			if err := d.command.Process.Signal(syscall.SIGHUP); err != nil {
				return fmt.Errorf("have dnsmasq read its files again: %w", err)
			}
		}
		d.hosts, d.options = hosts, options
		return nil
	}
	d.stop()
	if err := d.start(ranges); err != nil {
		return err
	}
	d.subnets, d.hosts, d.options = strings.Join(ranges, " "), hosts, options
	return nil
}

// lacksLine says that a line of one text isn't in the other.
func lacksLine(text, lines string) bool {
	has := map[string]bool{}
	for line := range strings.Lines(text) {
		has[line] = true
	}
	for line := range strings.Lines(lines) {
		if !has[line] {
			return true
		}
	}
	return false
}

func (d *dnsmasq) start(ranges []string) error {
	args := append([]string{"netns", "exec", d.namespace, "dnsmasq",
		"--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-", "--pid-file=", "--user=root", "--group=root",
		"--port=0", "--bind-interfaces", "--interface=" + inside, "--except-interface=lo",
		"--leasefile-ro", "--dhcp-authoritative", "--dhcp-no-override", "--no-ping",
		"--dhcp-hostsfile=" + filepath.Join(d.dir, "hosts"), "--dhcp-optsfile=" + filepath.Join(d.dir, "options"),
	}, ranges...)
	log, err := os.OpenFile(filepath.Join(d.dir, "dnsmasq.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command("ip", args...)
	command.Stdout, command.Stderr = log, log
	// It ends with this process, however that ends.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start dnsmasq (package dnsmasq-base): %w", err)
	}
	done := make(chan struct{})
	d.command, d.done = command, done
	d.stopping.Store(false)
	go func() {
		err := command.Wait()
		close(done)
		if !d.stopping.Load() {
			d.log.Warn("dnsmasq ended", "namespace", d.namespace, "error", err)
			time.Sleep(time.Second) // one that can't start isn't started in a loop
			d.ended()
		}
	}()
	return nil
}

func (d *dnsmasq) alive() bool {
	if d.command == nil {
		return false
	}
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

func (d *dnsmasq) stop() {
	if d == nil || d.command == nil {
		return
	}
	d.stopping.Store(true)
	_ = d.command.Process.Kill() // it may have ended already
	<-d.done
	d.command, d.hosts, d.options, d.subnets = nil, "", "", ""
}

// tag names a subnet to dnsmasq.
func tag(subnetID string) string { return "subnet-" + subnetID }

func rangesOf(n Network) []string {
	var ranges []string
	for _, s := range n.Subnets {
		ranges = append(ranges, fmt.Sprintf("--dhcp-range=set:%s,%s,static,%s,86400s", tag(s.ID), s.CIDR.Masked().Addr(), maskOf(s.CIDR)))
	}
	return ranges
}

func maskOf(cidr netip.Prefix) string {
	mask := ^uint32(0) << (32 - cidr.Bits())
	return netip.AddrFrom4([4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}).String()
}

// hostsFile has a line for each address: MAC, name, address.
func hostsFile(n Network) string {
	served := map[string]bool{}
	for _, s := range n.Subnets {
		served[s.ID] = true
	}
	var text strings.Builder
	for _, port := range n.Ports {
		for _, a := range port.Addresses {
			if a.IP.Is4() && served[a.SubnetID] {
				fmt.Fprintf(&text, "%s,host-%s,%s\n", port.MAC, strings.ReplaceAll(a.IP.String(), ".", "-"), a.IP)
			}
		}
	}
	return text.String()
}

// optionsFile has the options of each subnet. The way to the metadata service
// is a classless static route; who takes those (RFC 3442) ignores the router
// option, so the default route stands among them too.
func optionsFile(n Network) string {
	var text strings.Builder
	for _, s := range n.Subnets {
		option := func(format string, args ...any) {
			fmt.Fprintf(&text, "tag:"+tag(s.ID)+",option:"+format+"\n", args...)
		}
		routes := metadataIP + "/32," + s.Server.String()
		if s.Gateway.IsValid() {
			routes += ",0.0.0.0/0," + s.Gateway.String()
			option("router,%s", s.Gateway)
		} else {
			option("router")
		}
		option("classless-static-route,%s", routes)
		servers := make([]string, len(s.DNS))
		for i, address := range s.DNS {
			servers[i] = address.String()
		}
		option("dns-server%s", strings.Join(append([]string{""}, servers...), ","))
		option("mtu,%d", n.MTU)
	}
	return text.String()
}

// replaceFile writes a file whole or not at all.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
