package chaos

// Servers that are whole machines are built, stopped, rescued, rebuilt and deleted while
// who works on them is killed.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/iso/isotest"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
)

// turn is an operation of a server's life, and the status that it leads to.
type turn struct {
	kind   operations.Kind
	status string
}

// turns are what is asked of a server between its build and its end.
var turns = [][]turn{
	{{operations.ServerStop, "SHUTOFF"}, {operations.ServerStart, "ACTIVE"}},
	{{operations.ServerRescue, "RESCUE"}, {operations.ServerUnrescue, "ACTIVE"}},
	{{operations.ServerRebuild, "ACTIVE"}},
	{{operations.ServerHardReboot, "ACTIVE"}},
}

// nothingFails says of disturbances that nothing may fail of them, whatever meets them.
func nothingFails(d disturbance) bool { return d.fails == "" && !d.long && len(d.not) == 0 }

// tenants are servers on nodes.
type tenants struct {
	*lives
	mu   sync.Mutex
	stay []string
}

// newTenants is a cloud whose hosts are nodes, and a network for servers on them, which
// their ramdisks are on, too.
func newTenants(t *testing.T, machines int) *tenants {
	t.Helper()
	// Every host comes back: none is to be taken for down.
	c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: machines, MachinesApart: true, Fleet: true, Services: true,
		Config: map[string]any{"conductor.sync_power_state_interval": "0s", "compute.host_down_after": "30s",
			"baremetal.default_network_interface": "flat", "conductor.cleaning_network": networkName}})
	l := &tenants{lives: &lives{T: t, Cloud: c}}
	l.at, l.sum = cloud.Files(t)
	for i := range machines {
		node, err := c.Enroll(t.Context(), i, l.at)
		must(t, err)
		l.found(node, provision.Available, bmc.Off)
	}
	connect(t, c)
	c.AwaitFleet(machines)
	return l
}

// Servers live on nodes while each process is killed and started again, by itself and
// together with another, and BMCs are slow or away, at times that the seed draws. All that
// is asked for is done; some servers' users don't even wait for the build. Then each node is
// the machine of one server, with its ports and no others, or available, and nothing is left
// of those that are gone. It is done in full only, since nodes and servers have tests of
// their own of that.
func TestKillsUnderServersOnNodes(t *testing.T) {
	if !full {
		return
	}
	t.Parallel()
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			const machines, users, each, rounds, pause = 30, 15, 3, 3, 6 * time.Second // those that are gone may still be cleaned when others come
			began := time.Now()
			l := newTenants(t, machines)
			t.Logf("%d nodes are hosts after %s", machines, time.Since(began).Round(time.Second))
			r := rand.New(rand.NewPCG(seed, 0))
			ended := make(chan error, users)
			for i := range users {
				own := rand.New(rand.NewPCG(seed, uint64(i+1)))
				go func() {
					var errs []error
					for n := range each {
						time.Sleep(between(own, 0, 2*pause))
						errs = append(errs, l.live(t.Context(), fmt.Sprintf("tenant-%d-%d", i, n), own, n == each-1))
					}
					ended <- errors.Join(errs...)
				}()
			}
			for range rounds {
				for _, who := range draw(r, []cloud.Name{cloud.Fleet, cloud.Conductor, cloud.Control, cloud.API, cloud.Temporal, cloud.Postgres}) {
					how := disturbances[r.IntN(len(disturbances))]
					if i := r.IntN(machines); nothingFails(how) {
						t.Logf("machine %s is %s", l.BMC.Machines[i].ID, how.name)
						how.do(l.BMC.Machines[i])
					}
					time.Sleep(between(r, 100*time.Millisecond, pause))
					outage(t, l.Cloud, who, between(r, 100*time.Millisecond, 2*time.Second))
				}
			}
			t.Logf("the last is killed after %s", time.Since(began).Round(time.Second))
			for range users {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			t.Logf("all lives are over after %s", time.Since(began).Round(time.Second))
			l.housed(l.stay)
			l.nothingLeft()
			l.empty(l.stay)
		})
	}
}

