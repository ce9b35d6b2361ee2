package boot

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/activities/activitytest"
	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// byNetwork has a node that is booted by a boot interface, over a BMC that speaks IPMI or
// Redfish, with a port; its machine is told by DHCP what the node's port would have.
func byNetwork(t *testing.T, by string, ipmi bool, change func(n *baremetal.Node, info map[string]any)) *world {
	t.Helper()
	w := newWorldBy(t, by, bmctest.Token, func(w *bmctest.World, info map[string]any) {
		delete(info, "bootloader")
		if ipmi {
			w.ByIPMI(ipmitest.Options{}, info)
		}
		if change != nil {
			change(w.Node, info)
		}
	})
	if err := sim.WriteLoaders(w.loaders); err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		return baremetal.Ports.Create(t.Context(), tx, &baremetal.Port{UUID: "11111111-1111-4111-8111-111111111101", NodeUUID: w.Node.UUID, Address: w.Machine.MAC, PXEEnabled: true,
			LocalLinkConnection: []byte(`{}`), Extra: []byte(`{}`), InternalInfo: []byte(`{}`)})
	})
	instance, err := nodes.InstanceInfo(w.Box, w.Row())
	if err != nil {
		t.Fatal(err)
	}
	options, err := nodes.DHCPOptions(w.Row(), instance, nodes.FirstStage{TFTP: "127.0.0.1", URL: w.url,
		IPXE: nodes.Loaders{BIOS: "undionly.kpxe", UEFI: "snponly.efi"}, Other: nodes.Loaders{BIOS: "pxelinux.0", UEFI: "bootx64.efi"}})
	if err != nil {
		t.Fatal(err)
	}
	offer := sim.DHCP{TFTP: w.tftp, Options: map[string]string{}}
	for _, o := range options {
		offer.Options[o.Name] = o.Value
	}
	w.Machine.Offer(offer)
	return w
}

// A node is booted from what it finds in the network, once, and starts as it did before
// afterwards; nothing is left, nor known of any ramdisk.
func TestByTheNetwork(t *testing.T) {
	t.Parallel()
	bios := func(n *baremetal.Node, _ map[string]any) { n.Properties = []byte(`{"capabilities": "boot_mode:bios"}`) }
	for name, c := range map[string]struct {
		by     string
		ipmi   bool
		change func(*baremetal.Node, map[string]any)
		boot   string
		bootIf string
	}{
		"iPXE by IPMI":              {by: "ipxe", ipmi: true, boot: "{Pxe Once UEFI}", bootIf: "%s"},
		"iPXE by IPMI, from a BIOS": {by: "ipxe", ipmi: true, change: bios, boot: "{Pxe Once Legacy}", bootIf: "%s"},
		"iPXE by Redfish":           {by: "ipxe", boot: "{Pxe Once UEFI}", bootIf: "%s"},
		"a BIOS by Redfish":         {by: "ipxe", change: bios, boot: "{Pxe Once Legacy}", bootIf: "%s"},
		"iPXE by HTTP":              {by: "http-ipxe", boot: "{UefiHttp Once UEFI}", bootIf: "%s"},
		"iPXE by HTTP and IPMI":     {by: "http-ipxe", ipmi: true, boot: "{Pxe Once UEFI}", bootIf: "%s"},
		"PXELINUX":                  {by: "pxe", ipmi: true, change: bios, boot: "{Pxe Once Legacy}", bootIf: "01-%s"},
		"GRUB":                      {by: "pxe", boot: "{Pxe Once UEFI}", bootIf: "%s"},
		"GRUB by HTTP":              {by: "http", boot: "{UefiHttp Once UEFI}", bootIf: "%s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := byNetwork(t, c.by, c.ipmi, c.change)
			mode := w.Machine.Boot().Mode
			if strings.HasSuffix(c.boot, "Legacy}") {
				mode = "Legacy"
			}
			for range 2 {
				if err := w.ramdisk(w.activities(w.DB)); err != nil {
					t.Fatal(err)
				}
			}
			if is := fmt.Sprint(w.Machine.Boot()); is != c.boot {
				t.Errorf("it starts from %s", is)
			}
			if token, err := nodes.Token(w.Box, w.Row()); err != nil || token != "" {
				t.Errorf("the row has a token, which the ramdisk is to ask for: %q, %v", token, err)
			}
			w.Machine.Put(sim.On)
			if beat := w.api.Await(t, 0); beat["agent_token"] != bmctest.Token {
				t.Errorf("%v", beat)
			}
			address := w.Machine.MAC
			if c.bootIf != "%s" {
				address = strings.ReplaceAll(address, ":", "-")
			}
			told := w.Machine.Agent().Told()
			if _, has := told["ipa-agent-token"]; has || told["vga"] != "normal" || told["selinux"] != "0" || told["ipa-api-url"] != w.api.URL || told["BOOTIF"] != fmt.Sprintf(c.bootIf, address) {
				t.Errorf("%v", told)
			}
			for range 2 {
				if err := w.clear(w.activities(w.DB)); err != nil {
					t.Fatal(err)
				}
			}
			w.untouched()
			if now := w.Machine.Boot().Mode; now != mode {
				t.Errorf("it starts by %s, not %s", now, mode)
			}
			if text := string(w.Row().DriverInternalInfo); text != `{"is_whole_disk_image": true}` {
				t.Errorf("%s", text)
			}
		})
	}
}

