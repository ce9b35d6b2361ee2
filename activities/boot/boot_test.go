package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/bmc"
	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var here = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// world is a node over a simulated BMC, with an operation on it, and a conductor
// that serves boot images.
type world struct {
	*testing.T
	db       *store.DB
	engine   *engine.Engine
	box      *secrets.Box
	machine  *sim.Machine
	api      *bmctest.API
	dir, url string
	fence    steps.Fence
}

func newWorld(t *testing.T, change func(info map[string]any)) *world {
	t.Helper()
	service, err := sim.Start(sim.Options{Machines: 1, Dir: t.TempDir(), User: "admin", Password: "s3cret", Pace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: computetest.Open(t), box: box, machine: service.Machines[0], api: bmctest.Start(t, "******"), dir: t.TempDir()}
	w.engine = engine.New(w.db, baremetal.Locks())
	files := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/nowhere" {
			http.NotFound(out, r)
			return
		}
		_, _ = io.WriteString(out, strings.Repeat(r.URL.Path, 1000))
	}))
	t.Cleanup(files.Close)
	info := map[string]any{"redfish_address": service.URL(), "redfish_system_id": "/redfish/v1/Systems/1", "redfish_username": "admin", "redfish_password": "******",
		"redfish_verify_ca": service.CAFile, "deploy_kernel": files.URL + "/kernel", "deploy_ramdisk": files.URL + "/ramdisk", "bootloader": files.URL + "/esp"}
	if change != nil {
		change(info)
	}
	for name, value := range info {
		if text, ok := value.(string); ok && strings.HasPrefix(text, "/files") {
			info[name] = files.URL + strings.TrimPrefix(text, "/files")
		}
	}
	text, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	driver, media := "redfish", nodes.BootVirtualMedia
	n := &baremetal.Node{UUID: bmctest.Node, Driver: driver, PowerInterface: &driver, BootInterface: &media, ProvisionState: provision.Cleaning, DriverInfo: text,
		DriverInternalInfo: json.RawMessage(`{"agent_url": "https://192.0.2.1:9999", "agent_secret_token": "******", "is_whole_disk_image": true}`)}
	for _, empty := range []*json.RawMessage{&n.InstanceInfo, &n.Properties, &n.Extra, &n.NetworkData, &n.RAIDConfig, &n.TargetRAIDConfig, &n.CleanStep, &n.DeployStep, &n.ServiceStep} {
		*empty = json.RawMessage(`{}`)
	}
	n.Secrets = box.Seal([]byte(`{"driver_info": {"/redfish_password": "s3cret"}, "driver_internal_info": {"/agent_secret_token": "old"}}`), nodes.Place(n))
	computetest.InTx(t, w.db, func(tx store.Tx) error { return baremetal.Nodes.Create(t.Context(), tx, n) })
	w.begin()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.activities(w.db).Serve(ctx, listener, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) begin() {
	w.Helper()
	computetest.InTx(w.T, w.db, func(tx store.Tx) error {
		accepted, err := w.engine.Accept(w.Context(), tx, engine.Request{Kind: operations.NodePower, ResourceID: bmctest.Node})
		w.fence = steps.Fence{OperationID: accepted.OperationID, RunID: "run"}
		return err
	})
	computetest.InTx(w.T, w.db, func(tx store.Tx) error {
		begun, err := w.engine.Begin(w.Context(), tx, steps.BeginIn{OperationID: w.fence.OperationID, RunID: "run"})
		w.fence.Generation = begun.Generation
		return err
	})
}

// activities are those of a new process.
func (w *world) activities(db *store.DB) *Activities {
	e := engine.New(db, baremetal.Locks())
	drives := bmc.New(db, e, w.box, bmc.Options{Networks: here, Poll: 10 * time.Millisecond})
	return New(db, e, w.box, drives, Options{Conductor: "conductor-1", Dir: w.dir, URL: w.url, API: w.api.URL, Networks: here, Usual: nodes.BootDefaults{Append: "nofb vga=normal"}})
}

