package bmc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"holdfast.dev/activities/activitytest"
	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a node over a simulated BMC, with an operation on it.
type world struct{ *bmctest.World }

// newWorld has a node whose driver_info is changed by change before it is entered.
func newWorld(t *testing.T, driver string, change func(info map[string]any)) *world {
	t.Helper()
	return &world{bmctest.New(t, sim.Options{Delay: 30 * time.Millisecond}, func(w *bmctest.World, info map[string]any) {
		w.Node.Driver = driver
		if change != nil {
			change(info)
		}
	})}
}

// activities are those of a new process.
func (w *world) activities(db *store.DB) *Activities {
	return New(db, bmctest.Engine(db), w.Box, Options{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Patience: 2 * time.Second, Poll: 10 * time.Millisecond, Settle: 100 * time.Millisecond, Retry: 200 * time.Millisecond})
}

func (w *world) in(target provision.Power) steps.NodePowerIn {
	return steps.NodePowerIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "power", Target: string(target), Timeout: time.Minute}
}

// power does the step as a worker does it: until it isn't pending, and again after
// what may pass.
func (w *world) power(target provision.Power) (out steps.NodePowerOut, err error) {
	a := w.activities(w.DB)
	for range 10 {
		if out, err = a.Power(w.Context(), w.in(target)); err == nil && !out.Pending || err != nil && !faults.Is(err, faults.Unavailable) {
			return out, err
		}
	}
	return out, err
}

// What each word has a machine do, from each power.
func TestPower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   sim.Power
		target provision.Power
		asked  []string
		turns  []sim.Power
	}{
		{sim.Off, provision.PowerOn, []string{"On"}, []sim.Power{sim.On}},
		{sim.On, provision.PowerOn, nil, nil},
		{sim.On, provision.PowerOff, []string{"ForceOff"}, []sim.Power{sim.Off}},
		{sim.Off, provision.PowerOff, nil, nil},
		{sim.On, provision.PowerSoftOff, []string{"GracefulShutdown"}, []sim.Power{sim.Off}},
		{sim.On, provision.PowerReboot, []string{"ForceOff", "On"}, []sim.Power{sim.Off, sim.On}},
		{sim.Off, provision.PowerReboot, []string{"On"}, []sim.Power{sim.On}},
		{sim.On, provision.PowerSoft, []string{"GracefulRestart"}, []sim.Power{sim.Off, sim.On}},
		{sim.Off, provision.PowerSoft, []string{"On"}, []sim.Power{sim.On}},
	} {
		t.Run(fmt.Sprintf("%s from %s", c.target, c.from), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			w.Machine.Put(c.from)
			for again := range 2 {
				out, err := w.power(c.target)
				if err != nil || out.PowerState != string(c.target.Target()) {
					t.Errorf("time %d: %+v, %v", again, out, err)
				}
			}
			if !slices.Equal(w.Machine.Asked(), c.asked) || !slices.Equal(w.Machine.Turns(), c.turns) {
				t.Errorf("asked %v, turned %v", w.Machine.Asked(), w.Machine.Turns())
			}
			if n := w.Service.Sessions(); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// The first half of a reboot has a machine be off until the second one; who comes to it
// afterwards turns it off no more. A machine that is never turned off runs on.
func TestHalfAReboot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Machine.Put(sim.On)
	a := w.activities(w.DB)
	for i, c := range []struct {
		half bool
		want provision.Power
	}{{true, provision.PowerOff}, {true, provision.PowerOff}, {false, provision.PowerOn}, {true, provision.PowerOn}, {false, provision.PowerOn}} {
		in := w.in(provision.PowerReboot)
		in.Down = c.half
		if out, err := a.Power(t.Context(), in); err != nil || out.Pending || out.PowerState != string(c.want) {
			t.Errorf("%d: %+v, %v", i, out, err)
		}
	}
	if turns := w.Machine.Turns(); !slices.Equal(turns, []sim.Power{sim.Off, sim.On}) {
		t.Errorf("turned %v", turns)
	}
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET disable_power_off = true`); err != nil {
		t.Fatal(err)
	}
	in := w.in(provision.PowerReboot)
	in.Name, in.Down = "another", true
	if out, err := a.Power(t.Context(), in); err != nil || out.PowerState != string(provision.PowerOn) {
		t.Errorf("%+v, %v", out, err)
	}
}

// A service without sessions is entered with each request.
func TestWithoutSessions(t *testing.T) {
	t.Parallel()
	w := &world{bmctest.New(t, sim.Options{Sessionless: true}, func(*bmctest.World, map[string]any) {})}
	if out, err := w.power(provision.PowerOn); err != nil || out.PowerState != string(provision.PowerOn) || w.Machine.Power() != sim.On {
		t.Errorf("%+v, %v", out, err)
	}
}

// Whatever a BMC does when it is asked, and whatever is lost, a reboot turns its machine off
// once and on once, or fails and says why.
func TestABMCThatMisbehaves(t *testing.T) {
	t.Parallel()
	for by, make := range map[string]func(*testing.T) *world{
		"redfish": func(t *testing.T) *world { return newWorld(t, "redfish", nil) },
		"ipmi": func(t *testing.T) *world {
			w, _ := byIPMI(t, ipmitest.Options{}, nil)
			return w
		},
	} {
		for _, f := range []sim.Fault{sim.Slow, sim.Unavailable, sim.Refuses, sim.Drops, sim.Garbage} {
			for at := range 2 {
				t.Run(fmt.Sprintf("%s %s at reset %d", by, f, at+1), func(t *testing.T) {
					t.Parallel()
					misbehaves(make(t), f, at)
				})
			}
		}
	}
}

// misbehaves has a node be rebooted whose BMC meets a fault at one of its resets.
func misbehaves(w *world, f sim.Fault, at int) {
	w.Machine.Put(sim.On)
	w.Machine.Lag = 50 * time.Millisecond
	if at == 1 {
		w.Machine.Misbehave("")
	}
	w.Machine.Misbehave(f)
	out, err := w.power(provision.PowerReboot)
	turns := w.Machine.Turns()
	switch {
	case f == sim.Refuses:
		if !faults.Is(err, faults.Invalid) || len(turns) != at {
			w.Errorf("%+v, %v, %v", out, err, turns)
		}
	case err != nil || out.PowerState != string(provision.PowerOn) || !slices.Equal(turns, []sim.Power{sim.Off, sim.On}):
		w.Errorf("%+v, %v, %v", out, err, turns)
	}
}

// A machine that never gets there is given up, with the original's words.
func TestAMachineThatDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Machine.Misbehave(sim.Idle)
	in := w.in(provision.PowerOn)
	in.Timeout = time.Second
	a := w.activities(w.DB)
	a.Patience = time.Minute
	_, err := a.Power(t.Context(), in)
	if f := faults.As(err); f.Code != "PowerStateFailure" || f.Message != "Failed to set node power state to power on." {
		t.Errorf("%v", err)
	}
}

// Conductors that were killed before they have sent what they noted take none of the
// time that the machine has: it begins when the BMC has accepted it.
func TestWhatNobodyHasSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		return baremetal.NoteAct(t.Context(), tx, w.Fence.OperationID, "power/On", "")
	})
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.acts SET sent_at = sent_at - interval '2 minutes'`); err != nil {
		t.Fatal(err)
	}
	if out, err := w.power(provision.PowerOn); err != nil || out.PowerState != string(provision.PowerOn) || !slices.Equal(w.Machine.Asked(), []string{"On"}) {
		t.Errorf("%+v, %v, it was asked for %v", out, err, w.Machine.Asked())
	}
	acts, err := baremetal.Acts(t.Context(), w.DB.Pool, w.Fence.OperationID)
	if act := acts["power/On"]; err != nil || !act.Answered || act.Age > time.Minute {
		t.Errorf("%+v, %v", act, err)
	}
}

