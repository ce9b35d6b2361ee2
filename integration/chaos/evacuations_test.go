package chaos

// Hosts that nobody has declared down fall silent, and come back when their servers
// have been evacuated.

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// evacuee is a server whose host is silent, and what is done about it.
type evacuee struct {
	name string
	// busy is the point at which something is being done to it when its host falls
	// silent, empty for none, and doing is what.
	busy  string
	doing operations.Kind
	// evacuated says that its evacuation is asked for, stands the point at which that
	// is when the host is back, empty once it is over.
	evacuated bool
	stands    string
	// cancelled says that it is cancelled there before.
	cancelled bool
	// result is how it ends.
	result operations.Result

	id, volume string
	was        cloud.Guest
}

// evacuees are in every state that a host may find them in when it is back.
func evacuees() []*evacuee {
	return []*evacuee{
		{name: "left alone"},
		{name: "evacuated", evacuated: true, result: operations.ResultDone},
		{name: "evacuated from under a stop", busy: "power.stop", doing: operations.ServerStop, evacuated: true, result: operations.ResultDone},
		{name: "evacuated from under a rebuild", busy: "rebuild.disk", doing: operations.ServerRebuild, evacuated: true, result: operations.ResultDone},
		{name: "with an evacuation that was cancelled", evacuated: true, stands: "build.image", cancelled: true, result: operations.ResultCancelled},
		{name: "with an evacuation that makes no guest yet", evacuated: true, stands: "evacuate:neutron.Allocate.done", result: operations.ResultFailed},
		{name: "with an evacuation that makes its guest", evacuated: true, stands: "build.disk", result: operations.ResultDone},
	}
}

// A host is silent: its worker is dead, or can't be heard and goes on later where it
// was. Nobody has declared it down, and its guests run. Of its servers it takes away,
// when it is back, those that evacuations have left to it as debts, in its first
// reconciliation; what else it has, it has as before, a guest that nobody knows too.
func TestSilentHostComesBack(t *testing.T) {
	t.Parallel()
	for name, silence := range map[string]struct{ begin, end func(*cloud.Cloud) }{
		"dead":    {func(c *cloud.Cloud) { c.Kill(cloud.OtherHosts) }, func(c *cloud.Cloud) { c.Restart(cloud.OtherHosts) }},
		"cut off": {func(c *cloud.Cloud) { c.Freeze(cloud.OtherHosts) }, func(c *cloud.Cloud) { c.Thaw(cloud.OtherHosts) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cloud.Start(t, cloud.Options{Hosts: 3, Others: 2, Services: true})
			host, all := c.HostNames(cloud.OtherHosts)[0], evacuees()
			settle(t, c, host, all)
			stranger := uuid.NewString()
			must(t, os.CopyFS(c.GuestDir(host, stranger), os.DirFS(c.GuestDir(host, all[0].id))))

			silence.begin(c)
			c.AwaitDown(cloud.OtherHosts)
			for _, e := range all {
				e.flee(t, c)
			}
			silence.end(c)
			c.AwaitHosts()
			for _, e := range all {
				must(t, c.Points.Release(e.id))
				if e.evacuated {
					e.ended(t, c)
				}
			}
			c.Eventually("the host has paid", patience, func(ctx context.Context) error {
				report, err := c.Report(ctx)
				if err == nil && report.Owed > 0 {
					err = fmt.Errorf("it owes %d", report.Owed)
				}
				return err
			})
			for _, e := range all {
				e.check(t, c, host)
			}
			if _, err := os.Stat(c.GuestDir(host, stranger)); err != nil {
				t.Errorf("the guest that nobody knows: %v", err)
			}
			must(t, os.RemoveAll(c.GuestDir(host, stranger)))
			c.Audit()
		})
	}
}

