//go:build moves

package qemu

// Live migration between two hosts of one machine, each with a libvirtd: what
// the guest writes is on its disk once, whatever happens on the way.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/dev/hosts"
	"holdfast.dev/dev/image"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// pair is two hosts with a driver each, and the daemons that they stand on.
type pair struct {
	*testing.T
	hosts   []*hosts.Host
	daemons []*supervise.Process
	drivers []*Driver
	spec    steps.ServerSpec
}

// twoHosts makes them; the guests' folders are each host's own, or shared.
func twoHosts(t *testing.T, shared bool, migration Migration) *pair {
	t.Helper()
	base, err := os.MkdirTemp("/run", "m")
	if err == nil {
		err = os.Chmod(base, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := hosts.New(hosts.Options{Dir: base, Name: "h", Count: 2, Say: func(err error) { t.Log(err) },
		Log:     func(daemon string) string { return filepath.Join(base, daemon+".log") },
		Restart: &supervise.Restart{Delay: 100 * time.Millisecond, MaxDelay: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	// What outlives a test's context ends before it does.
	t.Cleanup(func() {
		if err := errors.Join(all.Stop(), all.Remove()); err != nil {
			t.Error(err)
		}
	})
	if err := all.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &pair{T: t, hosts: all.All, spec: spec()}
	p.spec.ImageID, p.spec.MemoryMB, p.spec.ConfigDrive = "boots", 192, true
	p.spec.ImageProperties = maps.Clone(image.Properties)
	from := bootable(t)
	from.drive["openstack/latest/user_data"] = []byte("records")
	for i, h := range all.All {
		if err := h.Libvirt.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Libvirt.StopVirtlogd(); err != nil {
				t.Error(err)
			}
		})
		daemon := h.Libvirt.Process()
		if err := daemon.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := daemon.Stop(time.Minute); err != nil {
				t.Error(err)
			}
		})
		if err := h.Libvirt.Learn(t.Context()); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(base, "state")
		if !shared {
			dir = filepath.Join(base, fmt.Sprint("state", i))
		}
		migration.URI, migration.Address = h.Libvirt.URI(), h.Address.String()
		d, err := New(Options{HostID: h.Name, StateDir: dir, Socket: h.Libvirt.Socket(), Images: from, Servers: from, Migration: migration})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		p.daemons, p.drivers = append(p.daemons, daemon), append(p.drivers, d)
	}
	t.Cleanup(func() {
		for _, d := range p.drivers {
			clean(t, d, p.spec.ServerID)
		}
	})
	if _, err := p.drivers[0].Build(t.Context(), p.spec, confirmed); err != nil {
		t.Fatal(err)
	}
	says(t, p.drivers[0], p.spec.ServerID, "record: 10\n", 1)
	return p
}

// land prepares the second host.
func (p *pair) land() steps.Landing {
	p.Helper()
	from, err := p.drivers[0].Depart(p.Context(), p.spec.ServerID)
	if err != nil {
		p.Fatal(err)
	}
	var to steps.Landing
	for range 2 {
		if to, err = p.drivers[1].Land(p.Context(), p.spec, from); err != nil {
			p.Fatal(err)
		}
	}
	return to
}

// unfit says that the second host refuses a guest of a machine that it can't be.
func (p *pair) unfit() {
	p.Helper()
	from, err := p.drivers[0].Depart(p.Context(), p.spec.ServerID)
	if err != nil {
		p.Fatal(err)
	}
	from.Machine = "pc-q35-99.0"
	const why = "Migration pre-check error: 'pc-q35-99.0' is not valid/supported machine type, Supported machine types are: ['"
	if _, err := p.drivers[1].Land(p.Context(), p.spec, from); !faults.Is(err, faults.Conflict) || !strings.HasPrefix(faults.As(err).Message, why) {
		p.Errorf("a machine type that the host has not: %v", err)
	}
}

// move migrates the guest; seen is told of its progress.
func (p *pair) move(ctx context.Context, to steps.Landing, mark string, seen func(steps.MoveProgress)) error {
	return p.drivers[0].Migrate(ctx, libvirt.Move{ServerID: p.spec.ServerID, Mark: mark, To: to, Seen: seen}, confirmed)
}

// slow has the guest take its time on its way.
func (p *pair) slow(mib int) {
	p.Helper()
	out, err := exec.Command("virsh", "--connect", p.hosts[0].Libvirt.URI(), "migrate-setspeed", p.spec.ServerID, strconv.Itoa(mib)).CombinedOutput()
	if err != nil {
		p.Fatalf("%v: %s", err, out)
	}
}

// runsOn says that the guest runs on one host and not on the other.
func (p *pair) runsOn(host int) {
	p.Helper()
	for i, d := range p.drivers {
		g, err := d.guest(p.spec.ServerID)
		if err != nil {
			p.Fatal(err)
		}
		if now, err := g.state(p.Context()); err != nil || now.active != (i == host) || i == host && now.power != libvirt.Running {
			p.Errorf("on host %d the guest is %+v, %v; it is to run on host %d only", i, now, err, host)
		}
	}
}

// goesOn waits until the guest has written on.
func (p *pair) goesOn(host int) {
	p.Helper()
	text := says(p.T, p.drivers[host], p.spec.ServerID, "record: ", 1)
	count := strings.Count(text, "record: ")
	text = says(p.T, p.drivers[host], p.spec.ServerID, "record: ", count+2)
	if strings.Count(text, image.Banner) > 1 || host == 1 && p.drivers[0].dir != p.drivers[1].dir && strings.Contains(text, image.Banner) {
		p.Errorf("the guest has booted anew:\n%s", text)
	}
}

// complete turns the guest off and reads its records: none is missing, and none
// is there twice.
func (p *pair) complete(host int) {
	p.Helper()
	d := p.drivers[host]
	if got, err := d.Power(p.Context(), p.spec.ServerID, steps.PowerStop, "", confirmed); err != nil || got.PowerState != libvirt.Shutdown {
		p.Fatalf("stop: %+v, %v", got, err)
	}
	raw := filepath.Join(p.TempDir(), "raw")
	if err := images.QemuImg(p.Context(), "convert", "-O", "raw", filepath.Join(d.dir, p.spec.ServerID, rootFile), raw); err != nil {
		p.Fatal(err)
	}
	disk, err := os.ReadFile(raw)
	if err != nil {
		p.Fatal(err)
	}
	const second, sector = 446 + 16, 512 // the partition with the data
	start := int64(binary.LittleEndian.Uint32(disk[second+8:])) * sector
	out, err := exec.Command("debugfs", "-R", "cat /records", fmt.Sprintf("%s?offset=%d", raw, start)).Output()
	if err != nil {
		p.Fatalf("debugfs: %v", err)
	}
	lines := bytes.Fields(out)
	for i, line := range lines {
		if string(line) != strconv.Itoa(i+1) {
			p.Fatalf("record %d is %s", i+1, line)
		}
	}
	if len(lines) < 20 {
		p.Errorf("there are %d records", len(lines))
	}
	p.Logf("%d records, none missing, none twice", len(lines))
}

func TestBlockMigration(t *testing.T) {
	p := twoHosts(t, false, Migration{PermitAutoConverge: true})
	p.unfit()
	to := p.land()
	if to.Shared || !to.SameMachine {
		t.Fatalf("landing: %+v", to)
	}
	// A cancel on the way: the guest stays.
	p.slow(2)
	cancelled, cancel := context.WithCancel(t.Context())
	err := p.move(cancelled, to, "first", func(s steps.MoveProgress) {
		if s.MemoryProcessed+s.DiskProcessed > 1<<20 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	p.runsOn(0)
	if err := p.drivers[1].Destroy(t.Context(), p.spec.ServerID, confirmed); err != nil {
		t.Fatal(err)
	}
	p.goesOn(0)

	// Forced to complete it does not go on as slowly as it would.
	to = p.land()
	p.slow(16)
	var furthest steps.MoveProgress
	var forced atomic.Bool
	err = p.move(t.Context(), to, "second", func(s steps.MoveProgress) {
		furthest = s
		if s.MemoryProcessed > 1<<20 && forced.CompareAndSwap(false, true) {
			if err := p.drivers[0].Complete(t.Context(), p.spec.ServerID); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatalf("migrate: %v", err)
	}
	if furthest.MemoryTotal == 0 || furthest.DiskTotal == 0 {
		t.Errorf("the progress was %+v", furthest)
	}
	if !forced.Load() {
		t.Error("the migration was over before it was forced")
	}
	p.runsOn(1)
	if err := p.move(t.Context(), to, "second", func(steps.MoveProgress) {}); err != nil {
		t.Errorf("done again: %v", err)
	}
	landed, err := p.drivers[1].Landed(t.Context(), p.spec.ServerID)
	if err != nil || !landed.Here || landed.PowerState != libvirt.Running {
		t.Errorf("landed: %+v, %v", landed, err)
	}
	t.Logf("downtime %d ms of %d ms", landed.Downtime, landed.Elapsed)
	if err := p.drivers[0].Destroy(t.Context(), p.spec.ServerID, confirmed); err != nil {
		t.Fatal(err)
	}
	p.goesOn(1)
	p.complete(1)
}

func TestSharedMigration(t *testing.T) {
	p := twoHosts(t, true, Migration{})
	to := p.land()
	if !to.Shared {
		t.Fatalf("landing: %+v", to)
	}
	// What is taken back on either host is not the other's guest.
	destroy := func(host int) {
		if err := p.drivers[host].Destroy(t.Context(), p.spec.ServerID, confirmed); err != nil {
			t.Fatal(err)
		}
	}
	destroy(1)
	p.runsOn(0)
	if to = p.land(); !to.Shared {
		t.Fatalf("landing: %+v", to)
	}
	for _, to := range []steps.Landing{to, {}} { // whoever asks again doesn't know where to
		if err := p.move(t.Context(), to, "first", func(steps.MoveProgress) {}); err != nil {
			t.Fatal(err)
		}
	}
	destroy(0)
	p.runsOn(1)
	p.goesOn(1)
	p.complete(1)
}

// TestPostCopyMigration: forced to complete where that is permitted, the guest goes
// on at once on the other host, and its memory follows.
func TestPostCopyMigration(t *testing.T) {
	p := twoHosts(t, true, Migration{PermitPostCopy: true})
	to := p.land()
	p.slow(1)
	var forced atomic.Bool
	err := p.move(t.Context(), to, "first", func(s steps.MoveProgress) {
		if s.MemoryProcessed > 1<<20 && forced.CompareAndSwap(false, true) {
			if err := p.drivers[0].Complete(t.Context(), p.spec.ServerID); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || !forced.Load() {
		t.Fatalf("migrate: %v; forced: %v", err, forced.Load())
	}
	p.runsOn(1)
	landed, err := p.drivers[1].Landed(t.Context(), p.spec.ServerID)
	if err != nil || !landed.Here {
		t.Errorf("landed: %+v, %v", landed, err)
	}
	if err := p.drivers[0].Destroy(t.Context(), p.spec.ServerID, confirmed); err != nil {
		t.Fatal(err)
	}
	p.goesOn(1)
	p.complete(1)
}

// TestPostCopyMigrationThatBreaks: a guest whose memory is on two hosts when the way
// between them breaks is nowhere yet, whoever asks, and is taken from neither until
// it is given up.
func TestPostCopyMigrationThatBreaks(t *testing.T) {
	p := twoHosts(t, true, Migration{PermitPostCopy: true})
	virsh := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("virsh", append([]string{"--connect", p.hosts[0].Libvirt.URI()}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("virsh %v: %v: %s", args, err, out)
		}
	}
	to := p.land()
	p.slow(1)
	virsh("migrate-setspeed", "--postcopy", p.spec.ServerID, "1")
	g, err := p.drivers[0].guest(p.spec.ServerID)
	if err != nil {
		t.Fatal(err)
	}
	var forced, broken bool
	err = p.move(t.Context(), to, "first", func(s steps.MoveProgress) {
		switch now, err := g.state(t.Context()); {
		case err != nil:
			t.Error(err)
		case s.MemoryProcessed > 1<<20 && !forced:
			forced = true
			if err := p.drivers[0].Complete(t.Context(), p.spec.ServerID); err != nil {
				t.Error(err)
			}
		case now.split && !broken:
			broken = true
			virsh("domjobabort", "--postcopy", p.spec.ServerID)
		}
	})
	if f := faults.As(err); !broken || f.Code != steps.MigrationUnsettled {
		t.Fatalf("broken %t: %v", broken, err)
	}
	// It is coming for as long as QEMU there has not given it up, which is soon.
	if landed, err := p.drivers[1].Landed(t.Context(), p.spec.ServerID); err != nil || landed.Here {
		t.Errorf("landed: %+v, %v", landed, err)
	}
	if _, err := p.drivers[0].Depart(t.Context(), p.spec.ServerID); !faults.Is(err, faults.Conflict) {
		t.Errorf("it departs anew: %v", err)
	}
	// Until it is given up.
	again := libvirt.Move{ServerID: p.spec.ServerID, Mark: "first", Only: true, Seen: func(steps.MoveProgress) {}}
	for _, given := range []libvirt.Move{{Abort: true}, {Stays: true}} {
		again.Abort, again.Stays = given.Abort, given.Stays
		if err := p.drivers[0].Migrate(t.Context(), again, confirmed); !faults.Is(err, faults.Conflict) {
			t.Errorf("given up by %+v: %v", given, err)
		}
	}
}

// TestMigrationTimeout: what takes longer than it may is aborted, and says so.
func TestMigrationTimeout(t *testing.T) {
	p := twoHosts(t, false, Migration{CompletionTimeout: time.Second, TimeoutAction: TimeoutAbort})
	to := p.land()
	p.slow(1)
	err := p.move(t.Context(), to, "first", func(steps.MoveProgress) {})
	if !faults.Is(err, faults.Conflict) || !strings.Contains(err.Error(), "took longer than it may") {
		t.Errorf("migrate: %v", err)
	}
	p.runsOn(0)
	p.goesOn(0)
	p.complete(0)
}

// TestMigrationKills: either libvirtd is killed half-way.
func TestMigrationKills(t *testing.T) {
	for victim, name := range []string{"source", "destination"} {
		t.Run(name, func(t *testing.T) {
			p := twoHosts(t, false, Migration{})
			to := p.land()
			p.slow(2)
			var killed atomic.Bool
			seen := func(s steps.MoveProgress) {
				if s.MemoryProcessed+s.DiskProcessed > 1<<20 && killed.CompareAndSwap(false, true) {
					if process, err := os.FindProcess(p.daemons[victim].State().Pid); err != nil || process.Kill() != nil {
						t.Errorf("libvirtd can't be killed: %v", err)
					}
				}
			}
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
				err := p.move(t.Context(), to, "first", seen)
				t.Logf("migrate: %v", err)
				if err == nil || faults.Is(err, faults.Conflict) || time.Now().After(deadline) {
					break
				}
			}
			var landed steps.LandedOut
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
				var err error
				if landed, err = p.drivers[1].Landed(t.Context(), p.spec.ServerID); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(err) // its libvirtd was to come back
				}
			}
			host := 0
			if landed.Here {
				host = 1
			}
			if err := p.drivers[1-host].Destroy(t.Context(), p.spec.ServerID, confirmed); err != nil {
				t.Fatal(err)
			}
			p.runsOn(host)
			p.goesOn(host)
			p.complete(host)
		})
	}
}
