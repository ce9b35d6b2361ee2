package volume_test

// A volume that is migrated while a server uses it.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ct "holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/volume"
	"holdfast.dev/internal/testenv"
)

const server = "5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d11"

// moving is a volume in use, the one that it is migrated to, and what the compute
// service is asked.
type moving struct {
	*fixture
	old, new, attached string
	asked              chan string
}

func (m *moving) attach(id string) string {
	m.t.Helper()
	at := m.Want(200, "demo", "POST", "/v3/attachments", fmt.Sprintf(`{"attachment":{"volume_uuid":%q,"instance_uuid":%q,"connector":{"host":"one"}}}`, id, server)).TextAt("attachment", "id")
	m.Want(204, "demo", "POST", "/v3/attachments/"+at+"/action", `{"os-complete":null}`)
	return at
}

func (m *moving) volumeOf(id string) ct.Answer {
	return m.Want(200, "admin", "GET", "/v3/volumes/"+id, "")
}

func (m *moving) act(status int, body string) ct.Answer {
	m.t.Helper()
	return m.Want(status, "admin", "POST", "/v3/volumes/"+m.old+"/action", body)
}

// migrating has the compute service answer so.
func migrating(t *testing.T, answer int) *moving {
	t.Helper()
	m := &moving{fixture: begin(t, nil), asked: make(chan string, 1)}
	compute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.asked <- r.Method + " " + r.URL.Path + " " + r.Header.Get("X-Auth-Token") + " " + string(body)
		w.WriteHeader(answer)
	}))
	t.Cleanup(compute.Close)
	m.s.Servers = &volume.Servers{URL: compute.URL + "/v2.1", Token: func(context.Context) (string, error) { return "secret", nil }}
	m.work()
	m.old = m.volume(`,"size":1,"description":"d"`)
	m.attached = m.attach(m.old)
	m.act(400, `{"os-migrate_volume":{}}`)
	m.act(400, `{"os-migrate_volume":{"host":"development@file#file"}}`)
	m.Want(403, "demo", "POST", "/v3/volumes/"+m.old+"/action", `{"os-migrate_volume":{"host":"elsewhere"}}`)
	m.act(202, `{"os-migrate_volume":{"host":"elsewhere","force_host_copy":false,"lock_volume":false}}`)
	m.act(400, `{"os-migrate_volume":{"host":"elsewhere"}}`)
	var asked string
	select {
	case asked = <-m.asked:
	case <-time.After(testenv.Patience):
		t.Fatal("the compute service is never asked")
	}
	if at := strings.LastIndex(asked, `:"`); at >= 0 {
		m.new = strings.TrimRight(asked[at+2:], `"}`)
	}
	if want := fmt.Sprintf(`PUT /v2.1/servers/%s/os-volume_attachments/%s secret {"volumeAttachment":{"volumeId":"%s"}}`, server, m.old, m.new); asked != want || m.new == m.old || m.new == "" {
		t.Errorf("the compute service is asked %s, want %s", asked, want)
	}
	return m
}

// marked writes a word into the file of a volume, by its id or by another name.
func (m *moving) marked(id, word string) {
	m.t.Helper()
	file, err := os.OpenFile(filepath.Join(m.dir, "volume-"+id), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(word)
		_ = file.Close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *moving) holds(id, word string) {
	m.t.Helper()
	file, err := os.Open(filepath.Join(m.dir, "volume-"+id))
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close()
	start := make([]byte, len(word))
	if _, err := io.ReadFull(file, start); err != nil || string(start) != word {
		m.t.Errorf("the file of %s holds %q, %v, want %q", id, start, err, word)
	}
}

func TestMigration(t *testing.T) {
	t.Parallel()
	m := migrating(t, http.StatusAccepted)
	if v := m.volumeOf(m.old); v.At("volume", "migration_status") != "migrating" || v.At("volume", "status") != "in-use" {
		t.Errorf("the volume is %s", v.Text)
	}
	if v := m.volumeOf(m.new); v.At("volume", "migration_status") != "target:"+m.old || v.At("volume", "description") != "d" {
		t.Errorf("the new one is %s", v.Text)
	}
	m.Want(400, "demo", "DELETE", "/v3/volumes/"+m.new, "")
	// Nobody sees that it goes.
	m.Want(202, "demo", "POST", "/v3/volumes/"+m.old+"/action", `{"os-begin_detaching":null}`)
	if v := m.volumeOf(m.old); v.At("volume", "status") != "in-use" {
		t.Errorf("the volume is %s", v.Text)
	}
	m.marked(m.old, "old")
	m.marked(m.new, "new")
	at := m.attach(m.new)
	other := m.volume(`,"size":1,"description":"d"`)
	m.act(400, `{"os-migrate_volume_completion":{"new_volume":"`+other+`","error":false}}`)
	m.Header.Set("X-Service-Token", "service")
	m.Want(200, "demo", "DELETE", "/v3/attachments/"+m.attached, "")
	if saved := m.act(200, `{"os-migrate_volume_completion":{"new_volume":"`+m.new+`","error":false}}`); saved.At("save_volume_id") != m.old {
		t.Errorf("saved %s", saved.Text)
	}
	m.holds(m.old, "new")
	m.marked(m.new, "who has it by its other name writes there too")
	m.holds(m.old, "who has it by its other name writes there too")
	v := m.volumeOf(m.old)
	if v.At("volume", "migration_status") != "success" || v.At("volume", "status") != "in-use" || v.TextAt("volume", "attachments", 0, "attachment_id") != at || v.At("volume", "os-vol-mig-status-attr:name_id") != m.new {
		t.Errorf("the volume is %s", v.Text)
	}
	m.Want(404, "admin", "GET", "/v3/volumes/"+m.new, "")
	m.Want(200, "demo", "DELETE", "/v3/attachments/"+at, "")
	m.Want(202, "demo", "DELETE", "/v3/volumes/"+m.old, "")
	m.becomes("/v3/volumes/"+m.old, "volume", "")
	for _, id := range []string{m.old, m.new} {
		if _, err := os.Lstat(filepath.Join(m.dir, "volume-"+id)); !os.IsNotExist(err) {
			t.Errorf("the file of %s is left: %v", id, err)
		}
	}
}

// One that fails, or that the compute service refuses, leaves the volume as it was.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	for _, answer := range []int{http.StatusAccepted, http.StatusConflict} {
		t.Run(http.StatusText(answer), func(t *testing.T) {
			t.Parallel()
			m := migrating(t, answer)
			if answer == http.StatusAccepted {
				m.act(200, `{"os-migrate_volume_completion":{"new_volume":"`+m.new+`","error":true}}`)
			}
			m.becomes("/v3/volumes/"+m.new, "volume", "")
			v := m.volumeOf(m.old)
			if v.At("volume", "migration_status") != "error" || v.At("volume", "status") != "in-use" || v.TextAt("volume", "attachments", 0, "attachment_id") != m.attached {
				t.Errorf("the volume is %s", v.Text)
			}
		})
	}
}

