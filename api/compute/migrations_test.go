package compute_test

import (
	"reflect"
	"testing"
)

func TestMigrationsAreShown(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id, other := c.create("alice", "web"), c.create("alice", "db")
	c.settle(id, "active")
	c.settle(other, "active")
	c.move(other, "resize", "error")
	c.move(id, "live-migration", "running")
	resize := c.query(`SELECT id::text FROM compute.migrations WHERE NOT open`)
	live := c.query(`SELECT id::text FROM compute.migrations WHERE open`)
	marker := c.query(`SELECT uuid::text FROM compute.migrations WHERE open`)
	types := func(token, version, query string) []any {
		t.Helper()
		status, body, _ := c.ask(token, version, "GET", "/os-migrations"+query, "")
		if status != 200 {
			t.Fatalf("%s: %d %v", query, status, body)
		}
		found := []any{}
		for _, m := range body["migrations"].([]any) {
			found = append(found, m.(map[string]any)["migration_type"])
		}
		return found
	}
	both, none := []any{"live-migration", "resize"}, []any{}
	for query, want := range map[string][]any{
		"": both, "?host=host-1": both, "?host=host-2": both, "?host=host-3": none, "?source_compute=host-2": none,
		"?instance_uuid=" + id: both[:1], "?instance_uuid=x": none, "?migration_type=resize": both[1:], "?status=running": both[:1],
		"?status=error&status=running": both[:1], "?hidden=true": none, "?hidden=0": both, "?project_id=b0b": none, "?user_id=alice": both,
		"?limit=1": both[:1], "?limit=0": none, "?marker=" + marker: both[1:], "?changes-since=2099-01-01T00:00:00Z": none, "?changes-before=2099-01-01T00:00:00Z": both,
	} {
		if got := types("root", "2.80", query); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	// What an old version doesn't know it takes no notice of.
	if got := types("root", "2.23", "?limit=1&changes-since=2099-01-01T00:00:00Z"); !reflect.DeepEqual(got, []any{both[1], both[0]}) {
		t.Errorf("at 2.23: %v", got)
	}
	of := "/servers/" + id + "/migrations"
	c.play(
		step{"alice", "2.80", "GET", "/os-migrations", "", 403, forbidden("os_compute_api:os-migrations:index")},
		step{"root", "2.58", "GET", "/os-migrations?marker=none", "", 200, ""},
		step{"root", "2.59", "GET", "/os-migrations?marker=none", "", 400, invalid("marker [none] not found")},
		step{"root", "2.66", "GET", "/os-migrations?changes-since=2020-01-02T00:00:00Z&changes-before=2020-01-01T00:00:00Z", "", 400,
			invalid("The value of changes-since must be less than or equal to changes-before.")},
		step{"root", "2.22", "GET", of, "", 404, ""},
		step{"root", "2.23", "GET", "/servers/" + other + "/migrations", "", 200, `{"migrations": []}`},
		step{"root", "2.23", "GET", of + "/x", "", 404, notFound("In-progress live migration x is not found for server " + id + ".")},
		step{"root", "2.23", "GET", of + "/" + resize, "", 404, notFound("In-progress live migration " + resize + " is not found for server " + id + ".")},
		step{"root", "2.23", "GET", "/servers/" + other + "/migrations/" + resize, "", 404,
			notFound("Migration " + resize + " for server " + other + " is not live-migration.")},
		step{"root", "2.23", "GET", of + "/" + live, "", 200, ""},
		step{"alice", "2.23", "GET", of, "", 403, forbidden("os_compute_api:servers:migrations:index")},
		step{"root", "2.23", "GET", "/servers/none/migrations", "", 404, notFound("Instance none could not be found.")},
	)
	c.query(`UPDATE compute.migrations SET status = 'completed' WHERE open RETURNING status`)
	c.play(step{"root", "2.23", "GET", of + "/" + live, "", 404, notFound("Live migration " + live + " for server " + id + " is not in progress.")})
}
