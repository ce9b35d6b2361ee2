package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/bmc"
	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/iso"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var here = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// Images that Glance has: one for everybody, and one that isn't.
const (
	anImage      = "11111111-2222-4333-8444-555555555501"
	anotherImage = "11111111-2222-4333-8444-555555555502"
	// missingImage is one that Glance has no answer about.
	missingImage = "11111111-2222-4333-8444-555555555503"
)

// world is a node over a simulated BMC that is deployed, and a conductor that serves boot
// images.
type world struct {
	*bmctest.World
	api      *bmctest.API
	glance   *bmctest.Glance
	dir, url string
	// loaders is a folder of boot loaders, and tftp where they are served.
	loaders, tftp string
	// log is what the server of boot images has written.
	log *journal
}

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newWorld(t *testing.T, change func(info map[string]any)) *world {
	t.Helper()
	return newWorldBy(t, nodes.BootVirtualMedia, "******", func(_ *bmctest.World, info map[string]any) {
		if change != nil {
			change(info)
		}
	})
}

// newWorldBy is that with a boot interface, and an API that tells a ramdisk this token.
func newWorldBy(t *testing.T, by, token string, change func(w *bmctest.World, info map[string]any)) *world {
	t.Helper()
	files := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/nowhere" {
			http.NotFound(out, r)
			return
		}
		_, _ = io.WriteString(out, strings.Repeat(r.URL.Path, 1000))
	}))
	t.Cleanup(files.Close)
	w := &world{log: &journal{}, api: bmctest.Start(t, token), dir: t.TempDir(), loaders: t.TempDir(), glance: bmctest.StartGlance(t, map[string]bmctest.Image{
		anImage: {Data: "kernel"}, anotherImage: {Data: "a disk", DiskFormat: "raw", Private: true}, missingImage: {Down: true},
	})}
	w.World = bmctest.New(t, sim.Options{Pace: time.Millisecond}, func(w *bmctest.World, info map[string]any) {
		w.Kind = operations.NodeDeploy
		info["deploy_kernel"], info["deploy_ramdisk"], info["bootloader"] = files.URL+"/kernel", files.URL+"/ramdisk", files.URL+"/esp"
		w.Node.BootInterface = &by
		change(w, info)
		for name, value := range info {
			if text, ok := value.(string); ok && strings.HasPrefix(text, "/files") {
				info[name] = files.URL + strings.TrimPrefix(text, "/files")
			}
		}
		w.Node.DriverInternalInfo = json.RawMessage(`{"agent_url": "https://192.0.2.1:9999", "agent_secret_token": "******", "is_whole_disk_image": true}`)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	w.url, w.tftp = "http://"+listener.Addr().String(), conn.LocalAddr().String()
	ctx, stop := context.WithCancel(context.Background())
	log, served := slog.New(slog.NewTextHandler(w.log, nil)), errgroup.Group{}
	a := w.activities(w.DB) // begun before anything is made that it would take for an earlier one's
	served.Go(func() error { return a.Serve(ctx, listener, log) })
	served.Go(func() error { return a.ServeTFTP(ctx, conn, log) })
	t.Cleanup(func() {
		stop()
		if err := served.Wait(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// activities are those of a new process.
func (w *world) activities(db *store.DB) *Activities {
	e := bmctest.Engine(db)
	drives := bmc.New(db, e, w.Box, bmc.Options{Networks: here, Poll: 10 * time.Millisecond})
	return New(db, e, w.Box, drives, Options{Conductor: "conductor-1", Dir: w.dir, URL: w.url, Loaders: w.loaders, ByTFTP: true, API: w.api.URL, Networks: here, Glance: w.glance, Usual: nodes.BootDefaults{Append: "nofb vga=normal"}})
}

func (w *world) ramdisk(a *Activities) error {
	_, err := a.Ramdisk(w.Context(), steps.BootRamdiskIn{Fence: w.Fence})
	return err
}

func (w *world) clear(a *Activities) error {
	_, err := a.Clear(w.Context(), steps.BootClearIn{Fence: w.Fence, PowerState: string(provision.PowerOff)})
	return err
}

// toDisk has the node start from its disk; runs says that its ramdisk runs on.
func (w *world) toDisk(a *Activities, runs bool) error {
	_, err := a.Clear(w.Context(), steps.BootClearIn{Fence: w.Fence, Disk: true, Runs: runs})
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

// file is the row of the medium that the node is booted from; nil for none.
func (w *world) file() *baremetal.BootFile {
	w.Helper()
	file, err := baremetal.BootFileOf(w.Context(), w.DB.Pool, bmctest.Node)
	if err != nil {
		w.Fatal(err)
	}
	return file
}

// source says what is to be written to the node's disk.
func (w *world) source(image string) {
	w.Helper()
	if _, err := w.DB.Pool.Exec(w.Context(), `UPDATE baremetal.nodes SET instance_info = jsonb_build_object('image_source', $1::text)`, image); err != nil {
		w.Fatal(err)
	}
}

// untouched: nothing is in the drive, nothing is served or known, no session is open.
func (w *world) untouched() {
	w.Helper()
	left, err := os.ReadDir(w.dir)
	if err != nil || len(left) > 0 || w.Machine.Medium() != "" || w.Machine.Boot().Enabled != "Disabled" {
		w.Errorf("left: %v, medium %q, it starts from %+v, %v", left, w.Machine.Medium(), w.Machine.Boot(), err)
	}
	if file := w.file(); file != nil {
		w.Errorf("%+v", file)
	}
}

// A ramdisk that inspects is told where it tells what it finds, and not where it would
// say that it is alive.
func TestARamdiskThatInspects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.activities(w.DB)
	a.InspectionParams = []string{"ipa-collect-lldp=1"}
	if _, err := a.Ramdisk(t.Context(), steps.BootRamdiskIn{Fence: w.Fence, Inspect: true}); err != nil {
		t.Fatal(err)
	}
	w.Machine.Put(sim.On)
	for until := time.Now().Add(10 * time.Second); w.Machine.Agent() == nil && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	told := w.Machine.Agent().Told()
	if _, listens := told["ipa-api-url"]; listens || told["ipa-inspection-callback-url"] != w.api.URL+"/v1/continue_inspection" || told["ipa-collect-lldp"] != "1" || len(told["ipa-agent-token"]) != 43 {
		t.Errorf("%v", told)
	}
}

// A node is booted from its medium: its ramdisk knows the token that the row has,
// and nothing is left afterwards, nor known of any ramdisk.
func TestARamdisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(info map[string]any) { info["kernel_append_params"] = "%default% console=ttyS0" })
	for range 2 {
		if err := w.ramdisk(w.activities(w.DB)); err != nil {
			t.Fatal(err)
		}
	}
	medium := w.Machine.Medium()
	if boot := w.Machine.Boot(); boot.Target != "Cd" || boot.Enabled != "Once" || w.status(medium) != http.StatusOK || w.status(w.url+"/") != http.StatusNotFound ||
		w.status(w.url+"/other.iso") != http.StatusNotFound || w.status(w.url+"/..%2fkeys.iso") != http.StatusNotFound {
		t.Errorf("%+v, %q", boot, medium)
	}
	n := w.Row()
	if string(n.DriverInternalInfo) != `{"agent_secret_token": "******", "is_whole_disk_image": true}` {
		t.Fatalf("%s", n.DriverInternalInfo)
	}
	token, err := nodes.Token(w.Box, n)
	if err != nil || len(token) != 43 {
		t.Errorf("%q, %v", token, err)
	}
	w.Machine.Put(sim.On)
	if beat := w.api.Await(t, 0); beat["agent_token"] != token {
		t.Errorf("%v", beat)
	}
	if told := w.Machine.Agent().Told(); told["console"] != "ttyS0" || told["vga"] != "normal" || told["boot_method"] != "vmedia" || told["ipa-api-url"] != w.api.URL {
		t.Errorf("%v", told)
	}
	for range 2 {
		if err := w.clear(w.activities(w.DB)); err != nil {
			t.Fatal(err)
		}
	}
	w.untouched()
	if n = w.Row(); string(n.DriverInternalInfo) != `{"is_whole_disk_image": true}` || n.PowerState == nil || *n.PowerState != "power off" {
		t.Errorf("%+v", n)
	}
	if w.status(medium) != http.StatusNotFound {
		t.Error("it is still served")
	}
}

// After a deployment the machine starts from its disk from then on.
func TestTheDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.activities(w.DB)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	if err := w.toDisk(a, false); err != nil {
		t.Fatal(err)
	}
	if boot := w.Machine.Boot(); boot.Target != "Hdd" || boot.Enabled != "Continuous" || w.Machine.Medium() != "" {
		t.Errorf("%+v", boot)
	}
}

// A node that is to start from its disk, while its ramdisk runs on, is booted from nothing
// else any more; what is known of the ramdisk stays.
func TestTheDiskWhileTheRamdiskRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.ramdisk(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	known := string(w.Row().DriverInternalInfo)
	w.Kill(func(db *store.DB) error { return w.toDisk(w.activities(db), true) })
	file := w.file()
	if boot := w.Machine.Boot(); file == nil || w.Machine.Medium() != "" || boot.Target != "Hdd" || boot.Enabled != "Continuous" || string(w.Row().DriverInternalInfo) != known {
		t.Errorf("%+v, %q, %+v, %s", file, w.Machine.Medium(), boot, w.Row().DriverInternalInfo)
	}
}

// What a node is booted from may be Glance's, and so may what is written to its disk, which
// is served under the name of its medium while the node is deployed.
func TestImagesOfGlance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(info map[string]any) {
		info["deploy_kernel"], info["deploy_ramdisk"] = anImage, "glance://"+anImage
	})
	a := w.activities(w.DB)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	file := w.file()
	_, made, err := iso.Read(filepath.Join(w.dir, file.Name), "vmlinuz", "initrd")
	if err != nil || string(made["vmlinuz"]) != "kernel" || string(made["initrd"]) != "kernel" {
		t.Errorf("%q, %v", made, err)
	}
	at := nodes.ImageAt(w.url, file.Name)
	for text, status := range map[string]int{"http://192.0.2.9/i": http.StatusNotFound, "11111111-2222-4333-8444-555555555509": http.StatusNotFound, anotherImage: http.StatusOK,
		missingImage: http.StatusServiceUnavailable} {
		if w.source(text); w.status(at) != status {
			t.Errorf("of %s: not %d", text, status)
		}
	}
	if said := w.log.String(); !strings.Contains(said, "the image of node "+w.Node.UUID+" is not served") || !strings.Contains(said, "Glance doesn't answer about image "+missingImage) {
		t.Errorf("the log says %q", said)
	}
	w.source(anotherImage)
	resp, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || string(data) != "a disk" || resp.ContentLength != 6 {
		t.Errorf("%q of %d bytes, %v", data, resp.ContentLength, err)
	}
	// Another conductor of the group serves it too.
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.boot_files SET conductor = 'conductor-2'`); err != nil || w.status(at) != http.StatusOK {
		t.Error(err)
	}
	if err := w.clear(a); err != nil || w.status(at) != http.StatusNotFound {
		t.Errorf("it is served still, %v", err)
	}
}

// A node that isn't deployed has nothing of its instance served.
func TestAnImageOfARamdiskAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a := w.activities(w.DB)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	file := w.file()
	w.source(anImage)
	if at := nodes.ImageAt(w.url, file.Name); w.status(at) != http.StatusOK {
		t.Error("it isn't served while the node is deployed")
	}
	w.Owes(operations.EffectRamdisk)
	w.Kind = operations.NodePower
	w.Begin()
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.boot_files SET operation_id = $1`, w.Fence.OperationID); err != nil {
		t.Fatal(err)
	}
	if at := nodes.ImageAt(w.url, file.Name); w.status(at) != http.StatusNotFound {
		t.Error("it is served to a node whose power is changed")
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
		"an image that is gone":  {func(m map[string]any) { m["deploy_kernel"] = "11111111-2222-4333-8444-555555555509" }, faults.NotFound, "could not be found"},
		"another's image":        {func(m map[string]any) { m["deploy_ramdisk"] = "glance://" + anotherImage }, faults.NotFound, "could not be found"},
		"no image of Glance":     {func(m map[string]any) { m["bootloader"] = "glance://esp" }, faults.Invalid, "Invalid image href glance://esp."},
		"nobody there":           {func(m map[string]any) { m["deploy_kernel"] = "http://127.0.0.1:1/" }, faults.Unavailable, "Failed to download image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.change)
			a := w.activities(w.DB)
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
				a := w.activities(w.DB)
				for _, do := range []func(*Activities) error{w.ramdisk, w.clear} {
					w.Machine.MisbehaveMedia(make([]sim.Fault, at)...)
					w.Machine.MisbehaveMedia(f)
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
	a := w.activities(w.DB)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"left.iso", unfinished + "old", unfinished + "new", "keep.txt"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := a.since.Add(-time.Second)
	if err := os.Chtimes(filepath.Join(w.dir, unfinished+"old"), before, before); err != nil {
		t.Fatal(err)
	}
	if err := a.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 3 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.boot_files SET conductor = 'conductor-2'`); err != nil {
		t.Fatal(err)
	}
	if status := w.status(w.Machine.Medium()); status != http.StatusNotFound {
		t.Errorf("it is served: %d", status)
	}
}

// A conductor that goes on for another makes a file of its own, which no sweep takes for
// one that it has had before; what the ramdisk shares with the node stays.
func TestAnotherConductor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first, second := w.activities(w.DB), w.activities(w.DB)
	second.Conductor, second.Dir = "conductor-2", t.TempDir()
	var names, tokens []string
	for _, a := range []*Activities{first, second, first} {
		if err := w.ramdisk(a); err != nil {
			t.Fatal(err)
		}
		token, err := nodes.Token(w.Box, w.Row())
		if err != nil || slices.Contains(names, w.file().Name) {
			t.Errorf("%s is served again: %v", w.file().Name, err)
		}
		names, tokens = append(names, w.file().Name), append(tokens, token)
	}
	if err := first.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 1 || w.status(w.Machine.Medium()) != http.StatusOK {
		t.Errorf("%v, %v, %d", left, err, w.status(w.Machine.Medium()))
	}
	if tokens[0] == "" || slices.ContainsFunc(tokens, func(token string) bool { return token != tokens[0] }) {
		t.Errorf("%q", tokens)
	}
}

// One whose operation has lost its node changes nothing.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.Fence.Generation--
	a := w.activities(w.DB)
	for _, err := range []error{w.ramdisk(a), w.clear(a)} {
		if !faults.Is(err, faults.Superseded) {
			t.Errorf("%v", err)
		}
	}
	w.untouched()
}

// A ramdisk that is owed is taken away as soon as the BMC lets that be done, and the
// node turned off; the row says so.
func TestADebt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.ramdisk(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	w.Machine.Put(sim.On)
	d := w.Owes(operations.EffectRamdisk)
	w.Machine.MisbehaveMedia(sim.Unavailable)
	if err := w.activities(w.DB).Pay(t.Context(), d); !faults.Is(err, faults.Unavailable) {
		t.Errorf("%v", err)
	}
	w.Kill(func(db *store.DB) error { return w.activities(db).Pay(t.Context(), d) })
	if err := w.activities(w.DB).Pay(t.Context(), d); err != nil {
		t.Errorf("paid again: %v", err)
	}
	w.Paid(d)
	w.untouched()
	if n := w.Row(); w.Machine.Power() != sim.Off || n.PowerState == nil || *n.PowerState != string(provision.PowerOff) {
		t.Errorf("%s, %+v", w.Machine.Power(), n)
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
			a := w.activities(w.DB)
			if err := w.ramdisk(a); err != nil {
				t.Fatal(err)
			}
			d := w.Owes(operations.EffectRamdisk)
			w.Machine.Put(sim.On)
			w.Begin()
			if err := a.Pay(t.Context(), d); !faults.Is(err, faults.Unavailable) || w.Machine.Medium() == "" {
				t.Errorf("%v, medium %q", err, w.Machine.Medium())
			}
			computetest.InTx(t, w.DB, func(tx store.Tx) error {
				_, err := w.Engine.Finish(t.Context(), tx, steps.FinishIn{Fence: w.Fence, Result: operations.ResultDone})
				return err
			})
			if _, err := w.DB.Pool.Exec(t.Context(), c.since); err != nil {
				t.Fatal(err)
			}
			if err := a.Pay(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			w.Paid(d)
			if w.Machine.Power() != sim.On || (w.Machine.Medium() != "") != c.medium {
				t.Errorf("%s, medium %q", w.Machine.Power(), w.Machine.Medium())
			}
		})
	}
}

// Acts: each step is done twice, and killed before each of its round trips to the
// database and done again.
func TestActs(t *testing.T) {
	t.Parallel()
	activitytest.Covers(t, "boot", "boot.Ramdisk", "boot.Clear", "boot.Vacate")
	w := newWorld(t, nil)
	for name, do := range map[string]func(*Activities) error{"boot.Ramdisk": w.ramdisk, "boot.Clear": w.clear} {
		t.Run(name, func(t *testing.T) {
			if name == "boot.Clear" {
				if err := w.ramdisk(w.activities(w.DB)); err != nil {
					t.Fatal(err)
				}
			}
			w.Kill(func(db *store.DB) error { return do(w.activities(db)) })
			if err := do(w.activities(w.DB)); err != nil {
				t.Error(err)
			}
			if name == "boot.Clear" {
				w.untouched()
			} else if w.Machine.Medium() == "" || w.Machine.Boot().Enabled != "Once" {
				t.Errorf("%q, %+v", w.Machine.Medium(), w.Machine.Boot())
			}
		})
	}
}
