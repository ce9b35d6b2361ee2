package qemu

// Live migration, on the host that the guest leaves: libvirt's job, begun once,
// watched, ended.

import (
	"context"
	"encoding/xml"
	"slices"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Migration is how live migrations are done, by the names of Nova's options.
type Migration struct {
	// URI is what other hosts' libvirtds reach this one's by, Address where it
	// takes guests' memory and disks.
	URI, Address string
	// CompletionTimeout is how long a migration may take for each GiB that it
	// moves, two at least; 0 is for ever. TimeoutAction is what follows.
	CompletionTimeout time.Duration
	TimeoutAction     TimeoutAction
	// PermitPostCopy lets a migration that is forced to complete start the guest
	// on the other host before its memory is there; it is paused otherwise.
	PermitPostCopy bool
	// PermitAutoConverge has libvirt slow down a guest that writes faster than
	// its memory is moved.
	PermitAutoConverge bool
}

// TimeoutAction is what is done with a migration that takes too long.
type TimeoutAction string

// Timeout actions.
const (
	TimeoutAbort    TimeoutAction = "abort"
	TimeoutComplete TimeoutAction = "force_complete"
)

const (
	// longestMigration bounds the call that a migration is.
	longestMigration = 24 * time.Hour
	// abortPatience is how long libvirt may take to end a migration.
	abortPatience = time.Minute
)

// Depart says what another host has to know to take the guest in.
func (d *Driver) Depart(ctx context.Context, serverID string) (steps.Departure, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return steps.Departure{}, err
	}
	now, err := g.state(ctx)
	if err != nil {
		return steps.Departure{}, err
	}
	if !now.active || now.leaving || now.split { // one that stands still because it leaves would arrive standing still
		return steps.Departure{}, faults.New(faults.Conflict, "InstanceNotRunning", "Instance %s is not running.", g.id)
	}
	domain, err := g.described(ctx, golibvirt.DomainXMLMigratable)
	if err != nil {
		return steps.Departure{}, err
	}
	if err := portable(domain); err != nil {
		return steps.Departure{}, err
	}
	leaving := steps.Departure{Folder: g.dir, KVM: domain.Type == "kvm", Machine: domain.OS.Type.Machine, Boot: bootID()}
	if domain.CPU != nil {
		leaving.CPU, err = domain.CPU.Marshal()
	}
	if err != nil {
		return steps.Departure{}, broken(err)
	}
	if leaving.Sizes, err = g.sizes(ctx, domain); err != nil {
		return steps.Departure{}, err
	}
	leaving.Marker, err = g.mark()
	return leaving, err
}

// portable refuses guests with parts of their host.
func portable(domain *libvirtxml.Domain) error {
	if domain.Devices != nil && len(domain.Devices.Hostdevs) > 0 {
		return unfit("This request does not explicitly request live-migratable devices.")
	}
	return nil
}

// described reads the domain as libvirt has it.
func (g *guest) described(ctx context.Context, flags golibvirt.DomainXMLFlags) (*libvirtxml.Domain, error) {
	text, err := g.describe(ctx, flags)
	if err != nil {
		return nil, err
	}
	var domain libvirtxml.Domain
	return &domain, broken(domain.Unmarshal(text))
}

func (g *guest) describe(ctx context.Context, flags golibvirt.DomainXMLFlags) (text string, err error) {
	err = g.domain(ctx, callTime, "describe the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) (err error) {
		text, err = rpc.DomainGetXMLDesc(d, flags)
		return err
	})
	return text, err
}

// Migrate has libvirt move the guest, and comes back when that is over. One that
// an earlier call has begun is taken over.
func (d *Driver) Migrate(ctx context.Context, m libvirt.Move, confirm libvirt.Confirm) error {
	g, err := d.guest(m.ServerID)
	if err != nil {
		return err
	}
	have, err := g.recall()
	if err != nil {
		return err
	}
	now, err := g.state(ctx)
	switch {
	case err != nil:
		return err
	case !now.active && have.Leaving != m.Mark:
		return faults.New(faults.Conflict, "InstanceNotRunning", "Instance %s is not running.", g.id)
	}
	w := &watch{guest: g, move: m, began: time.Now()}
	if !now.active || w.hopeless(now) {
		return g.left(w.verdict(ctx, nil, false)) // an earlier call has moved it, or begun to
	}
	if have.Leaving == m.Mark {
		if job, err := g.job(ctx); err != nil || job.active {
			if err != nil {
				return err
			}
			if m.Abort {
				_ = g.abort(ctx) // it may be over; the verdict tells
			}
			return g.left(w.until(ctx, nil))
		}
	}
	if m.Only {
		if now.leaving && m.Stays {
			_ = g.resume(ctx) // the verdict tells
		}
		return g.left(w.verdict(ctx, nil, false))
	}
	return g.steps(ctx,
		subStep{"migrate.begin", func(ctx context.Context) error {
			have.Leaving, have.Heir = m.Mark, ""
			if m.To.Shared {
				have.Heir = m.To.HostID
			}
			return g.write(have)
		}},
		subStep{"migrate.move", func(ctx context.Context) error {
			if err := confirm(); err != nil {
				return err
			}
			return g.left(w.run(ctx))
		}},
		subStep{"migrate.done", nil},
	)
}

