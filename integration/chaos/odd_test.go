package chaos

// What is asked of servers in an odd order, or twice.

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// request is one of a sequence: what is asked of the server, and what is answered. In
// body and says "ID" stands for the server.
type request struct {
	method, version, body string
	byAdmin               bool
	status                int
	says                  string
	// hold is the point at which what is asked for is then held, and has come to; until
	// is the status that the server has once it is let go, "gone" for none at all.
	hold, until string
}

// act is a request for an action, with the answer that it is accepted with.
func act(body string) request {
	return request{method: http.MethodPost, version: "2.74", body: body, status: http.StatusAccepted}
}

func (r request) at(version string) request      { r.version = version; return r }
func (r request) byAdministrator() request       { r.byAdmin = true; return r }
func (r request) answered(status int) request    { r.status = status; return r }
func (r request) heldAt(point string) request    { r.hold = point; return r }
func (r request) becoming(status string) request { r.until = status; return r }

// refused is the request with another answer.
func (r request) refused(status int, says string) request {
	r.status, r.says = status, says
	return r
}

// because is what a server's state makes of an action.
func because(action, attribute, state string) string {
	return fmt.Sprintf("Cannot '%s' instance ID while it is in %s %s", action, attribute, state)
}

var (
	resizeIt  = act(`{"resize": {"flavorRef": "` + cloud.OtherFlavor + `"}}`)
	confirmIt = act(`{"confirmResize": null}`).answered(http.StatusNoContent)
	revertIt  = act(`{"revertResize": null}`)
	migrateIt = act(`{"migrate": null}`).byAdministrator()
	moveIt    = act(`{"os-migrateLive": {"host": null, "block_migration": "auto"}}`).byAdministrator()
	fleeIt    = act(`{"evacuate": {}}`).byAdministrator().answered(http.StatusOK)
	shelveIt  = act(`{"shelve": null}`)
	imageIt   = act(`{"createImage": {"name": "odd"}}`)
	backupIt  = act(`{"createBackup": {"name": "odd", "backup_type": "daily", "rotation": 0}}`)
	deleteIt  = request{method: http.MethodDelete, version: "2.74", status: http.StatusNoContent}
)

const (
	notResized = "Instance has not been resized."
	bad        = http.StatusBadRequest
	clash      = http.StatusConflict
)

// sequences are by what is odd about them; each has a server of its own.
var sequences = map[string][]request{
	"confirmed twice": {
		resizeIt.becoming("VERIFY_RESIZE"),
		resizeIt.refused(clash, because("resize", "vm_state", "resized")),
		confirmIt.heldAt("confirm-resize:records.Begin.done"),
		confirmIt.refused(bad, notResized),
		revertIt.refused(bad, notResized),
		migrateIt.refused(clash, because("migrate", "vm_state", "resized")).becoming("ACTIVE"),
		confirmIt.refused(clash, because("confirmResize", "vm_state", "active")),
		revertIt.refused(clash, because("revertResize", "vm_state", "active")),
	},
	"reverted after its delete": {
		resizeIt.becoming("VERIFY_RESIZE"),
		deleteIt.heldAt("delete:records.Begin.done"),
		revertIt.refused(clash, because("revertResize", "task_state", "deleting")),
		confirmIt.refused(clash, because("confirmResize", "task_state", "deleting")),
		deleteIt.becoming("gone"),
		revertIt.refused(http.StatusNotFound, "Instance ID could not be found."),
		deleteIt.refused(http.StatusNotFound, "Instance ID could not be found."),
	},
	"moved while it is on the shelf": {
		shelveIt.becoming("SHELVED_OFFLOADED"),
		migrateIt.refused(clash, because("migrate", "vm_state", "shelved_offloaded")),
		moveIt.refused(clash, because("os-migrateLive", "vm_state", "shelved_offloaded")),
		resizeIt.refused(clash, because("resize", "vm_state", "shelved_offloaded")),
		fleeIt.refused(clash, because("evacuate", "vm_state", "shelved_offloaded")),
		shelveIt.refused(clash, because("shelve", "vm_state", "shelved_offloaded")),
		imageIt.refused(clash, because("createImage", "vm_state", "shelved_offloaded")),
		act(`{"unshelve": {"availability_zone": "nowhere"}}`).at("2.77").refused(bad, "The requested availability zone is not available"),
		act(`{"unshelve": {"host": "nowhere"}}`).at("2.91").byAdministrator().refused(bad, "Compute host nowhere could not be found."),
		act(`{"unshelve": {"host": "sim-2", "availability_zone": "nova"}}`).at("2.91").byAdministrator().becoming("ACTIVE"),
	},
	"moved while it is rebuilt": {
		act(`{"rebuild": {"imageRef": "IMAGE"}}`).heldAt("rebuild.disk"),
		migrateIt.refused(clash, because("migrate", "task_state", "rebuild_spawning")),
		resizeIt.refused(clash, because("resize", "task_state", "rebuild_spawning")),
		moveIt.refused(clash, because("os-migrateLive", "task_state", "rebuild_spawning")),
		fleeIt.refused(bad, "is still in use."),
		shelveIt.refused(clash, because("shelve", "task_state", "rebuild_spawning")),
		backupIt.refused(clash, because("createBackup", "task_state", "rebuild_spawning")).becoming("ACTIVE"),
	},
	"resized to what it is": {
		act(`{"resize": {"flavorRef": "`+cloud.Flavor+`"}}`).refused(bad, "When resizing, instances must change flavor!"),
	},
	"backed up with nothing to keep": {
		backupIt.at("2.44").becoming("ACTIVE"),
		backupIt.at("2.45").becoming("ACTIVE"),
	},
	"moved by force": {
		act(`{"os-migrateLive": {"host": null, "block_migration": "auto", "force": true}}`).at("2.30").byAdministrator().
			refused(bad, "Can't force to a non-provided destination"),
		act(`{"os-migrateLive": {"host": "nowhere", "block_migration": false, "disk_over_commit": false}}`).at("2.1").byAdministrator().
			refused(bad, "Compute host nowhere could not be found."),
		act(`{"os-migrateLive": {"host": "sim-1", "block_migration": "auto", "force": true}}`).at("2.68").byAdministrator().
			refused(bad, "Additional properties are not allowed ('force' was unexpected)"),
		act(`{"os-migrateLive": {"host": "HOME", "block_migration": "auto", "force": true}}`).at("2.30").byAdministrator().
			refused(bad, "Unable to migrate instance (ID) to current host (HOME)."),
		moveIt.heldAt("migrate.copying"),
		moveIt.refused(clash, because("os-migrateLive", "task_state", "migrating")),
		confirmIt.refused(clash, because("confirmResize", "vm_state", "active")),
		fleeIt.refused(bad, "is still in use.").becoming("ACTIVE"),
	},
}

