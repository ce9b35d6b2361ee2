package libvirt

// Guests, when the cloud stops and when it starts again.

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast.dev/dev/netns"
	"holdfast.dev/internal/statedir"
)

const (
	// savePatience is for one guest's memory.
	savePatience = 2 * time.Minute
	// startPatience is for what guests need when they start, their bridges for one.
	startPatience = 30 * time.Second
	callPatience  = 30 * time.Second
)

// learnPatience is for a libvirtd that asks every QEMU what it can do, for the
// first time, on a machine that does much else.
const learnPatience = 5 * time.Minute

// Learn has libvirtd find out what QEMU can do, before somebody waits for it.
func (l *Libvirt) Learn(ctx context.Context) error {
	return l.virsh(ctx, learnPatience, "domcapabilities")
}

// Park saves the memory of all guests that run or are paused, and ends them.
// Which they were is kept for Resume. A guest that can't be saved is turned off.
func (l *Libvirt) Park(ctx context.Context) (parked int, err error) {
	running, err := l.names(ctx, "--state-running", "--state-paused", "--state-other")
	if err != nil {
		return 0, err
	}
	// Those that an earlier start could not bring back wait for the next.
	waiting, err := l.parked()
	if err != nil {
		return 0, err
	}
	if err := l.keep(append(waiting, running...)); err != nil {
		return 0, err
	}
	for _, name := range running {
		if saved := l.virsh(ctx, savePatience, "managedsave", name); saved != nil {
			err = errors.Join(err, fmt.Errorf("the guest was turned off: %w", saved), l.virsh(ctx, callPatience, "destroy", name))
		}
	}
	return len(running), err
}

// Resume starts the guests that Park has ended. One whose memory can't be taken
// up again boots anew; one that can't be started at all stays off, and the error
// says why.
func (l *Libvirt) Resume(ctx context.Context) (resumed int, err error) {
	parked, err := l.parked()
	if err != nil || len(parked) == 0 {
		return 0, err
	}
	off, err := l.names(ctx, "--inactive")
	if err != nil {
		return 0, err
	}
	deadline := time.Now().Add(startPatience)
	for _, name := range parked {
		if !slices.Contains(off, name) {
			continue // it runs, or is gone
		}
		err = errors.Join(err, l.plug(ctx, name))
		runs, failed := l.start(ctx, name, deadline)
		err = errors.Join(err, failed)
		if runs {
			resumed++
		}
	}
	if ctx.Err() != nil {
		return resumed, err // the next start goes on
	}
	return resumed, errors.Join(err, l.keep(nil))
}

// plug makes the bridges of a guest on one of several hosts. The namespace has
// none of them after a stop; those of the machine itself are the network
// service's to make.
func (l *Libvirt) plug(ctx context.Context, name string) error {
	if l.Host == nil {
		return nil
	}
	text, err := l.ask(ctx, callPatience, "dumpxml", name)
	if err != nil {
		return err
	}
	var domain struct {
		Interfaces []struct {
			Source struct {
				Bridge string `xml:"bridge,attr"`
			} `xml:"source"`
			MTU struct {
				Size int `xml:"size,attr"`
			} `xml:"mtu"`
		} `xml:"devices>interface"`
	}
	if err := xml.Unmarshal([]byte(text), &domain); err != nil {
		return fmt.Errorf("guest %s: %w", name, err)
	}
	for _, nic := range domain.Interfaces {
		if nic.Source.Bridge == "" {
			continue
		}
		bridge := netns.Bridge{Namespace: l.Host.Namespace, Name: nic.Source.Bridge, MTU: nic.MTU.Size}
		if err := bridge.Make(ctx); err != nil {
			return fmt.Errorf("guest %s: %w", name, err)
		}
	}
	return nil
}

// start tries until the deadline, and then without the saved memory.
func (l *Libvirt) start(ctx context.Context, name string, deadline time.Time) (runs bool, err error) {
	for {
		err := l.virsh(ctx, savePatience, "start", name)
		if err == nil {
			return true, nil
		}
		if time.Now().After(deadline) {
			booted := l.virsh(ctx, savePatience, "start", "--force-boot", name)
			return booted == nil, errors.Join(fmt.Errorf("a guest's memory is lost: %w", err), booted)
		}
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (l *Libvirt) parkedFile() string { return filepath.Join(l.Dir, "parked.json") }

// parked are the names of guests that wait for Resume.
func (l *Libvirt) parked() (names []string, err error) {
	text, err := os.ReadFile(l.parkedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("parked guests: %w", err)
	}
	return names, nil
}

func (l *Libvirt) keep(names []string) error {
	slices.Sort(names)
	text, err := json.Marshal(slices.Compact(names))
	if err == nil {
		err = statedir.Write(l.parkedFile(), text)
	}
	if err != nil {
		return fmt.Errorf("parked guests: %w", err)
	}
	return nil
}

// names of the domains that the filters let through.
func (l *Libvirt) names(ctx context.Context, filters ...string) ([]string, error) {
	out, err := l.ask(ctx, callPatience, append([]string{"list", "--name"}, filters...)...)
	return strings.Fields(out), err
}

func (l *Libvirt) virsh(ctx context.Context, limit time.Duration, args ...string) error {
	_, err := l.ask(ctx, limit, args...)
	return err
}

// ask gives what virsh writes.
func (l *Libvirt) ask(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "virsh", append([]string{"--connect", l.URI()}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("virsh %s: %w%s", strings.Join(args, " "), err, said(err))
	}
	return string(out), nil
}

// said is what a program wrote before it failed.
func said(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}
