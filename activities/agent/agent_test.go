package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/activities/activitytest"
	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a node whose ramdisk has called back, with an operation on it.
type world struct {
	*bmctest.World
	api *bmctest.API
	// glance has images, and images is where conductors serve them.
	glance *bmctest.Glance
	images string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	api := bmctest.Start(t, "******")
	return &world{api: api, World: bmctest.New(t, sim.Options{Pace: time.Millisecond}, func(w *bmctest.World, _ map[string]any) {
		w.Machine.Lag = 50 * time.Millisecond
		w.Machine.Put(sim.On)
		w.Machine.StartRamdisk(map[string]string{"ipa-api-url": api.URL, "ipa-agent-token": bmctest.Token})
		beat := api.Await(t, 0)
		known, err := json.Marshal(map[string]string{"agent_url": beat["callback_url"], "agent_verify_ca": beat["agent_verify_ca"], "agent_secret_token": "******"})
		if err != nil {
			t.Fatal(err)
		}
		w.Node.DriverInternalInfo = known
	})}
}

// activities are those of a new process.
func (w *world) activities(db *store.DB) *Activities {
	return New(db, bmctest.Engine(db), w.Box, Options{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Patience: 5 * time.Second, Poll: 5 * time.Millisecond, Glance: w.glance, URL: w.images})
}

func (w *world) clean(step string) steps.AgentCommandIn {
	return steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "clean/" + step, Phase: steps.AgentClean,
		Step: &steps.NodeStep{Interface: "deploy", Step: step, Priority: 10}}
}

// command does the step as a worker does it: until it isn't running, and again after
// what may pass.
func (w *world) command(in steps.AgentCommandIn) (out steps.AgentCommandOut, err error) {
	a := w.activities(w.DB)
	for range 10 {
		if out, err = a.Command(w.Context(), in); err == nil && out.State != steps.AgentRunning || err != nil && !faults.Is(err, faults.Unavailable) {
			return out, err
		}
	}
	return out, err
}

// What a ramdisk offers is read and kept with the node, with the versions that it
// has it from.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Machine.Can("clean", sim.Step{Step: "own", Interface: "raid", Priority: 5, RebootRequested: true})
	all, err := w.activities(w.DB).offered(t.Context(), w.Fence, steps.AgentClean)
	if err != nil || len(all) != 13 || fmt.Sprint(all[12]) != fmt.Sprint(steps.NodeStep{Interface: "raid", Step: "own", Priority: 5, RebootRequested: true}) {
		t.Fatalf("%+v, %v", all, err)
	}
	n := w.Row()
	var kept struct {
		Steps   map[string][]steps.NodeStep `json:"agent_cached_clean_steps"`
		Version map[string]string           `json:"hardware_manager_version"`
		URL     string                      `json:"agent_url"`
	}
	if err := json.Unmarshal(n.DriverInternalInfo, &kept); err != nil || len(kept.Steps["deploy"]) != 10 || len(kept.Steps["raid"]) != 3 ||
		kept.Version["generic_hardware_manager"] != "1.2" || kept.URL == "" || strings.Contains(string(n.DriverInternalInfo), bmctest.Token) {
		t.Errorf("%s, %v", n.DriverInternalInfo, err)
	}
	// One whose hardware managers have changed since does nothing.
	w.Machine.ChangeManager("1.3")
	if out, err := w.command(w.clean("erase_devices")); err != nil || out.State != steps.AgentOutdated || len(w.Machine.Did()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// Whatever a ramdisk does when it is told something, it is told it once.
func TestARamdiskThatMisbehaves(t *testing.T) {
	t.Parallel()
	for fault, c := range map[sim.Fault]struct {
		state steps.AgentState
		code  string
		did   int
	}{
		"":           {state: steps.AgentDone, did: 1},
		sim.Slow:     {state: steps.AgentDone, did: 1},
		sim.Drops:    {state: steps.AgentDone, did: 1},
		sim.Garbage:  {state: steps.AgentDone, did: 1},
		sim.Endless:  {state: steps.AgentDone, did: 1},
		sim.Busy:     {state: steps.AgentDone, did: 1},
		sim.Fails:    {code: "AgentCommandFailed", did: 1},
		sim.Dies:     {code: "AgentConnectionFailed", did: 0},
		sim.Restarts: {state: steps.AgentRestarted, code: "AgentConnectionFailed", did: 1},
	} {
		t.Run("it "+string(fault), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Machine.MisbehaveAgent(fault)
			in := w.clean("erase_devices_metadata")
			if fault == sim.Endless { // it is a failure of the answer's, not of the command's
				if _, err := w.activities(w.DB).Command(t.Context(), in); !faults.Is(err, faults.OverLimit) {
					t.Errorf("%v", err)
				}
			}
			for again := range 2 {
				out, err := w.command(in)
				if bad := err != nil && faults.As(err).Code != c.code; bad || err == nil && out.State != c.state {
					t.Errorf("time %d: %+v, %v", again, out, err)
				}
			}
			if did := w.Machine.Did(); len(did) != c.did {
				t.Errorf("it did %v", did)
			}
		})
	}
}