// Every answer is the contract's, and whatever was refused, or asked for twice, leaves
// nothing behind.
func TestOddSequences(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{Services: true})
	var names, ids []string
	for name := range sequences {
		names = append(names, name)
	}
	ids, err := createAll(t.Context(), c, names, atOnce)
	must(t, err)
	allAre(t, c, ids, "ACTIVE", patience)
	for i, name := range names {
		for n, r := range sequences[name] {
			r.play(t, c, ids[i], fmt.Sprintf("one %s, request %d", name, n+1))
		}
	}
	c.Audit()
	images := imagesOf(t, c)
	delete(images, "") // what they were all made from
	if len(images) > 0 {
		t.Errorf("images are left of servers: %v", images)
	}
	for _, id := range ids {
		if err := c.Delete(t.Context(), id); err != nil && !isGone(err) {
			t.Fatal(err)
		}
	}
	allAre(t, c, ids, "", patience)
	c.Audit()
	once(t, c, nil)
}

// play makes the request of the server and holds its answer against what it must be.
func (r request) play(t *testing.T, c *cloud.Cloud, server, what string) {
	t.Helper()
	home, err := c.Home(t.Context(), server)
	if err != nil {
		home = "nowhere" // it is on no host
	}
	words := strings.NewReplacer("IMAGE", c.Image(), "HOME", home, "ID", server)
	if r.hold != "" {
		must(t, c.Points.Order(server, r.hold))
	}
	token, path := cloud.UserToken, "/v2.1/servers/"+server
	if r.byAdmin {
		token = cloud.HelperToken
	}
	if r.method == http.MethodPost {
		path += "/action"
	}
	header := http.Header{"Content-Type": {"application/json"}, "Openstack-Api-Version": {"compute " + r.version}}
	answer, said, err := c.Ask(t.Context(), token, r.method, path, header, []byte(words.Replace(r.body)))
	must(t, err)
	if want := words.Replace(r.says); answer.StatusCode != r.status || !strings.Contains(string(said), want) {
		t.Errorf("%s is answered %d %s; want %d %q", what, answer.StatusCode, said, r.status, want)
	}
	if r.hold != "" {
		c.Eventually(what+" has come to "+r.hold, patience, here(c, server, r.hold))
	}
	if r.until == "" {
		return
	}
	must(t, c.Points.Release(server))
	if r.until == "gone" {
		r.until = ""
	}
	allAre(t, c, []string{server}, r.until, patience)
}
