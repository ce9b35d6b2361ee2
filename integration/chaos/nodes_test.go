package chaos

// Machines are cleaned, deployed, rescued, serviced, rebuilt and undeployed while who
// works on them is killed and their BMCs misbehave.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
)

// middles are what is done between a deployment and its end.
var middles = [][]operations.Kind{{operations.NodeRescue, operations.NodeUnrescue}, {operations.NodeService}, {operations.NodeRebuild}}

// disturbance is a way in which a machine misbehaves while something is asked of it.
type disturbance struct {
	name string
	do   func(*bmc.Machine)
	// fails is what the node's last error says of a request that has failed of it; empty
	// for one that nothing may fail of.
	fails string
	// not are the kinds that it would only have take very long.
	not []operations.Kind
	// long says that it has all of them take a minute.
	long bool
	// strange has the BMC show a stranger's certificate.
	strange bool
}

// lastWords: the one to a ramdisk that rescues is asked after for five minutes.
var lastWords = []operations.Kind{operations.NodeRescue}

var disturbances = []disturbance{
	{name: "slow to change its power", do: func(m *bmc.Machine) { m.Misbehave(bmc.Slow, bmc.Slow) }},
	{name: "slow to change its drive", do: func(m *bmc.Machine) { m.MisbehaveMedia(bmc.Slow, bmc.Slow) }},
	{name: "slow to tell", do: func(m *bmc.Machine) { m.MisbehaveReads(bmc.Slow, bmc.Slow, bmc.Slow) }},
	{name: "unavailable", do: func(m *bmc.Machine) { m.MisbehaveReads(bmc.Unavailable, bmc.Unavailable) }},
	{name: "drops who asks", do: func(m *bmc.Machine) { m.MisbehaveReads(bmc.Drops, bmc.Drops) }},
	{name: "unavailable for its drive", do: func(m *bmc.Machine) { m.MisbehaveMedia(bmc.Unavailable) }},
	{name: "drops changes of power", do: func(m *bmc.Machine) { m.Misbehave(bmc.Drops, bmc.Drops) }},
	{name: "answers changes of power with garbage", do: func(m *bmc.Machine) { m.Misbehave(bmc.Garbage) }},
	{name: "drops changes of its drive", do: func(m *bmc.Machine) { m.MisbehaveMedia(bmc.Drops, bmc.Drops) }},
	{name: "slow ramdisk", do: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Slow, bmc.Slow) }},
	{name: "busy ramdisk", do: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Busy) }},
	{name: "ramdisk drops commands", do: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Drops) }, not: lastWords},
	{name: "ramdisk answers with garbage", do: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Garbage) }, not: lastWords},
	{name: "refuses changes of power", do: func(m *bmc.Machine) { m.Misbehave(bmc.Refuses) }, fails: "The system can't do that"},
	{name: "refuses changes of its drive", do: func(m *bmc.Machine) { m.MisbehaveMedia(bmc.Refuses) }, fails: "The system can't do that"},
	{name: "ramdisk fails", do: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Fails) }, fails: "it was told to fail"},
	{name: "ramdisk starts anew", do: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Restarts) }, fails: "the agent was started anew|another certificate|could not be reached", not: lastWords},
	{name: "another certificate", do: func(*bmc.Machine) {}, fails: "certificate", strange: true},
	{name: "unavailable for power", do: func(m *bmc.Machine) { m.Misbehave(bmc.Unavailable, bmc.Unavailable) }, long: true},
	{name: "says that it has changed its power", do: func(m *bmc.Machine) { m.Misbehave(bmc.Idle) }, fails: "Failed to set node power state", long: true},
}

// lives is a cloud whose machines live.
type lives struct {
	*testing.T
	*cloud.Cloud
	at  string // of the images
	sum func(name string) string
}

// life is a machine's.
type life struct {
	*lives
	i       int
	machine *bmc.Machine
	node    string
	r       *rand.Rand
}

// Machines live while each process is killed and started again, by itself and together
// with another, and while BMCs and ramdisks misbehave, both at times that the seed draws.
// What is asked for is done, with no change of power that it doesn't take; or it has
// failed of what its machine did, which the node says, and then it has been taken back.
// In full there are a hundred machines and two conductors.
func TestKillsUnderNodes(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			machines, rounds, apart, pause := 12, 1, 4*time.Second, 1500*time.Millisecond
			victims := []cloud.Name{cloud.API, cloud.Control, cloud.Conductor, cloud.Temporal, cloud.Postgres}
			if full {
				machines, rounds, apart, pause = 100, 3, time.Minute, 6*time.Second
				victims = append(victims, cloud.OtherConductor)
			}
			began := time.Now()
			c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: machines, MachinesApart: true, TwoConductors: full, Config: map[string]any{"conductor.sync_power_state_interval": "0s"}})
			l := &lives{T: t, Cloud: c}
			l.at, l.sum = cloud.Files(t)
			r := rand.New(rand.NewPCG(seed, 0))
			ended := make(chan error, machines)
			for i, m := range c.BMC.Machines {
				m.Lag = 2 * time.Second
				node, err := c.Enroll(t.Context(), i, l.at)
				must(t, err)
				one := &life{lives: l, i: i, machine: m, node: node, r: rand.New(rand.NewPCG(seed, uint64(i+1)))}
				wait := between(r, 0, apart)
				go func() {
					time.Sleep(wait)
					ended <- one.live(t.Context())
				}()
			}
			t.Logf("%d machines are there after %s", machines, time.Since(began).Round(time.Second))
			for range rounds {
				kills := draw(r, victims)
				if !full {
					kills = slices.DeleteFunc(kills, func(who []cloud.Name) bool { return len(who) > 1 })
				}
				for _, who := range kills {
					time.Sleep(between(r, 100*time.Millisecond, pause))
					outage(t, c, who, between(r, 100*time.Millisecond, 2*time.Second))
				}
			}
			t.Logf("the last is killed after %s", time.Since(began).Round(time.Second))
			for range c.BMC.Machines {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			t.Logf("all lives are over after %s", time.Since(began).Round(time.Second))
			l.nothingLeft()
		})
	}
}