// A server that the compute service is slow to answer for holds up neither another's
// migration nor volumes that are made; only so many are asked for at once.
func TestMigrationsSideBySide(t *testing.T) {
	t.Parallel()
	f := begin(t, nil)
	asked, answer := make(chan string, 20), make(chan struct{})
	compute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		<-answer
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(compute.Close)
	goOn := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(goOn)
	f.s.Servers = &volume.Servers{URL: compute.URL, Token: func(context.Context) (string, error) { return "secret", nil }}
	f.work()
	f.Want(200, "admin", "PUT", "/v3/os-quota-sets/"+ct.DemoProject, `{"quota_set": {"volumes": -1}}`)
	m := &moving{fixture: f}
	for range 10 {
		m.old = m.volume(`,"size":1`)
		m.attach(m.old)
		m.act(202, `{"os-migrate_volume":{"host":"elsewhere"}}`)
	}
	paths := map[string]bool{}
	for range 8 {
		select {
		case path := <-asked:
			paths[path] = true
		case <-time.After(testenv.Patience):
			t.Fatalf("%d are asked for", len(paths))
		}
	}
	f.volume(`,"size":1`)
	if len(asked) > 0 {
		t.Errorf("one more than eight is asked for")
	}
	goOn()
	for range 2 {
		paths[<-asked] = true
	}
	if len(paths) != 10 {
		t.Errorf("asked for are %v", paths)
	}
}

// An administrator resets the status of a migration, and puts it back: until then
// nobody can complete it.
func TestResetMigration(t *testing.T) {
	t.Parallel()
	m := migrating(t, http.StatusAccepted)
	m.act(400, `{"os-reset_status":{}}`)
	m.act(400, `{"os-reset_status":{"migration_status":"target:`+m.old+`"}}`)
	m.act(202, `{"os-reset_status":{"migration_status":"none"}}`)
	if v := m.volumeOf(m.old); v.At("volume", "migration_status") != nil || v.At("volume", "status") != "in-use" {
		t.Errorf("the volume is %s", v.Text)
	}
	m.act(400, `{"os-migrate_volume_completion":{"new_volume":"`+m.new+`","error":true}}`)
	m.act(202, `{"os-reset_status":{"migration_status":"migrating"}}`)
	m.act(200, `{"os-migrate_volume_completion":{"new_volume":"`+m.new+`","error":true}}`)
}

// Of volumes that nobody migrates only the attachments move.
func TestCompletionOfNoMigration(t *testing.T) {
	t.Parallel()
	m := &moving{fixture: begin(t, nil).work()}
	m.old, m.new = m.volume(`,"size":1,"description":"d"`), m.volume(`,"size":1,"description":"d"`)
	m.act(400, `{"os-migrate_volume":{"host":"elsewhere"}}`)
	at := m.attach(m.old)
	if saved := m.act(200, `{"os-migrate_volume_completion":{"new_volume":"`+m.new+`","error":false}}`); saved.At("save_volume_id") != m.new {
		t.Errorf("saved %s", saved.Text)
	}
	if v := m.volumeOf(m.new); v.TextAt("volume", "attachments", 0, "attachment_id") != at || v.At("volume", "status") != "in-use" {
		t.Errorf("the new one is %s", v.Text)
	}
	if v := m.volumeOf(m.old); v.At("volume", "status") != "available" {
		t.Errorf("the volume is %s", v.Text)
	}
}