func (w *world) ramdisk(a *Activities) error {
	_, err := a.Ramdisk(w.Context(), steps.BootRamdiskIn{Fence: w.fence})
	return err
}

func (w *world) clear(a *Activities) error {
	_, err := a.Clear(w.Context(), steps.BootClearIn{Fence: w.fence, PowerState: string(provision.PowerOff)})
	return err
}

// status is what the conductor answers to who reads a medium.
func (w *world) status(at string) int {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, at, nil)
	if err != nil {
		w.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	_ = resp.Body.Close() // only the status is asked for
	return resp.StatusCode
}

// untouched: nothing is in the drive, nothing is served or known, no session is open.
func (w *world) untouched() {
	w.Helper()
	left, err := os.ReadDir(w.dir)
	if err != nil || len(left) > 0 || w.machine.Medium() != "" || w.machine.Boot().Enabled != "Disabled" {
		w.Errorf("left: %v, medium %q, it starts from %+v, %v", left, w.machine.Medium(), w.machine.Boot(), err)
	}
	file, err := baremetal.BootFileOf(w.Context(), w.db.Pool, bmctest.Node)
	if err != nil || file != nil {
		w.Errorf("%+v, %v", file, err)
	}
}

// A node is booted from its medium: its ramdisk knows the token that the row has,
// and nothing is left afterwards, nor known of any ramdisk.
func TestARamdisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(info map[string]any) { info["kernel_append_params"] = "%default% console=ttyS0" })
	for range 2 {
		if err := w.ramdisk(w.activities(w.db)); err != nil {
			t.Fatal(err)
		}
	}
	medium := w.machine.Medium()
	if boot := w.machine.Boot(); boot.Target != "Cd" || boot.Enabled != "Once" || w.status(medium) != http.StatusOK || w.status(w.url+"/") != http.StatusNotFound ||
		w.status(w.url+"/other.iso") != http.StatusNotFound || w.status(w.url+"/..%2fkeys.iso") != http.StatusNotFound {
		t.Errorf("%+v, %q", boot, medium)
	}
	n, err := baremetal.Nodes.Find(t.Context(), w.db.Pool, bmctest.Node, false)
	if err != nil || string(n.DriverInternalInfo) != `{"agent_secret_token": "******", "is_whole_disk_image": true}` {
		t.Fatalf("%s, %v", n.DriverInternalInfo, err)
	}
	token, err := nodes.Token(w.box, n)
	if err != nil || len(token) != 43 {
		t.Errorf("%q, %v", token, err)
	}
	w.machine.Put(sim.On)
	if beat := w.api.Await(t, 0); beat["agent_token"] != token {
		t.Errorf("%v", beat)
	}
	if told := w.machine.Agent().Told(); told["console"] != "ttyS0" || told["vga"] != "normal" || told["boot_method"] != "vmedia" || told["ipa-api-url"] != w.api.URL {
		t.Errorf("%v", told)
	}
	for range 2 {
		if err := w.clear(w.activities(w.db)); err != nil {
			t.Fatal(err)
		}
	}
	w.untouched()
	if n, err = baremetal.Nodes.Find(t.Context(), w.db.Pool, bmctest.Node, false); err != nil || string(n.DriverInternalInfo) != `{"is_whole_disk_image": true}` || n.PowerState == nil || *n.PowerState != "power off" {
		t.Errorf("%+v, %v", n, err)
	}
	if w.status(medium) != http.StatusNotFound {
		t.Error("it is still served")
	}
}

// After a deployment the machine starts from its disk from then on.
func TestTheDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.activities(w.db)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Clear(t.Context(), steps.BootClearIn{Fence: w.fence, Disk: true}); err != nil {
		t.Fatal(err)
	}
	if boot := w.machine.Boot(); boot.Target != "Hdd" || boot.Enabled != "Continuous" || w.machine.Medium() != "" {
		t.Errorf("%+v", boot)
	}
}