// live leads the machine through its life, or until something fails that may.
func (l *life) live(ctx context.Context) error {
	for _, kind := range slices.Concat([]operations.Kind{operations.NodeManage, operations.NodeProvide, operations.NodeDeploy},
		middles[l.r.IntN(len(middles))], []operations.Kind{operations.NodeUndeploy}) {
		how := l.draw(kind)
		l.Logf("machine %s: %s, with %s", l.machine.ID, kind, how.name)
		if on, err := l.tell(ctx, kind, how); err != nil || !on {
			if err != nil {
				err = fmt.Errorf("machine %s, %s, with %s: %w", l.machine.ID, kind, how.name, err)
			}
			return err
		}
	}
	return nil
}

// draw says how the machine misbehaves under an operation: mostly it doesn't.
func (l *life) draw(kind operations.Kind) disturbance {
	how := disturbances[l.r.IntN(len(disturbances))]
	if l.r.IntN(2) > 0 || how.long && !full || slices.Contains(how.not, kind) {
		return disturbance{name: "nothing", do: func(*bmc.Machine) {}}
	}
	return how
}

// tell has one operation be, and says whether the life goes on.
func (l *life) tell(ctx context.Context, kind operations.Kind, how disturbance) (on bool, err error) {
	of := nodeKinds[kind]
	if slices.Contains(withImage, kind) {
		image := func() error { return l.SetImage(ctx, l.node, l.at, "image", l.sum("image")) }
		if err := surely(ctx, image); err != nil {
			return false, err
		}
	}
	l.machine.Forget()
	if how.do(l.machine); how.strange {
		if err := l.BMC.ChangeCertificateOf(l.i); err != nil {
			return false, err
		}
	}
	op, err := l.done(ctx, of)
	if err != nil {
		return false, err
	}
	turns := l.machine.Turns()
	if l.machine.Behave(); how.strange {
		l.BMC.RestoreCertificateOf(l.i)
	}
	var shown cloud.Node
	show := func() (err error) { shown, err = l.ShowNode(ctx, l.node); return err }
	if err := surely(ctx, show); err != nil {
		return false, err
	}
	if op.Result == operations.ResultDone {
		if shown.State != string(of.after) || shown.LastError != "" || !slices.Equal(turns, of.turns) {
			return false, fmt.Errorf("it is done, and the node is in %q, with %q, and was turned %v; want %q, %v", shown.State, shown.LastError, turns, of.after, of.turns)
		}
		return true, nil
	}
	state := provision.State(shown.State)
	switch {
	case how.fails == "" || !regexp.MustCompile(how.fails).MatchString(shown.LastError):
		err = fmt.Errorf("it has ended as %q (%s), and the node is in %q, with %q; want %q", op.Result, op.Message, shown.State, shown.LastError, how.fails)
	case state != of.failed && (kind != operations.NodeUndeploy || state != provision.Error): // where one that isn't cleaned yet is left
		err = fmt.Errorf("it has failed (%s), and the node is in %q, want %q", op.Message, state, of.failed)
	case !turnedBack(turns, of):
		err = fmt.Errorf("it has failed (%s), and the machine was turned %v; want %v, and %v", op.Message, turns, of.turns, of.back)
	}
	return false, err
}

// turnedBack says whether a machine was turned as an operation has it, as far as that
// came, and back.
func turnedBack(turns []bmc.Power, of ofNode) bool {
	n := 0
	for n < min(len(turns), len(of.turns)) && turns[n] == of.turns[n] {
		n++
	}
	back := len(of.back) - len(turns[n:])
	return back >= 0 && slices.Equal(turns[n:], of.back[back:])
}

// longestLife bounds an operation of a life: a ramdisk whose last word is lost is asked after for five
// minutes.
const longestLife = 10 * time.Minute