// What a ramdisk refuses, or says that failed, is what the user reads.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct{ command, params, code, text string }{
		"an unknown command":   {"clean.dance", `{}`, "AgentAPIError", "HTTP status code 400 with error: Invalid command: Unknown command: dance"},
		"an unknown extension": {"dance.dance", `{}`, "AgentAPIError", "HTTP status code 404 with error: Not found: Extension with id dance not found."},
		"a wrong parameter":    {"standby.prepare_image", `{"image_info": {}}`, "AgentAPIError", "Image is missing 'id' field."},
	} {
		in := steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: name, Command: c.command, Params: json.RawMessage(c.params)}
		if _, err := w.command(in); err == nil || faults.As(err).Code != c.code || !strings.Contains(faults.As(err).Message, c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.command(w.clean("dance")); err == nil || faults.As(err).Message != "Could not find method: dance" {
		t.Errorf("%v", err)
	}
	out, err := w.command(steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "uuids", Command: "standby.get_partition_uuids"})
	if err != nil || string(out.Result) != `{}` {
		t.Errorf("%s, %v", out.Result, err)
	}
}

// Only the ramdisk that has called back is believed, and the token is in no word.
func TestWhoIsBelieved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		do     func(*world)
		kind   faults.Kind
		code   string
	}{
		"nobody has called back":    {change: `driver_internal_info - 'agent_url'`, kind: faults.Conflict, code: "AgentNotHeard"},
		"another token":             {change: `driver_internal_info || '{"agent_secret_token": "x"}'`, kind: faults.Invalid, code: "AgentAPIError"},
		"an address of this host":   {change: `driver_internal_info || '{"agent_url": "https://169.254.169.254"}'`, kind: faults.Forbidden, code: "AddressRefused"},
		"no TLS":                    {change: `driver_internal_info || '{"agent_url": "http://127.0.0.1:1"}'`, kind: faults.Forbidden, code: "AddressRefused"},
		"nobody there":              {change: `driver_internal_info || '{"agent_url": "https://127.0.0.1:1"}'`, kind: faults.Unavailable, code: "AgentConnectionFailed"},
		"a certificate of nobody":   {change: `driver_internal_info - 'agent_verify_ca'`, kind: faults.Invalid, code: "AgentConnectionFailed"},
		"a certificate that is new": {do: func(w *world) { _ = w.Machine.ChangeAgentCertificate() }, kind: faults.Invalid, code: "AgentConnectionFailed"},
		"an operation that is lost": {do: func(w *world) { w.Fence.Generation-- }, kind: faults.Superseded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.change != "" {
				secret := "secrets"
				if strings.Contains(c.change, "token") {
					secret = "NULL"
				}
				if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET driver_internal_info = `+c.change+`, secrets = `+secret); err != nil {
					t.Fatal(err)
				}
			}
			if c.do != nil {
				c.do(w)
			}
			_, err := w.activities(w.DB).Command(t.Context(), w.clean("erase_devices"))
			if !faults.Is(err, c.kind) || c.code != "" && faults.As(err).Code != c.code || strings.Contains(err.Error(), bmctest.Token) {
				t.Errorf("%v", err)
			}
			if did := w.Machine.Did(); len(did) > 0 {
				t.Errorf("it did %v", did)
			}
		})
	}
}

// A step that is told to end while a command runs leaves the command, which is found
// by the next.
func TestTheEndOfAStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Machine.Lag = 300 * time.Millisecond
	w.Machine.MisbehaveAgent(sim.Slow)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := w.activities(w.DB).Command(ctx, w.clean("erase_devices")); err == nil {
		t.Error("it did not end")
	}
	if out, err := w.command(w.clean("erase_devices")); err != nil || out.State != steps.AgentDone || !slices.Equal(w.Machine.Did(), []string{"erase_devices"}) {
		t.Errorf("%+v, %v, %v", out, err, w.Machine.Did())
	}
}

// A ramdisk that rescues is given the password that is kept for its node, once, and
// listens to nobody afterwards, and where it was may be forgotten; without one it is told
// nothing.
func TestRescue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "rescue", Command: steps.FinalizeRescue}
	if _, err := w.command(in); !faults.Is(err, faults.Invalid) || len(w.Machine.Passwords()) != 0 {
		t.Errorf("%v, %v", err, w.Machine.Passwords())
	}
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		return baremetal.KeepRescue(t.Context(), tx, w.Node.UUID, w.Box.Seal([]byte("$5$a$b"), nodes.RescuePlace(w.Node)))
	})
	for range 3 {
		if out, err := w.command(in); err != nil || out.State != steps.AgentDone {
			t.Errorf("%+v, %v", out, err)
		}
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET driver_internal_info = driver_internal_info - 'agent_url'`); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Machine.Passwords(); !slices.Equal(got, []string{"$5$a$b"}) {
		t.Errorf("%v", got)
	}
}

// A ramdisk that may have been told, and is not heard of any more, rescues: the answer of
// one that listens to nobody can't be had again.
func TestRescueWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.activities(w.DB)
	in := steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "rescue", Command: steps.FinalizeRescue}
	w.Machine.Put(sim.Off)
	ask := func(what string, rescues bool) {
		t.Helper()
		out, err := a.Command(t.Context(), in)
		if done := err == nil && out.State == steps.AgentDone; done != rescues || !done && !faults.Is(err, faults.Unavailable) {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
	}
	heard := func(after string) {
		t.Helper()
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET driver_internal_info = driver_internal_info || jsonb_build_object('agent_last_heartbeat',
			to_char((SELECT sent_at + $1::interval FROM baremetal.acts) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'))`, after); err != nil {
			t.Fatal(err)
		}
	}
	ask("one that was told nothing", false)
	computetest.InTx(t, w.DB, func(tx store.Tx) error { return baremetal.NoteAct(t.Context(), tx, in.Of, in.Name, "a-boot 0") })
	heard("-1 minute")
	ask("one that was told now", false)
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.acts SET sent_at = sent_at - interval '6 minutes'`); err != nil {
		t.Fatal(err)
	}
	heard("2 minutes")
	ask("one that was heard of lately", false)
	heard("10 seconds")
	ask("one that was heard of while it was at work, and is silent", true)
	heard("-1 minute")
	ask("one that is silent", true)
}

// Acts: each step is done twice, and killed before each of its round trips to the
// database and done again. However often, the ramdisk is told once.
func TestActs(t *testing.T) {
	t.Parallel()
	activitytest.Covers(t, "agent", "agent.Command", "agent.CleanPlan", "agent.Settle")
	for name, do := range map[string]func(*world, *Activities) error{
		"agent.CleanPlan": func(w *world, a *Activities) error {
			w.wants(`[]`)
			out, err := a.CleanPlan(w.Context(), steps.CleanPlanIn{Fence: w.Fence})
			if err == nil && len(out.Steps) == 0 {
				err = errors.New("there are no steps")
			}
			return err
		},
		"agent.Command": func(w *world, a *Activities) error {
			out, err := a.Command(w.Context(), w.clean("erase_devices"))
			if err == nil && out.State != steps.AgentDone {
				w.Errorf("%+v", out)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Kill(func(db *store.DB) error { return do(w, w.activities(db)) })
			if err := do(w, w.activities(w.DB)); err != nil {
				t.Error(err)
			}
			if did := w.Machine.Did(); name == "agent.Command" && !slices.Equal(did, []string{"erase_devices"}) {
				t.Errorf("it did %v", did)
			}
		})
	}
}
