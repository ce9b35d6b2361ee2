package placement

// The two steps: Claim and Release.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	// snapshotAge is how old the hosts in memory may be when one is chosen.
	snapshotAge = time.Second
	// maxTries bounds how often a claim that others were faster than is made anew
	// before the step is left to its retry.
	maxTries = 8
)

// Activities implements steps.PlacementActivities.
type Activities struct {
	db        *store.DB
	engine    *engine.Engine
	scheduler *scheduler.Scheduler
	hosts     hosts

	// DownAfter is the silence after which a host counts as down; zero is
	// compute.DownAfter. It is set before the first step.
	DownAfter time.Duration
	// Since is when this process began. For DownAfter from then on a host's
	// silence is no verdict: with everything just started again, hosts have had
	// nobody to report to. Zero is long ago.
	Since time.Time
	// Aliases are what flavors call devices of hosts.
	Aliases pci.Aliases
}

var _ steps.PlacementActivities = (*Activities)(nil)

// New gives the steps; s chooses among the hosts.
func New(db *store.DB, e *engine.Engine, s *scheduler.Scheduler) *Activities {
	return &Activities{db: db, engine: e, scheduler: s, hosts: hosts{countsImages: s.CountsImages}}
}

// Claim is idempotent by the ledger: an attempt that has its claim gets it
// again. Claim and ledger line are one transaction. A host whose claim was given
// up is not chosen a second time by the same operation.
// Errors: NoCapacity (code NoValidHost), Unavailable (others
// were faster on every host, or hosts may still report), Superseded.
func (a *Activities) Claim(ctx context.Context, in steps.ClaimIn) (steps.ClaimOut, error) {
	return a.tries(ctx, in.Exclude, func(tx store.Tx, since time.Time, exclude []string) (steps.ClaimOut, *compute.Claim, error) {
		in.Exclude = exclude
		return a.claimIn(ctx, tx, in, since)
	})
}

// try is the transaction of a claim, with hosts as they were after since. Taken is
// nil if the attempt had its claim.
type try func(tx store.Tx, since time.Time, exclude []string) (out steps.ClaimOut, taken *compute.Claim, err error)

// tries makes a claim anew for as long as others are faster on the host that it
// chooses.
func (a *Activities) tries(ctx context.Context, exclude []string, claim try) (steps.ClaimOut, error) {
	since := time.Now().Add(-snapshotAge)
	for range maxTries {
		out, err := a.once(ctx, func(tx store.Tx) (steps.ClaimOut, *compute.Claim, error) { return claim(tx, since, exclude) })
		var full *hostFull
		if !errors.As(err, &full) {
			return out, err
		}
		exclude = append(slices.Clone(exclude), full.host)
		since = time.Now()
	}
	return steps.ClaimOut{}, faults.New(faults.Unavailable, "HostsBusy", "other claims were faster on every host")
}

// hostFull ends a transaction whose snapshot promised room that isn't there.
type hostFull struct{ host string }

func (e *hostFull) Error() string { return "host " + e.host + " had no room after all" }

// once makes one try, and counts what it has taken.
func (a *Activities) once(ctx context.Context, claim func(store.Tx) (steps.ClaimOut, *compute.Claim, error)) (out steps.ClaimOut, err error) {
	var taken *compute.Claim
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		out, taken, err = claim(tx)
		return err
	})
	if err != nil {
		return steps.ClaimOut{}, err
	}
	if taken != nil {
		a.hosts.took(out.HostID, *taken)
	}
	return out, nil
}

// claimIn is Claim's transaction.
func (a *Activities) claimIn(ctx context.Context, tx store.Tx, in steps.ClaimIn, since time.Time) (out steps.ClaimOut, taken *compute.Claim, err error) {
	op, ledger, had, err := a.claimed(ctx, tx, in.Fence, in.Attempt)
	if err != nil || had != nil {
		if had != nil {
			out, err = known(ctx, tx, *had, ledger)
		}
		return out, nil, err
	}
	server, err := compute.GetServer(ctx, tx, "", op.ResourceID)
	if err != nil {
		return out, nil, err
	}
	if to := in.Destination; to != nil {
		server.Placement.Host, server.Placement.Node = to.Host, ""
		if to.Zone != nil {
			server.AvailabilityZone = *to.Zone
		}
	}
	host, err := a.choose(ctx, tx, since, server, append(left(ledger), in.Exclude...), seed(in))
	if err == nil && op.Kind == operations.ServerEvacuate {
		err = movable(ctx, tx, host.ID)
	}
	if err != nil {
		return out, nil, err
	}
	ledger, err = op.Intend(ctx, tx, operations.Effect{
		Kind: operations.EffectClaim, Ref: server.ID, Host: host.ID, Attempt: in.Attempt, State: operations.Done})
	if err != nil {
		return out, nil, err
	}
	if op.Kind == operations.ServerEvacuate {
		if err := compute.AimMigration(ctx, tx, op.ID, host.ID, servers.MigrationPreMigrating); err != nil {
			return out, nil, err
		}
	}
	// The claim locks the host's row, so it comes last.
	taken, err = a.take(ctx, tx, server, host.ID, in.Fence.OperationID)
	return steps.ClaimOut{HostID: host.ID, HostName: host.Name, Effects: ledger}, taken, err
}