// live has a server be built and live, and go, unless it may stay.
func (l *tenants) live(ctx context.Context, name string, r *rand.Rand, mayStay bool) error {
	id, err := l.CreateSurely(ctx, cloud.MetalFlavor, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	life := slices.Concat([]turn{{operations.ServerBuild, "ACTIVE"}}, turns[r.IntN(len(turns))])
	switch fate := r.IntN(4); {
	case fate == 0: // its user doesn't wait for it
		life = []turn{{operations.ServerDelete, ""}}
		time.Sleep(between(r, 0, 8*time.Second))
	case fate == 1 && mayStay:
		l.mu.Lock()
		l.stay = append(l.stay, id)
		l.mu.Unlock()
	default:
		life = append(life, turn{operations.ServerDelete, ""})
	}
	for _, turn := range life {
		if err := l.take(ctx, id, turn); err != nil {
			return fmt.Errorf("%s, %s: %w", name, turn.kind, err)
		}
		l.Logf("%s: %s", name, turn.kind)
	}
	return nil
}

// empty deletes servers, and fails the test unless all nodes are nobody's then.
func (l *tenants) empty(servers []string) {
	l.Helper()
	for _, id := range servers {
		must(l.T, l.Delete(l.Context(), id))
	}
	allAre(l.T, l.Cloud, servers, "", patience)
	l.housed(nil)
	l.nothingLeft()
}

// misfortune is an operation on a server whose machine does it wrong.
type misfortune struct {
	// before is what is done to the server first.
	before []turn
	asked  turn
	wrong  func(*bmc.Machine)
	// says is what the operation and, if it is in ERROR, the server say of it, and node is
	// where the node is left.
	says string
	node provision.State
}

var misfortunes = []misfortune{
	{asked: turn{operations.ServerRescue, "ERROR"}, wrong: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Fails) },
		says: "Failed to move instance .* to rescue mode: .*it was told to fail", node: provision.Active},
	{asked: turn{operations.ServerRebuild, "ERROR"}, wrong: func(m *bmc.Machine) { m.MisbehaveAgent(bmc.Fails) },
		says: "Failed to provision instance .*: .*it was told to fail", node: provision.DeployFailed},
	{before: []turn{{operations.ServerRescue, "RESCUE"}}, asked: turn{operations.ServerUnrescue, "ERROR"}, wrong: func(m *bmc.Machine) { m.Misbehave(bmc.Refuses) },
		says: "Failed to unrescue instance .*: .*The system can't do that", node: provision.UnrescueFailed},
	{asked: turn{operations.ServerStop, "ACTIVE"}, wrong: func(m *bmc.Machine) { m.Misbehave(bmc.Refuses, bmc.Refuses) },
		says: "Failed to power off instance: .*The system can't do that", node: provision.Active},
	{asked: turn{operations.ServerHardReboot, "ACTIVE"}, wrong: func(m *bmc.Machine) { m.Misbehave(bmc.Refuses) },
		says: "Failed to reboot instance: .*The system can't do that", node: provision.Active},
}

// What a machine does wrong its server says, and shows what is true; it can be deleted, and
// its node is available then. A build goes on to another node, if there is one. A server
// whose node is gone can be deleted too.
func TestServersOnNodesThatFail(t *testing.T) {
	t.Parallel()
	const spare = 2
	l := newTenants(t, len(misfortunes)+spare)
	ctx := t.Context()
	ids, err := createMetal(ctx, l.Cloud, numbered("unlucky", len(misfortunes)))
	must(t, err)
	allAre(t, l.Cloud, ids, "ACTIVE", 5*time.Minute)
	nodes, err := l.Nodes(ctx)
	must(t, err)
	for i, of := range misfortunes {
		machine := slices.IndexFunc(nodes, func(n cloud.Node) bool { return n.Instance == ids[i] })
		for _, turn := range of.before {
			must(t, l.take(ctx, ids[i], turn))
		}
		of.wrong(l.BMC.Machines[machine])
		must(t, ask(ctx, l.Cloud, of.asked.kind, ids[i]))
	}
	for i, of := range misfortunes {
		op := finishedWithin(t, l.Cloud, (story{kind: of.asked.kind}).operation(t, l.Cloud, ids[i]).ID, patience)
		shown, err := l.Show(ctx, ids[i])
		must(t, err)
		says := regexp.MustCompile(of.says)
		if op.Result != operations.ResultFailed || !says.MatchString(op.Message) || shown.Status != of.asked.status ||
			shown.Status == "ERROR" && (shown.Fault == nil || !says.MatchString(shown.Fault.Message)) {
			t.Errorf("%s has ended as %q (%s), and the server is %+v", of.asked.kind, op.Result, op.Message, shown)
		}
	}
	after, err := l.Nodes(ctx)
	must(t, err)
	for _, n := range after {
		if i := slices.Index(ids, n.Instance); i >= 0 && n.State != string(misfortunes[i].node) {
			t.Errorf("after %s the node is %s, want %s", misfortunes[i].asked.kind, n.State, misfortunes[i].node)
		}
	}
	var free []int
	for i, n := range after {
		if n.Instance == "" {
			free = append(free, i)
		}
	}
	for _, i := range free {
		l.BMC.Machines[i].MisbehaveAgent(bmc.Fails)
	}
	homeless, err := createMetal(ctx, l.Cloud, []string{"homeless"})
	must(t, err)
	allAre(t, l.Cloud, homeless, "ERROR", patience)
	if shown, err := l.Show(ctx, homeless[0]); err != nil || shown.Fault == nil || !strings.Contains(shown.Fault.Message, "Exhausted all hosts available for retrying build failures for instance "+homeless[0]) {
		t.Errorf("on no node of %d, the server is %+v, %v", len(free), shown, err)
	}
	l.empty(append(ids, homeless...))
	l.uprooted()
}