// What a row doesn't say, or says wrongly, is refused with a reason, and nothing is
// left in the machine.
func TestWhatCanNotBeBooted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(map[string]any)
		kind   faults.Kind
		text   string
	}{
		"no kernel": {func(m map[string]any) { delete(m, "deploy_kernel") }, faults.Invalid,
			"Error validating deploy for redfish virtual media. Some parameters were missing in node's driver_info. Missing are: ['deploy_kernel']"},
		"words that end a line":  {func(m map[string]any) { m["kernel_append_params"] = "a;b" }, faults.Invalid, "kernel_append_params"},
		"a kernel that is gone":  {func(m map[string]any) { m["deploy_kernel"] = "/files/nowhere" }, faults.Invalid, "Got HTTP code 404 instead of 200"},
		"a file of this machine": {func(m map[string]any) { m["deploy_kernel"] = "file:///etc/passwd" }, faults.Invalid, "Validation of image href file:///etc/passwd failed"},
		"an address not allowed": {func(m map[string]any) { m["deploy_kernel"] = "http://169.254.169.254/" }, faults.Forbidden, "not allowed"},
		"nobody there":           {func(m map[string]any) { m["deploy_kernel"] = "http://127.0.0.1:1/" }, faults.Unavailable, "Failed to download image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.change)
			a := w.activities(w.db)
			err := w.ramdisk(a)
			if !faults.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v", err)
			}
			if err := w.clear(a); err != nil {
				t.Error(err)
			}
			w.untouched()
		})
	}
}

// Whatever a BMC does when its drive is changed, the medium is in it in the end, and
// out of it.
func TestABMCThatMisbehaves(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{sim.Slow, sim.Unavailable, sim.Drops} {
		for at := range 2 {
			t.Run(fmt.Sprintf("%s at change %d", f, at+1), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, nil)
				a := w.activities(w.db)
				for _, do := range []func(*Activities) error{w.ramdisk, w.clear} {
					w.machine.MisbehaveMedia(make([]sim.Fault, at)...)
					w.machine.MisbehaveMedia(f)
					err := do(a)
					for range 5 {
						if faults.Is(err, faults.Unavailable) {
							err = do(a)
						}
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				w.untouched()
			})
		}
	}
}

// A file without a row is removed, one of another conductor's isn't served.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.activities(w.db)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"left.iso", unfinished + "x", "keep.txt"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(filepath.Join(w.dir, unfinished+"x"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := a.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := w.db.Pool.Exec(t.Context(), `UPDATE baremetal.boot_files SET conductor = 'conductor-2'`); err != nil {
		t.Fatal(err)
	}
	if status := w.status(w.machine.Medium()); status != http.StatusNotFound {
		t.Errorf("it is served: %d", status)
	}
}

// One whose operation has lost its node changes nothing.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.fence.Generation--
	a := w.activities(w.db)
	for _, err := range []error{w.ramdisk(a), w.clear(a)} {
		if !faults.Is(err, faults.Superseded) {
			t.Errorf("%v", err)
		}
	}
	w.untouched()
}

// owes ends the operation, which could not take its ramdisk away, and gives what is
// owed.
func (w *world) owes() engine.Debt {
	w.Helper()
	queue := steps.ConductorQueue("")
	computetest.InTx(w.T, w.db, func(tx store.Tx) error {
		_, err := w.engine.Advance(w.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
			Intend: []operations.Effect{{Kind: operations.EffectRamdisk, Ref: bmctest.Node, Host: queue}}})
		if err != nil {
			return err
		}
		_, err = w.engine.Finish(w.Context(), tx, steps.FinishIn{Fence: w.fence, Result: operations.ResultFailed, Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}})
		return err
	})
	debts, err := w.engine.Debts(w.Context(), w.db.Pool, queue)
	if err != nil || len(debts) != 1 {
		w.Fatalf("%+v, %v", debts, err)
	}
	return debts[0]
}

// paid: nothing is owed any more.
func (w *world) paid(d engine.Debt) {
	w.Helper()
	if left, err := w.engine.Debts(w.Context(), w.db.Pool, d.Host); err != nil || len(left) > 0 {
		w.Errorf("%+v, %v", left, err)
	}
}

