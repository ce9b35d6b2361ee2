package bmc

// Boots: what a machine does when its power comes, by what is in it and what it
// was told to start from.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast.dev/internal/iso"
)

// Boot is what a machine starts from, in Redfish's words.
type Boot struct {
	// Target is "None" or a device, Enabled is "Disabled", "Once" or "Continuous",
	// Mode is "UEFI" or "Legacy".
	Target  string `json:"BootSourceOverrideTarget"`
	Enabled string `json:"BootSourceOverrideEnabled"`
	Mode    string `json:"BootSourceOverrideMode"`
}

// own is what a machine does that was told nothing.
var own = Boot{"None", "Disabled", "UEFI"}

// Runs is what a machine runs.
type Runs string

// What a machine can run.
const (
	Nothing Runs = ""
	Ramdisk Runs = "ramdisk"
	Disk    Runs = "disk"
)

// boots is a machine's last start.
type boots struct {
	life context.Context // the service's
	work *sync.WaitGroup
	boot Boot
	// offer asks what it is told with its address; nil is nothing.
	offer func(context.Context) (DHCP, error)
	// keeps says that no override is taken back.
	keeps bool
	runs  Runs
	// stop ends what the machine runs.
	stop  context.CancelFunc
	agent *Agent
	// failed is why the last start from a medium or by the network came to nothing.
	failed error
}

// powered starts or stops what the machine runs, after its power has changed. The
// caller has the machine.
func (m *Machine) powered() {
	if m.stop != nil {
		m.stop()
	}
	m.runs, m.agent, m.stop = Nothing, nil, nil
	if m.power != On {
		return
	}
	m.started()
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.life)
	from, read := m.boot, m.source()
	if from.Enabled == "Once" {
		m.boot = Boot{own.Target, own.Enabled, from.Mode}
	}
	settles := m.settles
	m.work.Go(func() {
		if pause(ctx, time.Until(settles)) == nil {
			m.start(ctx, read)
		}
	})
}

// source reads what the machine was told to boot, and gives what the kernel is told; nil for
// its disk. The caller has the machine.
func (m *Machine) source() func(context.Context) (map[string]string, error) {
	medium, offer := m.medium, m.offer
	switch {
	case m.boot.Enabled == own.Enabled:
	case m.boot.Target == "Cd" && medium != "":
		return func(ctx context.Context) (map[string]string, error) { return bootParameters(ctx, medium) }
	case m.boot.Target == "Pxe" || m.boot.Target == "UefiHttp":
		return func(ctx context.Context) (map[string]string, error) { return m.fromNetwork(ctx, offer) }
	}
	return nil
}

// start boots what is read, or else the machine's disk. What can't be read is read again, as
// firmware does.
func (m *Machine) start(ctx context.Context, read func(context.Context) (map[string]string, error)) {
	for until := time.Now().Add(patience); read != nil && time.Now().Before(until); {
		told, err := read(ctx)
		switch {
		case err == nil:
			m.run(ctx, Ramdisk, newAgent(m, told), nil)
			return
		case errors.Is(err, errNext):
			read = nil
		default:
			m.run(ctx, Nothing, nil, err)
			if pause(ctx, 5*m.Pace) != nil {
				return
			}
		}
	}
	if read == nil {
		m.run(ctx, m.fromDisk(), nil, nil)
	}
}

// run has the machine run something, unless it was turned off meanwhile.
func (m *Machine) run(ctx context.Context, what Runs, agent *Agent, failed error) {
	m.mu.Lock()
	if ctx.Err() != nil {
		m.mu.Unlock()
		return
	}
	m.runs, m.agent, m.failed = what, agent, failed
	m.mu.Unlock()
	if agent != nil {
		agent.live(ctx)
	}
}

// StartRamdisk has a machine that is on run a ramdisk that is told something by its
// kernel's command line, as if it had been booted from a medium.
func (m *Machine) StartRamdisk(told map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.powered()
	if m.stop != nil {
		m.stop()
	}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.life)
	m.work.Go(func() { m.run(ctx, Ramdisk, newAgent(m, told), nil) })
}

// Runs is what the machine runs now, and Agent its ramdisk; nil for none.
func (m *Machine) Runs() Runs {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs
}

// Agent is the ramdisk that runs on the machine; nil for none.
func (m *Machine) Agent() *Agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.agent
}

// BootFailure is why the machine's last start from a medium or by the network came to nothing.
func (m *Machine) BootFailure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// maxMedium bounds what a machine is booted from.
const maxMedium = 1 << 30

// bootParameters reads what a medium's kernel is told.
func bootParameters(ctx context.Context, medium string) (map[string]string, error) {
	dir, err := os.MkdirTemp("", "medium")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of temporary files
	name := filepath.Join(dir, "medium.iso")
	if err := download(ctx, medium, name); err != nil {
		return nil, err
	}
	_, files, err := iso.Read(name, "boot/grub/grub.cfg", "isolinux/isolinux.cfg")
	if err != nil {
		return nil, err
	}
	for _, text := range files {
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) > 0 && (words[0] == "linux" || words[0] == "append") {
				return parameters(words[1:]), nil
			}
		}
	}
	return nil, fmt.Errorf("nothing on %s starts a kernel", medium)
}

// parameters are the words of a command line that have a value.
func parameters(words []string) map[string]string {
	told := map[string]string{}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			told[name] = value
		}
	}
	return told
}

func download(ctx context.Context, from, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = fetch(ctx, from, f, maxMedium)
	return errors.Join(err, f.Close())
}

// pause waits, or gives the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
