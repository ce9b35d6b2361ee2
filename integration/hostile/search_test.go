package hostile

// Looking for texts in everything that a cloud leaves behind.

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/store"
)

// forms are the shapes that a text can have inside other bytes: as it is, as
// hexadecimal digits, and as base64 of a longer text that begins with 0, 1 or 2
// bytes before it in a group of three.
func forms(text []byte) [][]byte {
	digits := hex.EncodeToString(text)
	all := [][]byte{text, []byte(digits), []byte(strings.ToUpper(digits))}
	for before := range 3 {
		// Characters that depend on neighbours are left out at both ends.
		whole := (before + len(text)) / 3 * 3
		group := append(make([]byte, before), text...)[:whole]
		skip := 0
		if before > 0 {
			skip = 4
		}
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, []byte(alphabet.EncodeToString(group)[skip:]))
		}
	}
	return all
}

// holds says whether content has the text in it in some form.
func holds(content, text []byte) bool {
	return slices.ContainsFunc(forms(text), func(form []byte) bool { return bytes.Contains(content, form) })
}

func TestFormsAreFound(t *testing.T) {
	t.Parallel()
	secret := []byte("s?>cr~t/" + rand.Text())
	for before := range 7 {
		long := slices.Concat(bytes.Repeat([]byte("x"), before), secret, []byte("and more"))
		for name, content := range map[string]string{
			"raw": string(long), "hex": hex.EncodeToString(long), "HEX": strings.ToUpper(hex.EncodeToString(long)),
			"base64": base64.StdEncoding.EncodeToString(long), "base64url": base64.URLEncoding.EncodeToString(long),
		} {
			if !holds([]byte(content), secret) {
				t.Errorf("not found in %s after %d bytes: %s", name, before, content)
			}
			if holds([]byte(content), []byte("s?>cr~t/"+rand.Text())) {
				t.Errorf("another one is found in %s", content)
			}
		}
	}
}

// place is somewhere that things are left.
type place struct {
	name string
	// each hands over all that is there, in pieces, with the name of each.
	each func(look func(where string, content []byte))
	// meant is what has to be found there, or the search would be blind.
	meant []string
}

// find names the pieces of the place that hold each of the texts.
func (p place) find(texts ...[]byte) map[string][]string {
	found := map[string][]string{}
	p.each(func(where string, content []byte) {
		for _, text := range texts {
			if holds(content, text) && !slices.Contains(found[string(text)], where) {
				found[string(text)] = append(found[string(text)], where)
			}
		}
	})
	return found
}

// tables are every column of every row that a database has.
func tables(t *testing.T, dsn string) func(look func(string, []byte)) {
	return func(look func(string, []byte)) {
		t.Helper()
		db, err := store.Open(t.Context(), dsn, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, name := range column(t, db, `SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
			WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`) {
			rows, err := db.Pool.Query(t.Context(), `SELECT * FROM `+name)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				for i, value := range rows.RawValues() {
					look(name+"."+rows.FieldDescriptions()[i].Name, value)
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// column is what a query of one gives.
func column(t *testing.T, db *store.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// files are all below a folder, by their names and with what is in them.
func files(t *testing.T, roots ...string) func(look func(string, []byte)) {
	return func(look func(string, []byte)) {
		t.Helper()
		for _, root := range roots {
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return err
				}
				content, err := os.ReadFile(path)
				look(path, slices.Concat([]byte(path+"\n"), content))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// texts is a piece that is asked for.
func texts(ask func() map[string]string) func(look func(string, []byte)) {
	return func(look func(string, []byte)) {
		for where, text := range ask() {
			look(where, []byte(text))
		}
	}
}

// places are all where a cloud leaves things. A server is found by its name and
// id, on hosts while it is there; hosts log what failed.
func (w *world) places(name, id, failed string, onHost bool) []place {
	all := []place{}
	for database, dsn := range w.Databases() {
		meant := []string{id}
		if !strings.Contains(database, "visibility") {
			meant = append(meant, name)
		}
		all = append(all, place{"database " + database, tables(w.t, dsn), meant})
	}
	for _, log := range w.Logs() {
		meant := []string{id}
		switch filepath.Base(log) {
		case "host.log":
			meant = []string{failed}
		case "log":
			meant = []string{"database system is ready"}
		case "temporal.log":
			meant = nil // it warns of nothing
		}
		all = append(all, place{"log " + filepath.Base(log), files(w.t, log), meant})
	}
	state := column(w.t, w.DB, `SELECT id::text FROM compute.hosts`)
	if onHost {
		state = append(state, name, id)
	}
	return append(all,
		place{"state of hosts", files(w.t, w.StateDir()), state},
		place{"metrics", texts(w.metrics), []string{"holdfast_api_requests_total", "holdfast_host_up", "holdfast_step_seconds"}},
		place{"command lines", texts(w.commandLines), []string{"--config"}},
		place{"operator's commands", texts(w.commands), []string{id, "findings"}},
	)
}

func (w *world) metrics() map[string]string {
	all := map[string]string{}
	for _, name := range []cloud.Name{cloud.API, cloud.Control, cloud.Host} {
		all[string(name)] = w.get("http://" + w.Telemetry(name) + "/metrics")
		all["health of "+string(name)] = w.get("http://" + w.Telemetry(name) + "/healthcheck")
	}
	return all
}

func (w *world) commandLines() map[string]string {
	all := map[string]string{}
	for _, name := range []cloud.Name{cloud.API, cloud.Control, cloud.Host} {
		all[string(name)] = w.CommandLine(name)
	}
	return all
}

func (w *world) commands() map[string]string {
	all := map[string]string{}
	for _, args := range [][]string{
		{"operations", "list", "--json", "--limit", "1000"}, {"operations", "list", "--limit", "1000"}, {"audit", "--json"}, {"audit"}, {"host", "list"},
	} {
		all[strings.Join(args, " ")], _ = w.Try(args...) // the audit's exit code says what it found
	}
	for _, id := range column(w.t, w.DB, `SELECT id FROM engine.operations`) {
		all["operations show "+id] = w.CLI("operations", "show", id, "--json")
	}
	return all
}

// search fails the test if a place holds one of the secrets, or lacks what is
// meant to be there.
func search(t *testing.T, secrets map[string][]byte, places []place) {
	t.Helper()
	for _, p := range places {
		wanted := [][]byte{}
		for _, secret := range secrets {
			wanted = append(wanted, secret)
		}
		for _, meant := range p.meant {
			wanted = append(wanted, []byte(meant))
		}
		found := p.find(wanted...)
		for _, meant := range p.meant {
			if len(found[meant]) == 0 {
				t.Errorf("%s: %q is not found, which is meant to be there", p.name, meant)
			}
		}
		for what, secret := range secrets {
			if where := found[string(secret)]; len(where) > 0 {
				t.Errorf("%s: the %s stands in %s", p.name, what, where)
			}
		}
	}
	t.Logf("%d secrets, %d places", len(secrets), len(places))
}