// left is the end of a migration: a guest that has gone takes a folder that both
// hosts see with it.
func (g *guest) left(err error) error {
	if err != nil {
		return err
	}
	have, err := g.read()
	switch {
	case faults.Is(err, faults.NotFound):
		return nil // its heir has it by now
	case err != nil || have.Heir == "":
		return err
	}
	return g.inherited(have)
}

// watch is a migration that runs.
type watch struct {
	*guest
	move  libvirt.Move
	began time.Time
}

// run makes the call and watches what it does. The call has a connection to
// libvirtd of its own, which nothing else hangs up.
func (w *watch) run(ctx context.Context) error {
	params, err := w.params(ctx)
	if err != nil {
		return err
	}
	domain, err := w.lookup(ctx)
	if err != nil {
		return err
	}
	line := newConnection(w.driver.socket)
	defer line.close()
	over := make(chan error, 1)
	go func() {
		over <- line.call(context.WithoutCancel(ctx), longestMigration, "migrate the domain", func(rpc *golibvirt.Libvirt) error {
			_, err := rpc.DomainMigratePerform3Params(domain, golibvirt.OptString{w.move.To.URI}, params, nil, w.flags())
			return err
		})
	}()
	return w.until(ctx, over)
}

func (w *watch) flags() golibvirt.DomainMigrateFlags {
	flags := golibvirt.MigrateLive | golibvirt.MigratePeer2peer | golibvirt.MigratePersistDest | golibvirt.MigrateUndefineSource
	if !w.move.To.Shared {
		flags |= golibvirt.MigrateNonSharedInc
	}
	if w.move.To.SameMachine {
		// What one kernel caches, both QEMUs see.
		flags |= golibvirt.MigrateUnsafe
	}
	if w.driver.migration.PermitPostCopy {
		flags |= golibvirt.MigratePostcopy
	}
	if w.driver.migration.PermitAutoConverge {
		flags |= golibvirt.MigrateAutoConverge
	}
	return flags
}

// params say where the guest goes, and what its files are called there.
func (w *watch) params(ctx context.Context) ([]golibvirt.TypedParam, error) {
	to := w.move.To
	params := []golibvirt.TypedParam{text(golibvirt.MigrateParamURI, to.Address)}
	here, err := w.described(ctx, golibvirt.DomainXMLMigratable)
	if err != nil {
		return nil, err
	}
	for name, flags := range map[string]golibvirt.DomainXMLFlags{
		golibvirt.MigrateParamDestXML:    golibvirt.DomainXMLMigratable | golibvirt.DomainXMLSecure,
		golibvirt.MigrateParamPersistXML: golibvirt.DomainXMLMigratable | golibvirt.DomainXMLSecure | golibvirt.DomainXMLInactive,
	} {
		described, err := w.describe(ctx, flags)
		if err != nil {
			return nil, err
		}
		if described, err = domain.Moved(described, to.NUMA); err != nil {
			return nil, broken(err)
		}
		params = append(params, text(name, w.renamed(described, here)))
	}
	if !to.Shared {
		for _, disk := range localDisksOf(here, w.dir) {
			params = append(params, text(golibvirt.MigrateParamMigrateDisks, disk.Target.Dev))
		}
	}
	return params, nil
}

// renamed gives the domain's files the paths that they have on the other host.
func (w *watch) renamed(described string, domain *libvirtxml.Domain) string {
	swap := []string{escaped(w.dir) + "/", escaped(w.move.To.Folder) + "/"}
	for _, disk := range domain.Devices.Disks {
		if there := w.move.To.Volumes[disk.Serial]; there != "" {
			swap = append(swap, "'"+escaped(pathOf(disk))+"'", "'"+escaped(there)+"'")
		}
	}
	return strings.NewReplacer(swap...).Replace(described)
}

func escaped(path string) string {
	var text strings.Builder
	_ = xml.EscapeText(&text, []byte(path)) // to memory
	return text.String()
}

// localDisksOf are the disks with a file in the guest's folder that the guest
// can write to.
func localDisksOf(domain *libvirtxml.Domain, folder string) []libvirtxml.DomainDisk {
	return slices.DeleteFunc(slices.Clone(domain.Devices.Disks), func(disk libvirtxml.DomainDisk) bool {
		return disk.ReadOnly != nil || !strings.HasPrefix(pathOf(disk), folder+"/")
	})
}

func pathOf(disk libvirtxml.DomainDisk) string {
	switch {
	case disk.Source == nil:
	case disk.Source.File != nil:
		return disk.Source.File.File
	case disk.Source.Block != nil:
		return disk.Source.Block.Dev
	}
	return ""
}

func text(name, value string) golibvirt.TypedParam {
	return golibvirt.TypedParam{Field: name, Value: *golibvirt.NewTypedParamValueString(value)}
}

