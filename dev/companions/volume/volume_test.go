package volume_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	ct "holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/volume"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type fixture struct {
	*ct.Client
	t    *testing.T
	dir  string
	pool *pgxpool.Pool
	s    *volume.Service
}

// begin makes a volume companion whose work hasn't begun.
func begin(t *testing.T, images *volume.Images) *fixture {
	t.Helper()
	dir := t.TempDir()
	pool := ct.Pool(t, "volume", volume.Migrations())
	s, err := volume.New(volume.Config{Pool: pool, Auth: ct.Callers{}, Log: ct.Log(t), Dir: dir, Images: images})
	if err != nil {
		t.Fatal(err)
	}
	c := ct.Serve(t, s)
	c.Header.Set("OpenStack-API-Version", "volume 3.71")
	return &fixture{c, t, dir, pool, s}
}

// work lets it work until the test ends.
func (f *fixture) work() *fixture {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.s.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
	})
	return f
}

// becomes waits for a status; "" is for the thing to be gone.
func (f *fixture) becomes(path, kind, status string) {
	f.t.Helper()
	deadline := time.Now().Add(testenv.Patience)
	for {
		got := f.Do("demo", "GET", path, "")
		if got.Status == 404 && status == "" || got.TextAt(kind, "status") == status && status != "" {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s doesn't become %q: %s", path, status, got.Text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (f *fixture) volume(extra string) string {
	f.t.Helper()
	id := f.Want(202, "demo", "POST", "/v3/volumes", `{"volume":{"name":"v"`+extra+`}}`).TextAt("volume", "id")
	f.becomes("/v3/volumes/"+id, "volume", "available")
	return id
}

func wantBody(t *testing.T, got ct.Answer, want map[string]any) {
	t.Helper()
	if !reflect.DeepEqual(got.Body, want) {
		t.Errorf("body %s, want %v", got.Text, want)
	}
}

func fault(name string, code float64, message string) map[string]any {
	return map[string]any{name: map[string]any{"code": code, "message": message}}
}

// The body that the real client sends.
const clientBody = `{"volume":{"metadata":null,"volume_type":null,"size":1,"snapshot_id":null,"availability_zone":null,"backup_id":null,"imageRef":null,"name":"v","description":null,"source_volid":null,"consistencygroup_id":null}}`

func TestVolume(t *testing.T) {
	t.Parallel()
	f := begin(t, nil).work()
	made := f.Want(202, "demo", "POST", "/v3/"+ct.DemoProject+"/volumes", clientBody)
	id := made.TextAt("volume", "id")
	if made.At("volume", "status") != "creating" || made.Header.Get("OpenStack-API-Version") != "volume 3.71" {
		t.Errorf("volume %s", made.Text)
	}
	updated := f.Want(200, "admin", "PUT", "/v3/volumes/"+id, `{"volume":{"name":"v"}}`)
	for _, change := range []ct.Answer{made, updated} {
		for name := range change.At("volume").(map[string]any) {
			if strings.HasPrefix(name, "os-vol-") || name == "volume_image_metadata" {
				t.Errorf("a change answers with %s", name)
			}
		}
	}
	f.becomes("/v3/volumes/"+id, "volume", "available")
	got := f.Want(200, "demo", "GET", "/v3/volumes/"+id, "").At("volume").(map[string]any)
	for _, varies := range []string{"created_at", "updated_at", "links", "volume_type_id", "user_id"} {
		if got[varies] == nil {
			t.Errorf("no %s", varies)
		}
		delete(got, varies)
	}
	want := map[string]any{"id": id, "name": "v", "description": nil, "size": 1.0, "status": "available", "volume_type": "__DEFAULT__", "availability_zone": "nova",
		"bootable": "false", "encrypted": false, "multiattach": false, "attachments": []any{}, "metadata": map[string]any{}, "snapshot_id": nil, "source_volid": nil,
		"consistencygroup_id": nil, "group_id": nil, "replication_status": nil, "service_uuid": nil, "shared_targets": false, "consumes_quota": true,
		"os-vol-tenant-attr:tenant_id": ct.DemoProject}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("volume %v, want %v", got, want)
	}
	if info, err := os.Stat(filepath.Join(f.dir, "volume-"+id)); err != nil || info.Size() != 1<<30 {
		t.Errorf("its file: %v %v", info, err)
	}
	f.Want(202, "demo", "POST", "/v3/volumes/"+id+"/action", `{"os-extend":{"new_size":2}}`)
	f.becomes("/v3/volumes/"+id, "volume", "available")
	if info, err := os.Stat(filepath.Join(f.dir, "volume-"+id)); err != nil || info.Size() != 2<<30 {
		t.Errorf("its file after the extension: %v %v", info, err)
	}
	wantBody(t, f.Want(400, "demo", "POST", "/v3/volumes/"+id+"/action", `{"os-extend":{"new_size":1}}`),
		fault("badRequest", 400, "Invalid input received: New size for extend must be greater than current size. (current: 2, extended: 1)."))
	wantBody(t, f.Want(200, "demo", "GET", "/v3/volumes/summary", ""), map[string]any{"volume-summary": map[string]any{"total_count": 1.0, "total_size": 2.0, "metadata": map[string]any{}}})
	wantBody(t, f.Want(404, "demo", "GET", "/v3/volumes/v", ""), fault("itemNotFound", 404, "Volume v could not be found."))
	f.Want(200, "demo", "POST", "/v3/volumes/"+id+"/metadata", `{"metadata":{"a":"b"}}`)
	wantBody(t, f.Want(200, "demo", "GET", "/v3/volumes/"+id+"/metadata", ""), map[string]any{"metadata": map[string]any{"a": "b"}})
	f.Want(200, "demo", "DELETE", "/v3/volumes/"+id+"/metadata/a", "")
	f.Want(404, "demo", "DELETE", "/v3/volumes/"+id+"/metadata/a", "")
	f.Want(200, "demo", "POST", "/v3/volumes/"+id+"/action", `{"os-set_bootable":{"bootable":true}}`)
	f.Want(202, "demo", "DELETE", "/v3/volumes/"+id+"?cascade=False&force=False", "")
	f.becomes("/v3/volumes/"+id, "volume", "")
	if _, err := os.Stat(filepath.Join(f.dir, "volume-"+id)); !os.IsNotExist(err) {
		t.Errorf("its file is left: %v", err)
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	f := begin(t, nil).work()
	id := f.volume(`,"size":1`)
	snapshot := f.Want(202, "demo", "POST", "/v3/snapshots", fmt.Sprintf(`{"snapshot":{"volume_id":%q}}`, id)).TextAt("snapshot", "id")
	f.becomes("/v3/snapshots/"+snapshot, "snapshot", "available")
	attachment := f.Want(200, "demo", "POST", "/v3/attachments", fmt.Sprintf(`{"attachment":{"volume_uuid":%q}}`, id)).TextAt("attachment", "id")
	for _, one := range []struct{ method, path, body string }{
		{"GET", "/volumes/" + id, ""}, {"PUT", "/volumes/" + id, `{"volume":{"name":"x"}}`}, {"DELETE", "/volumes/" + id, ""},
		{"POST", "/volumes/" + id + "/action", `{"os-begin_detaching":null}`}, {"GET", "/volumes/" + id + "/metadata", ""},
		{"POST", "/volumes/" + id + "/metadata", `{"metadata":{}}`}, {"GET", "/snapshots/" + snapshot, ""}, {"DELETE", "/snapshots/" + snapshot, ""},
		{"POST", "/snapshots", fmt.Sprintf(`{"snapshot":{"volume_id":%q}}`, id)}, {"POST", "/attachments", fmt.Sprintf(`{"attachment":{"volume_uuid":%q}}`, id)},
		{"GET", "/attachments/" + attachment, ""}, {"PUT", "/attachments/" + attachment, `{"attachment":{"connector":{"host":"h"}}}`},
		{"POST", "/attachments/" + attachment + "/action", `{"os-complete":{}}`}, {"DELETE", "/attachments/" + attachment, ""},
		{"POST", "/volumes", fmt.Sprintf(`{"volume":{"source_volid":%q}}`, id)}, {"POST", "/volumes", fmt.Sprintf(`{"volume":{"snapshot_id":%q}}`, snapshot)},
	} {
		f.Want(401, "", one.method, "/v3"+one.path, one.body)
		f.Want(404, "other", one.method, "/v3"+one.path, one.body)
		if one.method != "GET" {
			f.Want(403, "reader", one.method, "/v3"+one.path, one.body)
		}
	}
	for _, kind := range []string{"volumes", "snapshots", "attachments"} {
		if got := f.Want(200, "other", "GET", "/v3/"+kind+"/detail?all_tenants=1", ""); len(got.At(kind).([]any)) != 0 {
			t.Errorf("another project lists %s", got.Text)
		}
		if got := f.Want(200, "admin", "GET", "/v3/"+kind+"/detail?all_tenants=1", ""); len(got.At(kind).([]any)) != 1 {
			t.Errorf("an administrator lists %s", got.Text)
		}
	}
	f.Want(400, "demo", "GET", "/v3/"+ct.OtherProject+"/volumes", "")
	f.Want(403, "demo", "POST", "/v3/volumes/"+id+"/action", `{"os-reset_status":{"status":"error"}}`)
}

// A type says that several servers may have its volumes at once; an attachment of a
// shelved server is complete without a connector.
func TestTypesForSeveralAndVolumesOfNoHost(t *testing.T) {
	t.Parallel()
	f := begin(t, nil).work()
	f.Want(200, "admin", "POST", "/v3/types", `{"volume_type": {"name": "shared", "extra_specs": {"multiattach": "<is> True"}}}`)
	if several := f.Want(202, "demo", "POST", "/v3/volumes", `{"volume": {"size": 1, "volume_type": "shared"}}`); several.At("volume", "multiattach") != true {
		t.Errorf("of the type: %s", several.Text)
	}
	id := f.volume(`,"size":1`)
	attachment := f.Want(200, "demo", "POST", "/v3/attachments", `{"attachment":{"volume_uuid":"`+id+`","instance_uuid":"0b6c5a5e-9f4e-4d0b-8a52-0d7a7f0e5c11"}}`).TextAt("attachment", "id")
	f.Want(204, "demo", "POST", "/v3/attachments/"+attachment+"/action", `{"os-complete":{}}`)
	f.becomes("/v3/volumes/"+id, "volume", "in-use")
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	f := begin(t, nil).work()
	id := f.volume(`,"size":1`)
	const server = "0b6c5a5e-9f4e-4d0b-8a52-0d7a7f0e5c11"
	body := fmt.Sprintf(`{"attachment":{"volume_uuid":%q,"instance_uuid":%q}}`, id, server)
	reserved := f.Want(200, "demo", "POST", "/v3/attachments", body)
	attachment := reserved.TextAt("attachment", "id")
	wantBody(t, reserved, map[string]any{"attachment": map[string]any{"id": attachment, "volume_id": id, "instance": server, "status": "reserved",
		"attach_mode": "", "attached_at": "", "detached_at": "", "connection_info": map[string]any{}}})
	f.becomes("/v3/volumes/"+id, "volume", "reserved")
	another := strings.Replace(body, server, ct.OtherProject, 1) // any UUID but the server's
	wantBody(t, f.Want(400, "demo", "POST", "/v3/attachments", another),
		fault("badRequest", 400, "Invalid volume: Volume "+id+" status must be available or downloading to reserve, but the current status is reserved."))
	path := "/v3/attachments/" + attachment
	connected := f.Want(200, "demo", "PUT", path, `{"attachment":{"connector":{"host":"one","ip":"127.0.0.1","mountpoint":"/dev/vdb"}}}`)
	want := map[string]any{"driver_volume_type": "local", "device_path": filepath.Join(f.dir, "volume-"+id), "format": "raw", "access_mode": "rw",
		"volume_id": id, "qos_specs": nil, "encrypted": false, "discard": true, "attachment_id": attachment}
	if got := connected.At("attachment", "connection_info"); !reflect.DeepEqual(got, want) {
		t.Errorf("connection %v, want %v", got, want)
	}
	f.becomes("/v3/volumes/"+id, "volume", "attaching")
	f.Want(204, "demo", "POST", path+"/action", `{"os-complete":{}}`)
	f.Want(204, "demo", "POST", path+"/action", `{"os-complete":{}}`)
	f.becomes("/v3/volumes/"+id, "volume", "in-use")
	v := f.Want(200, "demo", "GET", "/v3/volumes/"+id, "")
	if v.At("volume", "attachments", 0, "server_id") != server || v.At("volume", "attachments", 0, "device") != "/dev/vdb" || v.At("volume", "attachments", 0, "attachment_id") != attachment {
		t.Errorf("volume %s", v.Text)
	}
	found := f.Want(200, "demo", "GET", "/v3/attachments?instance_id="+server, "")
	wantBody(t, found, map[string]any{"attachments": []any{map[string]any{"id": attachment, "status": "attached", "instance": server, "volume_id": id}}})
	f.Want(400, "demo", "DELETE", "/v3/volumes/"+id, "")
	inUse := fault("conflictingRequest", 409, "Detach volume from instance "+server+" using the Compute API")
	refused := func() {
		t.Helper()
		wantBody(t, f.Want(409, "demo", "DELETE", path, ""), inUse)
		for _, action := range []string{`{"os-detach":{}}`, `{"os-detach":{"attachment_id":"` + attachment + `"}}`, `{"os-terminate_connection":{"connector":{}}}`,
			`{"os-force_detach":{"attachment_id":"` + attachment + `","connector":null}}`} {
			wantBody(t, f.Want(409, "admin", "POST", "/v3/volumes/"+id+"/action", action), inUse)
		}
	}
	refused()
	f.Header.Set("X-Service-Token", "demo")
	refused()
	f.Want(403, "demo", "POST", "/v3/volumes/"+id+"/action", `{"os-force_detach":{}}`)
	f.Header.Set("X-Service-Token", "service")
	wantBody(t, f.Want(200, "demo", "DELETE", path, ""), map[string]any{"attachments": []any{}})
	f.Header.Del("X-Service-Token")
	f.Want(404, "demo", "DELETE", path, "")
	f.becomes("/v3/volumes/"+id, "volume", "available")

	for _, step := range []struct{ action, status string }{
		{`{"os-reserve":null}`, "attaching"}, {`{"os-unreserve":null}`, "available"}, {`{"os-reserve":null}`, "attaching"},
		{`{"os-attach":{"instance_uuid":"` + server + `","mountpoint":"/dev/vdc","mode":"rw"}}`, "in-use"}, {`{"os-begin_detaching":null}`, "detaching"},
		{`{"os-roll_detaching":null}`, "in-use"}, {`{"os-begin_detaching":null}`, "detaching"}, {`{"os-detach":{}}`, "available"},
	} {
		f.Want(202, "demo", "POST", "/v3/volumes/"+id+"/action", step.action)
		if got := f.Want(200, "demo", "GET", "/v3/volumes/"+id, ""); got.At("volume", "status") != step.status {
			t.Fatalf("after %s: %s", step.action, got.Text)
		}
	}
	f.Header.Set("OpenStack-API-Version", "volume 3.26")
	f.Want(404, "demo", "POST", "/v3/attachments", body)
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	f := begin(t, nil).work()
	id := f.volume(`,"size":1`)
	if err := writeAt(filepath.Join(f.dir, "volume-"+id), "before"); err != nil {
		t.Fatal(err)
	}
	snapshot := f.Want(202, "demo", "POST", "/v3/snapshots", fmt.Sprintf(`{"snapshot":{"volume_id":%q,"name":"s","force":false,"metadata":{}}}`, id)).TextAt("snapshot", "id")
	f.becomes("/v3/snapshots/"+snapshot, "snapshot", "available")
	if err := writeAt(filepath.Join(f.dir, "volume-"+id), "after!"); err != nil {
		t.Fatal(err)
	}
	of := f.volume(fmt.Sprintf(`,"size":2,"snapshot_id":%q`, snapshot))
	clone := f.volume(fmt.Sprintf(`,"source_volid":%q`, id))
	for file, want := range map[string]string{of: "before", clone: "after!"} {
		text := make([]byte, len(want))
		opened, err := os.Open(filepath.Join(f.dir, "volume-"+file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := opened.Read(text); err != nil || string(text) != want {
			t.Errorf("a copy begins with %q (%v), want %q", text, err, want)
		}
		_ = opened.Close()
	}
	f.Want(400, "demo", "POST", "/v3/volumes", fmt.Sprintf(`{"volume":{"size":0,"snapshot_id":%q}}`, snapshot))
	f.Want(400, "demo", "DELETE", "/v3/volumes/"+id, "")
	f.Want(202, "demo", "DELETE", "/v3/volumes/"+id+"?cascade=true", "")
	f.becomes("/v3/snapshots/"+snapshot, "snapshot", "")
	f.becomes("/v3/volumes/"+id, "volume", "")
}

func writeAt(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return file.Close()
}

// What a stop leaves half done is done after the next start.
func TestWorkAfterAStop(t *testing.T) {
	t.Parallel()
	f := begin(t, nil)
	id := f.Want(202, "demo", "POST", "/v3/volumes", clientBody).TextAt("volume", "id")
	gone := f.Want(202, "demo", "POST", "/v3/volumes", clientBody).TextAt("volume", "id")
	if _, err := f.pool.Exec(t.Context(), `UPDATE volume.volumes SET status = 'deleting' WHERE id = $1`, gone); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "volume-"+id+".part"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.work()
	f.becomes("/v3/volumes/"+id, "volume", "available")
	f.becomes("/v3/volumes/"+gone, "volume", "")
	left, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil || !reflect.DeepEqual(left, []string{filepath.Join(f.dir, "volume-"+id)}) {
		t.Errorf("files %v %v", left, err)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, evil := filepath.Join(dir, "good"), filepath.Join(dir, "evil")
	if err := os.WriteFile(filepath.Join(dir, "raw"), []byte("bootable"+strings.Repeat("\x00", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"convert", "-f", "raw", "-O", "qcow2", filepath.Join(dir, "raw"), good}, {"create", "-f", "qcow2", "-F", "raw", "-b", "/etc/passwd", evil}} {
		if out, err := exec.Command("qemu-img", args...).CombinedOutput(); err != nil {
			t.Fatalf("qemu-img (package qemu-utils): %v %s", err, out)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isFile := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v2/images/"), "/file")
		switch {
		case name != "good" && name != "evil" && name != "huge" || isFile && r.Header.Get("X-Auth-Token") != "service":
			w.WriteHeader(404)
		case isFile:
			http.ServeFile(w, r, filepath.Join(dir, name))
		default:
			fmt.Fprintf(w, `{"id":%q,"name":"cirros","status":"active","size":1000,"min_disk":%d,"disk_format":"qcow2","os_distro":"x"}`, name, map[string]int{"huge": 9}[name])
		}
	}))
	t.Cleanup(server.Close)
	f := begin(t, &volume.Images{URL: server.URL, Token: func(context.Context) (string, error) { return "service", nil }}).work()
	id := f.volume(`,"size":1,"imageRef":"good"`)
	got := f.Want(200, "demo", "GET", "/v3/volumes/"+id, "")
	if got.At("volume", "bootable") != "true" || !reflect.DeepEqual(got.At("volume", "volume_image_metadata"),
		map[string]any{"image_id": "good", "image_name": "cirros", "size": "1000", "min_disk": "0", "disk_format": "qcow2", "os_distro": "x"}) {
		t.Errorf("volume %s", got.Text)
	}
	text, err := os.Open(filepath.Join(f.dir, "volume-"+id))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	start := make([]byte, 8)
	if _, err := text.Read(start); err != nil || string(start) != "bootable" {
		t.Errorf("the volume begins with %q", start)
	}
	bad := f.Want(202, "demo", "POST", "/v3/volumes", `{"volume":{"size":1,"imageRef":"evil"}}`).TextAt("volume", "id")
	f.becomes("/v3/volumes/"+bad, "volume", "error")
	f.Want(400, "demo", "POST", "/v3/volumes", `{"volume":{"size":1,"imageRef":"huge"}}`)
	wantBody(t, f.Want(404, "demo", "POST", "/v3/volumes", `{"volume":{"size":1,"imageRef":"none"}}`), fault("itemNotFound", 404, "Image none could not be found."))
}

func TestQuotasAndLists(t *testing.T) {
	t.Parallel()
	f := begin(t, nil).work()
	path := "/v3/os-quota-sets/" + ct.DemoProject
	f.Want(403, "demo", "PUT", path, `{"quota_set":{"volumes":3}}`)
	f.Want(200, "admin", "PUT", path, `{"quota_set":{"volumes":3}}`)
	a, b, c := f.volume(`,"size":1`), f.volume(`,"size":2`), f.volume(`,"size":1`)
	wantBody(t, f.Want(413, "demo", "POST", "/v3/volumes", clientBody),
		fault("overLimit", 413, "VolumeLimitExceeded: Maximum number of volumes allowed (3) exceeded for quota 'volumes'."))
	if got := f.Want(200, "demo", "GET", path+"?usage=True", ""); !reflect.DeepEqual(got.At("quota_set", "gigabytes"), map[string]any{"limit": 1000.0, "in_use": 4.0, "reserved": 0.0}) {
		t.Error(got.Text)
	}
	if got := f.Want(200, "demo", "GET", "/v3/limits", ""); got.At("limits", "absolute", "totalVolumesUsed") != 3.0 || got.At("limits", "absolute", "maxTotalVolumes") != 3.0 {
		t.Error(got.Text)
	}
	page := f.Want(200, "demo", "GET", "/v3/volumes?limit=2&with_count=True", "")
	if page.At("count") != 3.0 || page.At("volumes", 0, "id") != c || page.At("volumes", 1, "id") != b || page.At("volumes_links", 0, "rel") != "next" {
		t.Error(page.Text)
	}
	if rest := f.Want(200, "demo", "GET", "/v3/volumes?limit=2&marker="+b, ""); len(rest.At("volumes").([]any)) != 1 || rest.At("volumes", 0, "id") != a {
		t.Error(rest.Text)
	}
	if types := f.Want(200, "demo", "GET", "/v3/types?is_public=none", ""); types.At("volume_types", 0, "name") != "__DEFAULT__" {
		t.Error(types.Text)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	f := begin(t, nil)
	for path, status := range map[string]int{"/": 300, "/v3/": 200} {
		got := f.Want(status, "", "GET", path, "")
		if got.At("versions", 0, "id") != "v3.0" || got.At("versions", 0, "version") != "3.71" || got.At("versions", 0, "min_version") != "3.0" || got.At("versions", 0, "links", 0, "href") != f.Base+"/v3/" {
			t.Error(got.Text)
		}
	}
	f.Header.Set("OpenStack-API-Version", "volume 3.72")
	wantBody(t, f.Want(406, "demo", "GET", "/v3/volumes", ""), fault("computeFault", 406, "Version 3.72 is not supported by the API. Minimum is 3.0 and maximum is 3.71."))
}