// uprooted fails the test unless a server can be deleted whose node is gone without it, and
// its host then takes leave.
func (l *tenants) uprooted() {
	l.Helper()
	ctx := l.Context()
	ids, err := createMetal(ctx, l.Cloud, []string{"uprooted"})
	must(l.T, err)
	allAre(l.T, l.Cloud, ids, "ACTIVE", patience)
	home, err := l.Home(ctx, ids[0])
	must(l.T, err)
	must(l.T, l.Baremetal(ctx, http.MethodPut, "/nodes/"+home+"/maintenance", map[string]any{}, nil))
	must(l.T, l.Baremetal(ctx, http.MethodDelete, "/nodes/"+home, nil, nil))
	must(l.T, l.Delete(ctx, ids[0]))
	allAre(l.T, l.Cloud, ids, "", patience)
	l.Eventually("the host is gone with its node", patience, func(ctx context.Context) error {
		var known int
		err := l.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM compute.hosts WHERE name = $1`, home).Scan(&known)
		if err == nil && known > 0 {
			err = errors.New("it is known")
		}
		return err
	})
	l.Audit()
}

// createMetal makes a server on a node of each name.
func createMetal(ctx context.Context, c *cloud.Cloud, names []string) (ids []string, err error) {
	for _, name := range names {
		id, err := c.CreateOf(ctx, cloud.MetalFlavor, name)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", name, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// take has one operation be asked for, and waits for what it leads to.
func (l *tenants) take(ctx context.Context, id string, turn turn) error {
	switch turn.kind {
	case operations.ServerBuild:
	case operations.ServerDelete:
		remove := func() error {
			err := l.Delete(ctx, id)
			var refused *cloud.StatusError
			if errors.As(err, &refused) && refused.Code == http.StatusNotFound {
				err = nil // by a request whose answer was lost
			}
			return err
		}
		if err := surely(ctx, remove); err != nil {
			return err
		}
	default:
		if err := (story{kind: turn.kind}).askSurely(ctx, l.Cloud, id); err != nil {
			return err
		}
	}
	return l.Await(longestLife, func(ctx context.Context) error { return l.Is(ctx, id, turn.status) })
}

// housed fails the test unless each of the servers is the one of a node, which is active
// and bears its ports and no others, and all other nodes are nobody's; ports that were made
// for servers are these only.
func (l *tenants) housed(servers []string) {
	l.Helper()
	var nodes []cloud.Node
	l.Eventually("every node is somebody's or free", patience, func(ctx context.Context) (err error) {
		nodes, err = l.Nodes(ctx)
		for _, n := range nodes {
			if state := provision.State(n.State); err == nil && state != provision.Active && state != provision.Available {
				err = fmt.Errorf("node %s is %s, with %q", n.UUID, n.State, n.LastError)
			}
		}
		return err
	})
	var all struct {
		Ports []struct {
			ID     string
			Owner  string `json:"device_owner"`
			Device string `json:"device_id"`
			Host   string `json:"binding:host_id"`
		}
	}
	must(l.T, l.NetworksOfAll(l.Context(), http.MethodGet, "/ports", nil, &all))
	ports := map[string][]string{}
	for _, p := range all.Ports {
		if strings.HasPrefix(p.Owner, "compute:") {
			ports[p.Device+" on "+p.Host] = append(ports[p.Device+" on "+p.Host], p.ID)
		}
	}
	var housed []string
	for i, n := range nodes {
		vifs, err := l.VIFs(l.Context(), n.UUID)
		must(l.T, err)
		home := n.Instance + " on " + n.UUID
		if n.State == string(provision.Active) != slices.Contains(servers, n.Instance) || !slices.Equal(vifs, ports[home]) {
			l.Errorf("node %s is %s, for %q, and bears %v; the ports are %v", n.UUID, n.State, n.Instance, vifs, ports)
		}
		delete(ports, home)
		if n.Instance == "" {
			continue
		}
		housed = append(housed, n.Instance)
		told := isotest.Drive(l.T, l.BMC.Machines[i].Content().ConfigDrive, "network_data.json")["network_data.json"]
		if !strings.Contains(told, fmt.Sprintf(`"ethernet_mac_address":%q`, l.BMC.Machines[i].MAC)) {
			l.Errorf("server %s on machine %s is told of the network %s", n.Instance, l.BMC.Machines[i].MAC, told)
		}
	}
	if slices.Sort(housed); !slices.Equal(housed, slices.Sorted(slices.Values(servers))) || len(ports) > 0 {
		l.Errorf("nodes are for %v; want %v, and no ports but theirs: %v", housed, servers, ports)
	}
}