// A step that is told to end while it waits for its machine leaves no session, and
// the BMC isn't blamed.
func TestTheEndOfAStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Machine.Misbehave(sim.Idle)
	a := w.activities(w.DB)
	a.Patience = time.Minute
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 1)
	go func() {
		_, err := a.Power(ctx, w.in(provision.PowerOn))
		ended <- err
	}()
	for len(w.Machine.Asked()) == 0 && t.Context().Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if n := w.Service.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if s := a.limits.find(w.Service.URL()); s.failed != 0 {
		t.Errorf("the BMC has failed %d times", s.failed)
	}
}

// What can't be reached or entered is said, and the password is in no word of it.
func TestWhatCanNotBeEntered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(map[string]any)
		kind   faults.Kind
	}{
		"a wrong password":        {func(m map[string]any) { m["redfish_username"] = "other" }, faults.Invalid},
		"no authority":            {func(m map[string]any) { delete(m, "redfish_verify_ca") }, faults.Invalid},
		"a file that isn't there": {func(m map[string]any) { m["redfish_verify_ca"] = "/nowhere" }, faults.Invalid},
		"nobody listens":          {func(m map[string]any) { m["redfish_address"] = "https://127.0.0.1:1" }, faults.Unavailable},
		"no such system":          {func(m map[string]any) { m["redfish_system_id"] = "/redfish/v1/Systems/9" }, faults.Invalid},
		"one of several":          {func(m map[string]any) { delete(m, "redfish_system_id") }, faults.Invalid},
		"an address not allowed":  {func(m map[string]any) { m["redfish_address"] = "https://192.0.2.1" }, faults.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", c.change)
			_, err := w.activities(w.DB).Power(t.Context(), w.in(provision.PowerOn))
			if !faults.Is(err, c.kind) {
				t.Errorf("%v", err)
			}
			if turns := w.Machine.Turns(); len(turns) > 0 {
				t.Errorf("%v", turns)
			}
		})
	}
}

func TestACertificateThatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	if err := w.Service.ChangeCertificate(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.activities(w.DB).Power(t.Context(), w.in(provision.PowerOn)); !faults.Is(err, faults.Invalid) || len(w.Machine.Asked()) > 0 {
		t.Errorf("%v", err)
	}
}

// One whose operation has lost its node sends nothing.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Fence.Generation--
	if _, err := w.power(provision.PowerOn); !faults.Is(err, faults.Superseded) || len(w.Machine.Asked()) > 0 {
		t.Errorf("%v, %v", err, w.Machine.Asked())
	}
}

// Acts: each step is done twice, and killed before each of its round trips to the
// database and done again. However often, a machine is turned once.
func TestActs(t *testing.T) {
	t.Parallel()
	activitytest.Covers(t, "bmc", "bmc.Power", "bmc.Verify", "bmc.CleanStep", "bmc.Inspect", "bmc.Expect", "bmc.Command", "bmc.SyncPower")
	for _, driver := range []string{"redfish", "fake"} {
		for _, target := range []provision.Power{provision.PowerOn, provision.PowerReboot} {
			t.Run(driver+" "+string(target), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, driver, nil)
				w.Machine.Put(sim.On)
				if target == provision.PowerOn {
					w.Machine.Put(sim.Off)
				}
				w.Kill(func(db *store.DB) error {
					_, err := w.activities(db).Power(t.Context(), w.in(target))
					return err
				})
				want := map[provision.Power][]sim.Power{provision.PowerOn: {sim.On}, provision.PowerReboot: {sim.Off, sim.On}}[target]
				if got := w.Machine.Turns(); driver == "redfish" && !slices.Equal(got, want) {
					t.Errorf("the machine turned %v", got)
				}
			})
		}
	}
}

// A look changes nothing, and says what its BMC does.
func TestVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Machine.Put(sim.On)
	var out steps.NodeVerifyOut
	w.Kill(func(db *store.DB) (err error) {
		out, err = w.activities(db).Verify(t.Context(), steps.NodeIn{Fence: w.Fence})
		return err
	})
	if out.PowerState != string(provision.PowerOn) || out.BootMode != provision.UEFI || out.SecureBoot == nil || *out.SecureBoot {
		t.Errorf("%+v", out)
	}
	if asked := w.Machine.Asked(); len(asked) > 0 || w.Service.Sessions() > 0 {
		t.Errorf("it was asked for %v; %d sessions are left", asked, w.Service.Sessions())
	}
	w.Fence.Generation--
	if _, err := w.activities(w.DB).Verify(t.Context(), steps.NodeIn{Fence: w.Fence}); !faults.Is(err, faults.Superseded) {
		t.Errorf("%v", err)
	}
}

// A step of an interface that does nothing is done, however often; one that the node
// doesn't have is not.
func TestCleanStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fake", nil)
	for column, value := range map[string]string{"vendor_interface": "fake",
		"driver_internal_info": `{"clean_steps": [{"interface": "vendor", "step": "log_passthrough"}, {"interface": "raid", "step": "fly"}]}`} {
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET `+column+` = $2 WHERE uuid = $1`, w.Node.UUID, value); err != nil {
			t.Fatal(err)
		}
	}
	w.Kill(func(db *store.DB) error {
		_, err := w.activities(db).CleanStep(t.Context(), steps.CleanStepIn{Fence: w.Fence})
		return err
	})
	if _, err := w.activities(w.DB).CleanStep(t.Context(), steps.CleanStepIn{Fence: w.Fence, Phase: steps.AgentService}); !faults.Is(err, faults.Invalid) {
		t.Errorf("a step of cleaning is one of service: %v", err)
	}
	for _, index := range []int{-1, 1, 2} {
		if _, err := w.activities(w.DB).CleanStep(t.Context(), steps.CleanStepIn{Fence: w.Fence, Index: index}); !faults.Is(err, faults.Invalid) {
			t.Errorf("%d: %v", index, err)
		}
	}
	w.Fence.Generation--
	if _, err := w.activities(w.DB).CleanStep(t.Context(), steps.CleanStepIn{Fence: w.Fence}); !faults.Is(err, faults.Superseded) {
		t.Errorf("%v", err)
	}
}