// take claims what the server takes on the host; a hostFull error if it isn't there.
func (a *Activities) take(ctx context.Context, tx store.Tx, s *compute.Server, hostID, operationID string) (*compute.Claim, error) {
	claim := &compute.Claim{}
	err := a.takeParts(ctx, tx, s, hostID, claim)
	if err == nil {
		claim.Room, err = s.Room(claim.NUMA)
	}
	if err != nil {
		return nil, err
	}
	ok, err := compute.ClaimOnHost(ctx, tx, s.ID, hostID, operationID, *claim)
	if err == nil && !ok {
		err = &hostFull{hostID}
	}
	return claim, err
}

// takeParts chooses NUMA cells, devices and other resources of the host as they are now
// for a server that asks for any, and keeps others from doing so until the transaction ends.
func (a *Activities) takeParts(ctx context.Context, tx store.Tx, s *compute.Server, hostID string, claim *compute.Claim) error {
	cells, err := cellsOf(ctx, tx, s)
	if err != nil {
		return err
	}
	devices, err := a.Aliases.Read(s.Flavor.ExtraSpecs, s.ImageProperties)
	if err != nil {
		return err
	}
	claim.Resources, err = s.Resources()
	if err != nil || cells == nil && len(devices) == 0 && len(claim.Resources) == 0 {
		return err
	}
	host, taken, err := compute.LockParts(ctx, tx, hostID)
	if err != nil {
		return err
	}
	says, err := readFacts(host)
	if err != nil {
		return err
	}
	for class, n := range claim.Resources {
		if !says.resources[class].Fits(taken.Resources[class], n) {
			return &hostFull{hostID}
		}
	}
	var ok bool
	claim.NUMA, claim.Devices, ok = pci.Fit(says.parts, &taken.Cells, taken.Devices, cells, devices, numa.Limits{CPU: host.CPURatio, RAM: host.RAMRatio})
	if !ok {
		return &hostFull{hostID}
	}
	return nil
}

// choose gives the host to try. That there is none is said only of hosts as
// they are now.
func (a *Activities) choose(ctx context.Context, tx store.Tx, since time.Time, s *compute.Server, exclude []string, seed uint64) (*scheduler.Host, error) {
	r, err := a.request(ctx, tx, s, exclude)
	if err != nil {
		return nil, err
	}
	choice := func(hosts []scheduler.Host) scheduler.Verdict { return a.scheduler.Choose(hosts, r, seed) }
	host, rejected, err := a.hosts.choose(ctx, tx, since, a.DownAfter, choice)
	if err == nil && host == nil {
		host, rejected, err = a.hosts.choose(ctx, tx, time.Now(), a.DownAfter, choice)
	}
	if err != nil || host != nil {
		return host, err
	}
	if name := a.hosts.unheard(exclude); name != "" && a.listening() {
		return nil, unheard(name)
	}
	return nil, noValidHost(rejected)
}

// listening says that this process is too young to call a host down.
func (a *Activities) listening() bool {
	return time.Since(a.Since) < cmp.Or(a.DownAfter, compute.DownAfter)
}

// unheard has the step repeated until the host was heard of, or can be called down.
func unheard(host string) error {
	return faults.New(faults.Unavailable, "HostsUnheard", "host %s may still report", host)
}

func noValidHost(rejected map[string]int) error {
	return faults.Wrap(fmt.Errorf("hosts rejected by filter: %v", rejected), faults.NoCapacity, "NoValidHost",
		"No valid host was found. There are not enough hosts available.")
}

// claimOf finds the claim that the attempt holds.
func claimOf(ledger []operations.Effect, attempt int) *operations.Effect {
	for i, e := range ledger {
		if e.Kind == operations.EffectClaim && e.Attempt == attempt && e.Open() {
			return &ledger[i]
		}
	}
	return nil
}

// left are the hosts whose claims the operation has given up.
func left(ledger []operations.Effect) (hosts []string) {
	for _, e := range ledger {
		if e.Kind == operations.EffectClaim && !e.Open() {
			hosts = append(hosts, e.Host)
		}
	}
	return hosts
}

// known answers with a claim made earlier.
func known(ctx context.Context, tx store.Tx, e operations.Effect, ledger []operations.Effect) (steps.ClaimOut, error) {
	host, err := compute.GetHost(ctx, tx, e.Host)
	if err != nil {
		return steps.ClaimOut{}, err
	}
	return steps.ClaimOut{HostID: host.ID, HostName: host.Name, Effects: ledger}, nil
}

// seed draws among the best hosts: each attempt of each operation its own way.
func seed(in steps.ClaimIn) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", in.Fence.OperationID, in.Attempt)
	return h.Sum64()
}

// Release is idempotent by the ledger line's state and by the allocation's row:
// what is closed or gone is given back already. Errors: NotFound (no such
// line), Superseded.
func (a *Activities) Release(ctx context.Context, in steps.ReleaseIn) (struct{}, error) {
	return struct{}{}, a.db.InTx(ctx, func(tx store.Tx) error {
		ledger, err := a.engine.Intend(ctx, tx, in.Fence)
		if err != nil {
			return err
		}
		for _, e := range ledger {
			if e.Seq != in.Seq || e.Kind != operations.EffectClaim {
				continue
			}
			if !e.Open() {
				return nil
			}
			return compute.ReleaseClaim(ctx, tx, e.Ref, e.Host, in.Failed)
		}
		return faults.New(faults.NotFound, "NoSuchClaim", "operation %s has no claim in line %d of its ledger", in.Fence.OperationID, in.Seq)
	})
}