// until watches the migration until it is over: until the call that made it has
// an answer or, without one, libvirt has no such job any more. When ctx ends it
// is aborted, unless it is too late for that.
func (w *watch) until(ctx context.Context, over <-chan error) error {
	quiet := context.WithoutCancel(ctx)
	tick := time.NewTicker(w.driver.poll)
	defer tick.Stop()
	cancelled := ctx.Done()
	var forced, aborted bool
	var giveUp <-chan time.Time
	for {
		select {
		case err := <-over:
			return w.verdict(ctx, err, aborted)
		case <-giveUp:
			return ctx.Err()
		case <-cancelled:
			cancelled, aborted, giveUp = nil, true, time.After(abortPatience)
			_ = w.abort(quiet) // it may be over; the verdict tells
			continue
		case <-tick.C:
		}
		job, err := w.job(quiet)
		switch {
		case err != nil && over == nil && !faults.Is(err, faults.NotFound) && !faults.Is(err, faults.Conflict):
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err // the next call takes over again
		case over == nil && (err != nil || !job.active):
			return w.verdict(ctx, nil, aborted)
		case err != nil:
			continue
		}
		w.move.Seen(job.MoveProgress)
		if aborted || forced || !w.late(job) {
			continue
		}
		if w.driver.migration.TimeoutAction == TimeoutComplete {
			forced = true
			_ = w.complete(quiet) // it goes on otherwise
		} else {
			aborted = true
			_ = w.abort(quiet)
		}
	}
}

// verdict looks where the guest is: an answer can be lost. A guest that is off for
// any other reason than that it has left ended here; one that stands still because
// it leaves may run on the other host, and only that can tell.
func (w *watch) verdict(ctx context.Context, answer error, aborted bool) error {
	now, err := w.state(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return err
	case now.missing, now.gone:
		return nil
	case w.hopeless(now):
		return faults.New(faults.Conflict, "MigrationError", "Migration error: the guest was lost with a part of it on each host")
	case now.leaving, now.split:
		return faults.New(faults.NotFound, steps.MigrationUnsettled, "the guest stands still, and may run on the other host")
	case ctx.Err() != nil:
		return ctx.Err()
	case aborted:
		return faults.New(faults.Conflict, "MigrationError", "Migration error: Live migration took longer than it may, and was aborted")
	case answer != nil:
		return faults.Wrap(answer, faults.Conflict, "MigrationError", "Migration error: %s", faults.As(answer).Message)
	}
	return faults.New(faults.Conflict, "MigrationError", "Migration error: libvirt gave the migration up")
}

// hopeless says that the guest is torn, and nobody waits any longer for the way
// between its hosts to be mended: the other one has lost it, or it is given up.
func (w *watch) hopeless(now state) bool {
	return now.torn && (w.move.Stays || w.move.Abort)
}

// late says that the migration takes longer than it may.
func (w *watch) late(job job) bool {
	limit := w.driver.migration.CompletionTimeout
	if limit == 0 {
		return false
	}
	size := (job.MemoryTotal + job.DiskTotal + gib - 1) / gib
	return time.Since(w.began) > limit*time.Duration(max(size, 2))
}

func (g *guest) abort(ctx context.Context) error {
	return g.domain(ctx, callTime, "abort the migration", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainAbortJob(d) })
}

func (g *guest) resume(ctx context.Context) error {
	return g.domain(ctx, callTime, "resume the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainResume(d) })
}

// complete ends a migration that might go on for ever.
func (g *guest) complete(ctx context.Context) error {
	return g.domain(ctx, callTime, "force the migration to complete", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		if g.driver.migration.PermitPostCopy {
			return rpc.DomainMigrateStartPostCopy(d, 0)
		}
		return rpc.DomainSuspend(d)
	})
}

// Complete forces a migration that runs to complete. One that is over is not
// touched.
func (d *Driver) Complete(ctx context.Context, serverID string) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	job, err := g.job(ctx)
	if faults.Is(err, faults.NotFound) || err == nil && !job.active {
		return nil
	}
	if err != nil {
		return err
	}
	return g.complete(ctx)
}

// job is what libvirt does with a domain.
type job struct {
	active bool
	steps.MoveProgress
}

// job asks for the domain's. Errors: NotFound.
func (g *guest) job(ctx context.Context) (j job, err error) {
	err = g.domain(ctx, callTime, "read the domain's job", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		kind, _, _, _, _, _, memTotal, memDone, memLeft, diskTotal, diskDone, diskLeft, err := rpc.DomainGetJobInfo(d)
		running := golibvirt.DomainJobType(kind)
		j.active = running == golibvirt.DomainJobBounded || running == golibvirt.DomainJobUnbounded
		j.MemoryTotal, j.MemoryProcessed, j.MemoryRemaining = int64(memTotal), int64(memDone), int64(memLeft)
		j.DiskTotal, j.DiskProcessed, j.DiskRemaining = int64(diskTotal), int64(diskDone), int64(diskLeft)
		return err
	})
	return j, err
}
