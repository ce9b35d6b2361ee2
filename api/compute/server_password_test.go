package compute_test

import (
	"testing"

	computestore "holdfast.dev/internal/store/compute"
)

// What a guest has posted is shown until it is cleared, by whom the rules let; a
// guest may post again then.
func TestServerPassword(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	path := "/servers/" + id + "/os-server-password"
	shows := func(token, version, want string) step {
		return step{token, version, "GET", path, "", 200, `{"password": "` + want + `"}`}
	}
	missing := notFound("Instance " + id + " could not be found.")
	post := func(password string) {
		t.Helper()
		if err := computestore.PostPassword(t.Context(), c.db.Pool, id, password); err != nil {
			t.Fatal(err)
		}
	}
	c.play(shows("alice", "2.1", ""))
	post("first")
	c.play(
		shows("alice", "2.1", "first"), shows("reader", "2.104", "first"), shows("root", "2.104", "first"),
		step{"alice", "2.104", "GET", path + "?x=1", "", 400, ""},
		step{"bob", "2.1", "GET", path, "", 404, missing},
		step{"bob", "2.1", "DELETE", path, "", 404, missing},
		step{"reader", "2.1", "DELETE", path, "", 403, forbidden("os_compute_api:os-server-password:clear")},
		shows("alice", "2.1", "first"),
		step{"alice", "2.1", "DELETE", path, "", 204, ""}, shows("alice", "2.1", ""),
		step{"alice", "2.104", "DELETE", path, "", 204, ""},
	)
	post("second")
	c.play(shows("alice", "2.104", "second"))
}
