package baremetal_test

import (
	"strings"
	"testing"

	api "holdfast.dev/api/baremetal"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// A node that is deployed has the lessee that its instance names, or the request, until the
// instance is gone; one that has a lessee keeps it.
func TestLessees(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct {
		source         api.LesseeSource
		caller, before string
		during, after  any
	}{
		"of the instance":            {api.LesseeOfInstance, "root", ``, "b0b", nil},
		"of the request":             {api.LesseeOfRequest, "alice", ``, "a11ce", nil},
		"of a request of the system": {api.LesseeOfRequest, "root", ``, nil, nil},
		"of nobody":                  {"none", "alice", ``, nil, nil},
		"of somebody who was there":  {api.LesseeOfInstance, "alice", `, "lessee": "c0c"`, "c0c", "c0c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloudWith(t, func(a *api.API) { a.Lessees = d.source })
			c.conductor("conductor-1", "")
			id := c.enroll("root", `{"driver": "fake-hardware", "owner": "a11ce", "instance_info": {"project_id": "b0b"}`+d.before+`}`)
			c.exec(`UPDATE baremetal.nodes SET provision_state = 'available' WHERE uuid = $1`, id)
			lessee := func() any { return c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body["lessee"] }
			c.play(step{d.caller, "1.115", "PUT", "/v1/nodes/" + id + "/states/provision", `{"target": "active"}`, 202, ""})
			if got := lessee(); got != d.during {
				t.Errorf("it is lent to %v", got)
			}
			computetest.InTx(t, c.db, func(tx store.Tx) error {
				n, err := baremetal.Nodes.Lock(t.Context(), tx, id, false)
				if err != nil {
					return err
				}
				return baremetal.Vacate(t.Context(), tx, n, nil)
			})
			n, err := baremetal.Nodes.Find(t.Context(), c.db.Pool, id, false)
			if got := lessee(); err != nil || got != d.after || strings.Contains(string(n.DriverInternalInfo), "automatic_lessee") {
				t.Errorf("it is lent to %v still, %v", got, err)
			}
		})
	}
}
