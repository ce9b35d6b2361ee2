package compute_test

import (
	"fmt"
	"testing"
)

func TestAggregates(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	aggregate := func(name, zone, hosts, metadata, updated string) string {
		return fmt.Sprintf(`{"aggregate": {"id": 1, "name": %q, "availability_zone": %q, "hosts": [%s], "metadata": {"availability_zone": %[2]q%[4]s},
			"created_at": "*", "updated_at": %[5]s, "deleted": false, "deleted_at": null}}`, name, zone, hosts, metadata, updated)
	}
	c.play(
		step{"alice", "2.1", "POST", "/os-aggregates", `{"aggregate": {"name": "a"}}`, 403, forbidden("os_compute_api:os-aggregates:create")},
		step{"root", "2.1", "GET", "/os-aggregates", "", 200, `{"aggregates": []}`},
		step{"root", "2.1", "POST", "/os-aggregates", `{"aggregate": {"name": " fast", "availability_zone": "east"}}`, 400, ""},
		step{"root", "2.1", "POST", "/os-aggregates", `{"aggregate": {"name": "fast", "availability_zone": "east"}}`, 200,
			`{"aggregate": {"id": 1, "name": "fast", "availability_zone": "east", "created_at": "*", "updated_at": null, "deleted": false, "deleted_at": null}}`},
		step{"root", "2.1", "POST", "/os-aggregates", `{"aggregate": {"name": "fast"}}`, 409, conflict("Aggregate fast already exists.")},
		step{"root", "2.1", "GET", "/os-aggregates/x", "", 400, invalid("Invalid input received: id must be an integer")},
		step{"root", "2.1", "GET", "/os-aggregates/7", "", 404, notFound("Aggregate 7 could not be found.")},
		step{"root", "2.1", "GET", "/os-aggregates/99999999999999999999", "", 404, notFound("Aggregate 99999999999999999999 could not be found.")},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"add_host": {"host": "none"}}`, 404, notFound("Compute host none could not be found.")},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"remove_host": {"host": "host-1"}}`, 404, notFound("Cannot remove host host-1 in aggregate 1")},
		step{"root", "2.1", "POST", "/os-aggregates/7/action", `{"add_host": {"host": "host-1"}}`, 404, notFound("Aggregate 7 could not be found.")},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"add_host": {"host": "host-1"}}`, 200,
			aggregate("fast", "east", `"host-1"`, "", "null")},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"add_host": {"host": "host-1"}}`, 409, conflict("Aggregate 1 already has host host-1.")},
		step{"alice", "2.1", "GET", "/os-availability-zone", "", 200, `{"availabilityZoneInfo": [{"zoneName": "east", "zoneState": {"available": true}, "hosts": null}]}`},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"set_metadata": {"metadata": {"ssd": "true", "x": "1"}}}`, 200, ""},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"set_metadata": {"metadata": {"x": null}}}`, 200,
			aggregate("fast", "east", `"host-1"`, `, "ssd": "true"`, `"*"`)},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"set_metadata": {"metadata": {"availability_zone": null}}}`, 400,
			invalid("Cannot update metadata of aggregate 1. Reason: Aggregate fast does not support empty named availability zone.")},
		step{"root", "2.1", "PUT", "/os-aggregates/1", `{"aggregate": {"name": "faster"}}`, 200, aggregate("faster", "east", `"host-1"`, `, "ssd": "true"`, `"*"`)},
		step{"root", "2.1", "PUT", "/os-aggregates/1", `{"aggregate": {"availability_zone": "west"}}`, 200, aggregate("faster", "west", `"host-1"`, `, "ssd": "true"`, `"*"`)},
		step{"root", "2.1", "POST", "/os-aggregates", `{"aggregate": {"name": "other", "availability_zone": "north"}}`, 200, ""},
	)
	second := c.query(`SELECT id::text FROM compute.aggregates WHERE name = 'other'`)
	c.play(
		step{"root", "2.1", "POST", "/os-aggregates/" + second + "/action", `{"add_host": {"host": "host-1"}}`, 409,
			conflict("Cannot add host to aggregate " + second + ". Reason: One or more hosts already in availability zone(s) ['west'].")},
		step{"root", "2.1", "DELETE", "/os-aggregates/1", "", 400, invalid("Cannot remove host from aggregate 1. Reason: Host aggregate is not empty.")},
	)
	if zone := c.query(`SELECT availability_zone FROM compute.hosts`); zone != "west" {
		t.Errorf("the host's zone is %s", zone)
	}

	// With a server on the host its zone stays.
	id := c.create("alice", "web")
	c.query(`UPDATE compute.servers SET host_id = $1 WHERE id = $2 RETURNING id::text`, hostID, id)
	c.query(`UPDATE compute.hosts SET servers = 1 RETURNING id::text`)
	moved := func(how, to string) string {
		return fmt.Sprintf("Reason: The host cannot be %s the aggregate as the availability zone of the host would change from 'west' to '%s' "+
			"but the host already has 1 instance(s). Changing the AZ of an existing instance is not supported by this action. Move the instances away "+
			"from this host then try again. If you need to move the instances between AZs then you can use shelve_offload and unshelve to achieve this.", how, to)
	}
	c.play(
		step{"root", "2.1", "PUT", "/os-aggregates/1", `{"aggregate": {"availability_zone": "south"}}`, 400,
			invalid("Cannot update aggregate 1. Reason: One or more hosts contain instances in this zone.")},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"remove_host": {"host": "host-1"}}`, 409,
			conflict("Cannot remove host from aggregate 1. " + moved("removed from", "nova"))},
	)
	c.query(`UPDATE compute.hosts SET servers = 0 RETURNING id::text`)
	c.play(
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"remove_host": {"host": "host-1"}}`, 200, aggregate("faster", "west", "", `, "ssd": "true"`, `"*"`)},
		step{"root", "2.41", "GET", "/os-aggregates/1", "", 200, `{"aggregate": {"id": 1, "uuid": "*", "name": "faster", "availability_zone": "west", "hosts": [],
			"metadata": {"availability_zone": "west", "ssd": "true"}, "created_at": "*", "updated_at": "*", "deleted": false, "deleted_at": null}}`},
		step{"root", "2.1", "DELETE", "/os-aggregates/1", "", 200, ""},
		step{"root", "2.1", "DELETE", "/os-aggregates/1", "", 404, notFound("Aggregate 1 could not be found.")},
	)
	if zone := c.query(`SELECT availability_zone FROM compute.hosts`); zone != "nova" {
		t.Errorf("out of the aggregate the host's zone is %s", zone)
	}
}