// done asks for an operation, once, and waits for its end.
func (l *life) done(ctx context.Context, of ofNode) (op engine.Operation, err error) {
	ctx, cancel := context.WithTimeout(ctx, longestLife)
	defer cancel()
	before := -1
	for asked := false; ; time.Sleep(100 * time.Millisecond) {
		all, listErr := l.Operations(ctx, l.node)
		switch {
		case ctx.Err() != nil:
			return op, fmt.Errorf("it has not ended: %s stands at step %q, %s: %w", op.ID, op.Step, l.standing(), errors.Join(err, listErr))
		case listErr != nil: // the database is away
		case before < 0:
			before = len(all)
		case len(all) > before+1:
			return op, fmt.Errorf("%s follows on %s", all[0].ID, all[1].ID)
		case len(all) > before:
			if op = all[0]; op.Finished() {
				return op, nil
			}
		case !asked || unheard(err):
			err = of.ask(ctx, l.Cloud, l.node)
			asked = true
		case err != nil:
			return op, err
		}
	}
}

// standing tells of a machine on which something doesn't end.
func (l *life) standing() string {
	m := l.machine
	said := fmt.Sprintf("machine %s is %q, told %v, runs %q", m.ID, m.Power(), m.Asked(), m.Runs())
	if err := m.BootFailure(); err != nil {
		said += fmt.Sprintf(", couldn't be booted (%s)", err)
	}
	if agent := m.Agent(); agent != nil {
		refused := agent.Refused()
		said += fmt.Sprintf(", its ramdisk at %q was heard %d times and was refused %d times, last %q", agent.Address(), agent.Beats(), len(refused), refused[max(0, len(refused)-3):])
	}
	return said
}

// found has a node be found in a state, with its machine's power.
func (l *lives) found(node string, state provision.State, power bmc.Power) {
	l.Helper()
	_, err := l.DB.Pool.Exec(l.Context(), `UPDATE baremetal.nodes SET provision_state = $2, power_state = NULLIF($3, '') WHERE uuid = $1`, node, state, shownPower[power])
	must(l.T, err)
}

// unheard says whether nobody knows what came of a request.
func unheard(err error) bool {
	var refused *cloud.StatusError
	return err != nil && (!errors.As(err, &refused) || refused.Code >= http.StatusInternalServerError)
}

// shownPower is how a node shows the power that its machine has, or is coming to.
var shownPower = map[bmc.Power]string{bmc.On: "power on", bmc.PoweringOn: "power on", bmc.Off: "power off", bmc.PoweringOff: "power off"}

// nothingLeft fails the test unless each node stands where it can stay, its machine is
// as it says, and nothing is left of any operation.
func (l *lives) nothingLeft() {
	l.Helper()
	l.Audit()
	nodes, err := l.Nodes(l.Context())
	must(l.T, err)
	if len(nodes) != len(l.BMC.Machines) {
		l.Fatalf("there are %d nodes, want %d", len(nodes), len(l.BMC.Machines))
	}
	ends := map[string]int{}
	for i, n := range nodes {
		m, state := l.BMC.Machines[i], provision.State(n.State)
		ends[n.State]++
		if info, _ := provision.Lookup(state); state.Transient() || info.Class == provision.Held || n.Reservation != "" {
			l.Errorf("node %s is left in %q, reserved by %q", n.UUID, n.State, n.Reservation)
		}
		for _, secret := range []string{"agent_secret_token", "agent_url", "agent_verify_ca"} {
			if has := n.Internal[secret]; has != nil {
				l.Errorf("node %s, in %q, has %s %v", n.UUID, n.State, secret, has)
			}
		}
		if state == provision.Available && len(n.InstanceInfo) > 0 {
			l.Errorf("node %s is available, and has %v of an instance", n.UUID, n.InstanceInfo)
		}
		if is := shownPower[m.Power()]; n.Power != "" && n.Power != is { // nobody knows that of some that have failed
			l.Errorf("node %s, in %q, is shown as %q, and its machine is %q", n.UUID, n.State, n.Power, is)
		}
		boot := m.Boot()
		if own := boot.Enabled == "Disabled" || boot.Target == "Hdd" && state != provision.Available; !own || m.Medium() != "" {
			l.Errorf("node %s, in %q, starts from %+v, with %q in its drive", n.UUID, n.State, boot, m.Medium())
		}
	}
	l.Logf("nodes are left in %v", ends)
	var held, files, findings, passwords int
	err = l.DB.Pool.QueryRow(l.Context(), `SELECT (SELECT count(*) FROM baremetal.nodes WHERE operation_id IS NOT NULL OR next_operation_id IS NOT NULL),
		(SELECT count(*) FROM baremetal.boot_files), (SELECT count(*) FROM baremetal.findings), (SELECT count(*) FROM baremetal.nodes WHERE rescue_secret IS NOT NULL)`).
		Scan(&held, &files, &findings, &passwords)
	if err != nil || held+files+findings+passwords > 0 {
		l.Errorf("%d nodes are held, %d are booted from files, %d have findings, %d passwords, %v", held, files, findings, passwords, err)
	}
	// What one conductor has made for a node that another has put back it sweeps away.
	l.Eventually("no file is left that machines are booted from", patience, func(context.Context) error {
		if left := l.BootFiles(); len(left) > 0 {
			return fmt.Errorf("%v are", left)
		}
		return nil
	})
}