// A machine that boots by the network with nothing to boot there runs its disk.
func TestNothingToBoot(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	w.Machine.StartFrom(sim.Boot{Target: "Pxe", Enabled: "Once", Mode: "UEFI"})
	w.Machine.Put(sim.On)
	for until := time.Now().Add(30 * time.Second); w.Machine.Runs() != sim.Disk; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it runs %q: %v", w.Machine.Runs(), w.Machine.BootFailure())
		}
	}
	if asked := w.api.Asked(); len(asked) > 0 {
		t.Errorf("%v", asked)
	}
}

// By IPMI, too, a machine starts from its disk after a deployment from then on, and with
// nothing known of its ramdisk only once that is gone.
func TestTheDiskByIPMI(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	if err := w.ramdisk(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	w.Kill(func(db *store.DB) error { return w.toDisk(w.activities(db), true) })
	if file := w.file(); file == nil || fmt.Sprint(w.Machine.Boot()) != "{Hdd Continuous UEFI}" {
		t.Errorf("%+v, %v", file, w.Machine.Boot())
	}
	w.Kill(func(db *store.DB) error { return w.toDisk(w.activities(db), false) })
	if left, err := os.ReadDir(w.dir); err != nil || len(left) > 0 || w.file() != nil || fmt.Sprint(w.Machine.Boot()) != "{Hdd Continuous UEFI}" {
		t.Errorf("%v, %+v, %v, %v", left, w.file(), w.Machine.Boot(), err)
	}
}

// What is served: to whoever knows a machine's address what leads to its files, and to
// nobody what isn't there or is another's.
func TestWhatIsServed(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	if err := os.Symlink("/etc/passwd", filepath.Join(w.loaders, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.loaders, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	hyphened := strings.ReplaceAll(w.Machine.MAC, ":", "-")
	// served fails the test unless just these can be read, and gives what a machine runs
	// that asks by its address.
	served := func(is, isNot []string) (script string) {
		t.Helper()
		for i, at := range slices.Concat(is, isNot) {
			found := w.status(w.url+"/"+at) == http.StatusOK
			_, err := sim.ReadTFTP(t.Context(), w.tftp, at, 1024)
			if found != (i < len(is)) || found != (err == nil) {
				t.Errorf("%q is served: %v, and %v by TFTP", at, found, err)
			}
		}
		for _, at := range []string{hyphened, strings.ToUpper(hyphened)} {
			text, err := sim.ReadTFTP(t.Context(), w.tftp, "pxelinux.cfg/"+at, 0)
			if script != "" && script != string(text) || err != nil {
				t.Errorf("%s, and %s, %v", script, text, err)
			}
			script = string(text)
		}
		return script
	}
	always := []string{"boot.ipxe", "snponly.efi", "grub/grub.cfg", "pxelinux.cfg/" + hyphened, "pxelinux.cfg/52-54-00-bc-00-02"}
	never := []string{".", "folder", "out", "nothing", "pxelinux.cfg/01-" + hyphened, "pxelinux.cfg/" + w.Machine.MAC, w.Machine.MAC + ".conf", "x.net/kernel", "x.iso", ".net", ".iso",
		"boot.ipxe/x", "../" + filepath.Base(w.dir) + "/kernel", "snponly.efi/x"}
	if script := served(always, never); script != noScript {
		t.Errorf("before: %s", script)
	}
	if err := w.ramdisk(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	name := w.file().Name
	parts := []string{name + "/kernel", name + "/ramdisk", name + "/ipxe"}
	never = append(never, name, name+"/", name+"/grub", name+"/../"+name+"/kernel", strings.TrimSuffix(name, nodes.NetbootSuffix)+nodes.MediumSuffix)
	want := fmt.Sprintf("kernel %s/%s/kernel selinux=0 troubleshoot=0 text nofb vga=normal ipa-api-url=%s BOOTIF=${mac} initrd=ramdisk || goto again\n", w.url, name, w.api.URL)
	if script := served(slices.Concat(always, parts), never); !strings.HasPrefix(script, "#!ipxe\n") || !strings.Contains(script, want) {
		t.Errorf("while it is booted: %s", script)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/"+parts[0], strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%v, %v", resp, err)
	}
	const elsewhere = "http://192.0.2.2:8088"
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.boot_files SET conductor = 'conductor-2', url = $1`, elsewhere); err != nil {
		t.Fatal(err)
	}
	if script := served(always, never); script != "#!ipxe\nchain --autofree "+elsewhere+"/pxelinux.cfg/"+hyphened+"\n" {
		t.Errorf("at another conductor: %s", script)
	}
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.boot_files SET conductor = 'conductor-1', url = $1`, w.url); err != nil {
		t.Fatal(err)
	}
	for change, back := range map[string]string{`UPDATE baremetal.boot_files SET conductor = 'conductor-2'`: `UPDATE baremetal.boot_files SET conductor = 'conductor-1'`,
		`UPDATE baremetal.ports SET pxe_enabled = false`: `UPDATE baremetal.ports SET pxe_enabled = true`} {
		if _, err := w.DB.Pool.Exec(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if script := served(always, never); script != noScript {
			t.Errorf("%s: %s", change, script)
		}
		if _, err := w.DB.Pool.Exec(t.Context(), back); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.clear(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	if script := served(always, slices.Concat(never, parts)); script != noScript {
		t.Errorf("afterwards: %s", script)
	}
}

// bootsFrom fails the test unless the machine boots its ramdisk by what iPXE finds at a URL.
func (w *world) bootsFrom(url string) {
	w.Helper()
	w.Machine.Offer(sim.DHCP{TFTP: w.tftp, Options: map[string]string{"tag:!ipxe,67": "snponly.efi", "tag:ipxe,67": url + "/" + nodes.FirstScript}})
	if err := w.ramdisk(w.activities(w.DB)); err != nil {
		w.Fatal(err)
	}
	w.Machine.Put(sim.On)
	w.api.Await(w.T, 0)
	if told := w.Machine.Agent().Told(); told["ipa-api-url"] != w.api.URL {
		w.Errorf("%v", told)
	}
}

// A conductor that is away while a machine asks what it is to boot is asked again.
func TestAConductorThatIsAway(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	var mu sync.Mutex
	asked := map[string]int{}
	away := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		early := asked[r.URL.Path] < 3
		mu.Unlock()
		if early {
			http.Error(out, "away", http.StatusServiceUnavailable)
			return
		}
		w.activities(w.DB).serve(out, r, slog.New(slog.DiscardHandler))
	}))
	t.Cleanup(away.Close)
	w.url = away.URL
	w.bootsFrom(away.URL)
}

// A machine that begins with another conductor of its group is led on to the one that has
// its files.
func TestLedOn(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	other := w.activities(w.DB)
	other.Conductor, other.Dir = "conductor-2", t.TempDir()
	first := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { other.serve(out, r, slog.New(slog.DiscardHandler)) }))
	t.Cleanup(first.Close)
	other.URL = first.URL
	w.bootsFrom(first.URL)
}