// settle makes the servers on the host, each with an interface and a volume, and those
// busy that are to be.
func settle(t *testing.T, c *cloud.Cloud, host string, all []*evacuee) {
	t.Helper()
	networks := []map[string]string{{"uuid": connect(t, c)}}
	var ids []string
	for _, e := range all {
		e.id = createOn(t, c, host, e.name, networks)
		ids = append(ids, e.id)
	}
	allAre(t, c, ids, "ACTIVE", patience)
	for _, e := range all {
		must(t, attachVolume(t.Context(), c, e.id))
		volumes, err := volumesOf(t.Context(), c, e.id)
		if err != nil || len(volumes) != 1 {
			t.Fatalf("server %s has volumes %v, %v", e.name, volumes, err)
		}
		e.volume = volumes[0]
		must(t, awaitVolume(c, e.volume, "in-use"))
		e.was, err = c.Guest(e.id)
		must(t, err)
		if e.busy != "" {
			must(t, c.Points.Order(e.id, e.busy))
			must(t, ask(t.Context(), c, e.doing, e.id))
			c.Eventually(e.name+" is being worked on", patience, here(c, e.id, e.busy))
		}
	}
}

// flee evacuates it from the silent host, as far as it is to come.
func (e *evacuee) flee(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	if !e.evacuated {
		return
	}
	if e.stands != "" {
		must(t, c.Points.Order(e.id, e.stands))
	}
	must(t, ask(t.Context(), c, operations.ServerEvacuate, e.id))
	if e.stands == "" {
		e.ended(t, c)
		return
	}
	c.Eventually("the evacuation of one "+e.name+" has come there", patience, here(c, e.id, e.stands))
	if e.cancelled {
		c.CLI("operations", "cancel", e.evacuation(t, c))
		must(t, c.Points.Release(e.id))
		e.ended(t, c)
	}
}

func (e *evacuee) evacuation(t *testing.T, c *cloud.Cloud) (id string) {
	t.Helper()
	return story{kind: operations.ServerEvacuate}.operation(t, c, e.id).ID
}

// ended waits for its evacuation to end as it must.
func (e *evacuee) ended(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	if op := finishedWithin(t, c, e.evacuation(t, c), patience); op.Result != e.result {
		t.Errorf("the evacuation of one %s has ended as %q (%s), want %q", e.name, op.Result, op.Message, e.result)
	}
}

// check looks for its guest, its port and its volume on the one host that it is on: one
// that was not evacuated has the guest that it had.
func (e *evacuee) check(t *testing.T, c *cloud.Cloud, host string) {
	t.Helper()
	home, err := c.Home(t.Context(), e.id)
	must(t, err)
	if moved := e.result == operations.ResultDone; moved == (home == host) {
		t.Errorf("server %s is on %s, was on %s", e.name, home, host)
	}
	if on := c.GuestOn(e.id); !slices.Equal(on, []string{home}) {
		t.Errorf("server %s is on %s, its guests on %v", e.name, home, on)
	}
	if is, err := c.Guest(e.id); err != nil || home == host && !slices.Equal(is.Console, e.was.Console) {
		t.Errorf("the guest of %s was through %q, and is now through %q, %v", e.name, e.was.Console, is.Console, err)
	}
	must(t, c.Is(t.Context(), e.id, "ACTIVE"))
	must(t, trueState(t.Context(), c, e.id, false))
	var ports struct {
		Ports []struct {
			Host string `json:"binding:host_id"`
		}
	}
	must(t, c.NetworksOfAll(t.Context(), http.MethodGet, "/ports?device_id="+e.id, nil, &ports))
	if len(ports.Ports) != 1 || ports.Ports[0].Host != home {
		t.Errorf("server %s is on %s, its ports are %+v", e.name, home, ports.Ports)
	}
	var shown struct {
		Volume struct {
			Attachments []struct {
				Host string `json:"host_name"`
			}
		}
	}
	must(t, c.VolumesOfAll(t.Context(), http.MethodGet, "/volumes/"+e.volume, nil, &shown))
	if a := shown.Volume.Attachments; len(a) != 1 || a[0].Host != home {
		t.Errorf("server %s is on %s, its volume's attachments are %+v", e.name, home, a)
	}
}