// A ramdisk that is owed is taken away as soon as the BMC lets that be done, and the
// node turned off; the row says so.
func TestADebt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.ramdisk(w.activities(w.db)); err != nil {
		t.Fatal(err)
	}
	w.machine.Put(sim.On)
	d := w.owes()
	w.machine.MisbehaveMedia(sim.Unavailable)
	if err := w.activities(w.db).Pay(t.Context(), d); !faults.Is(err, faults.Unavailable) {
		t.Errorf("%v", err)
	}
	var knife computetest.Knife
	db := knife.Hold(t, w.db)
	for at := 0; ; at++ {
		knife.After(at)
		err := w.activities(db).Pay(t.Context(), d)
		if _, err := w.db.Pool.Exec(t.Context(), `DELETE FROM baremetal.leases`); err != nil {
			t.Fatal(err)
		}
		if !knife.HasCut() {
			if err != nil {
				t.Error(err)
			}
			break
		}
	}
	knife.After(-1)
	if err := w.activities(w.db).Pay(t.Context(), d); err != nil {
		t.Errorf("paid again: %v", err)
	}
	w.paid(d)
	w.untouched()
	n, err := baremetal.Nodes.Find(t.Context(), w.db.Pool, bmctest.Node, false)
	if err != nil || w.machine.Power() != sim.Off || n.PowerState == nil || *n.PowerState != string(provision.PowerOff) {
		t.Errorf("%s, %+v, %v", w.machine.Power(), n, err)
	}
}

// A node that an operation has is left to it; what one has done since stays.
func TestADebtOfANodeThatGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since  string
		medium bool
	}{
		"worked on since": {`SELECT 1`, false}, "started otherwise since": {`DELETE FROM baremetal.boot_files`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			a := w.activities(w.db)
			if err := w.ramdisk(a); err != nil {
				t.Fatal(err)
			}
			d := w.owes()
			w.machine.Put(sim.On)
			w.begin()
			if err := a.Pay(t.Context(), d); !faults.Is(err, faults.Unavailable) || w.machine.Medium() == "" {
				t.Errorf("%v, medium %q", err, w.machine.Medium())
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.Finish(t.Context(), tx, steps.FinishIn{Fence: w.fence, Result: operations.ResultDone})
				return err
			})
			if _, err := w.db.Pool.Exec(t.Context(), c.since); err != nil {
				t.Fatal(err)
			}
			if err := a.Pay(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			w.paid(d)
			if w.machine.Power() != sim.On || (w.machine.Medium() != "") != c.medium {
				t.Errorf("%s, medium %q", w.machine.Power(), w.machine.Medium())
			}
		})
	}
}

// Acts: each step is done twice, and killed before each of its round trips to the
// database and done again.
func TestActs(t *testing.T) {
	t.Parallel()
	activitytest.Covers(t, "boot", "boot.Ramdisk", "boot.Clear")
	w := newWorld(t, nil)
	for name, do := range map[string]func(*Activities) error{"boot.Ramdisk": w.ramdisk, "boot.Clear": w.clear} {
		t.Run(name, func(t *testing.T) {
			if name == "boot.Clear" {
				if err := w.ramdisk(w.activities(w.db)); err != nil {
					t.Fatal(err)
				}
			}
			var knife computetest.Knife
			db := knife.Hold(t, w.db)
			for at := 0; ; at++ {
				knife.After(at)
				err := do(w.activities(db))
				// The next attempt is another process's: its predecessor's lease has ended.
				if _, err := w.db.Pool.Exec(t.Context(), `DELETE FROM baremetal.leases`); err != nil {
					t.Fatal(err)
				}
				if !knife.HasCut() {
					if err != nil {
						t.Error(err)
					}
					break
				}
			}
			knife.After(-1)
			if err := do(w.activities(w.db)); err != nil {
				t.Error(err)
			}
			if name == "boot.Clear" {
				w.untouched()
			} else if w.machine.Medium() == "" || w.machine.Boot().Enabled != "Once" {
				t.Errorf("%q, %+v", w.machine.Medium(), w.machine.Boot())
			}
		})
	}
}