// What a row doesn't say, or can't be done here, is refused with a reason, and nothing is
// told the machine.
func TestWhatCanNotBeBootedByTheNetwork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by      string
		change  func(*baremetal.Node, map[string]any)
		options func(*Options)
		row     string
		text    string
	}{
		"half of the ramdisk": {by: "ipxe", change: func(_ *baremetal.Node, info map[string]any) { delete(info, "deploy_ramdisk") },
			text: "Cannot validate PXE bootloader. Some parameters were missing in node's driver_info and configuration. Missing are: ['deploy_ramdisk']"},
		"none of it": {by: "pxe", change: func(_ *baremetal.Node, info map[string]any) {
			delete(info, "deploy_ramdisk")
			delete(info, "deploy_kernel")
		},
			text: "Missing are: ['deploy_kernel', 'deploy_ramdisk']"},
		"a kernel that is gone": {by: "ipxe", change: func(_ *baremetal.Node, info map[string]any) { info["deploy_kernel"] = "/files/nowhere" }, text: "Got HTTP code 404 instead of 200"},
		"modes that contradict": {by: "ipxe", row: `UPDATE baremetal.nodes SET properties = '{"capabilities": "boot_mode:bios"}', instance_info = '{"capabilities": {"boot_mode": "uefi"}}'`,
			text: "boot mode uefi violates node properties/capabilities bios"},
		"nothing by TFTP": {by: "pxe", options: func(o *Options) { o.ByTFTP = false }, text: "conductor.tftp_listen"},
		"nothing by HTTP": {by: "ipxe", options: func(o *Options) { o.URL = "" }, text: "conductor.boot_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := byNetwork(t, c.by, true, c.change)
			a := w.activities(w.DB)
			if c.options != nil {
				c.options(&a.Options)
			}
			if c.row != "" {
				if _, err := w.DB.Pool.Exec(t.Context(), c.row); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.ramdisk(a); !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v", err)
			}
			if err := w.clear(a); err != nil {
				t.Error(err)
			}
			w.untouched()
		})
	}
}

// What nobody is booted from any more is swept away, whole.
func TestSweepOfFolders(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	a := w.activities(w.DB)
	if err := w.ramdisk(a); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(w.dir, "left"+nodes.NetbootSuffix), os.DirFS(filepath.Join(w.dir, w.file().Name))); err != nil {
		t.Fatal(err)
	}
	if err := a.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := fs.Glob(os.DirFS(w.dir), "*")
	if err != nil || !slices.Equal(left, []string{w.file().Name}) {
		t.Errorf("%v, %v", left, err)
	}
}

// A ramdisk that is owed is taken away by IPMI, too.
func TestADebtByIPMI(t *testing.T) {
	t.Parallel()
	w := byNetwork(t, "ipxe", true, nil)
	if err := w.ramdisk(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	d := w.Owes(operations.EffectRamdisk)
	w.Kill(func(db *store.DB) error { return w.activities(db).Pay(t.Context(), d) })
	w.Paid(d)
	w.untouched()
}

// Acts: each step on a node that is booted by the network is done twice, and killed before
// each of its round trips to the database and done again.
func TestActsByTheNetwork(t *testing.T) {
	t.Parallel()
	activitytest.Covers(t, "boot", "boot.Ramdisk", "boot.Clear", "boot.Vacate")
	for _, ipmi := range []bool{false, true} {
		w := byNetwork(t, "ipxe", ipmi, nil)
		w.Kill(func(db *store.DB) error { return w.ramdisk(w.activities(db)) })
		if err := w.ramdisk(w.activities(w.DB)); err != nil || fmt.Sprint(w.Machine.Boot()) != "{Pxe Once UEFI}" {
			t.Errorf("%v, %v", w.Machine.Boot(), err)
		}
		w.Kill(func(db *store.DB) error { return w.clear(w.activities(db)) })
		if err := w.clear(w.activities(w.DB)); err != nil {
			t.Error(err)
		}
		w.untouched()
	}
}
