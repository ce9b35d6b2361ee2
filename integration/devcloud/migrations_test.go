package devcloud

// A volume that is migrated while a server has it, as administrators do it by the real
// client: Cinder has the server go on on another one, which nobody else may.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast.dev/integration/venv"
)

// swap asks for another volume, by the client's library.
const swap = `
import sys, openstack
try:
    openstack.connect().compute.update_volume_attachment(sys.argv[1], sys.argv[2], volume_id=sys.argv[3])
except openstack.exceptions.HttpException as e:
    print(e.status_code, e.details)
else:
    print("accepted")
`

// client runs a program of the clients' as a user, and gives its words.
func (s *session) client(user, program string, args ...string) []string {
	s.t.Helper()
	env := []string{"OS_CLIENT_CONFIG_FILE=" + s.clouds, "OS_CLOUD=" + user}
	return strings.Fields(s.run(env, venv.Program(s.t, "clients", program), args...))
}

// volume is what an administrator is shown of one, once it is so.
type volume struct {
	Status      string
	Migration   string `json:"migration_status"`
	Attachments []struct {
		ID     string `json:"attachment_id"`
		Server string `json:"server_id"`
	}
}

func (s *session) awaitVolume(id string, so func(volume) bool) (shown volume) {
	s.t.Helper()
	s.eventually(func() string {
		_, text := s.send("admin", http.MethodGet, s.at["volume"]+"/volumes/"+id, "", nil)
		var answer struct{ Volume volume }
		if err := json.Unmarshal(text, &answer); err != nil || !so(answer.Volume) {
			return fmt.Sprintf("the volume is %s, %v", text, err)
		}
		shown = answer.Volume
		return ""
	})
	return shown
}

// migrated gives a server a volume and migrates it. The server has it afterwards, by
// another attachment, and there is no other volume than before.
func migrated(s *session, server string) {
	s.t.Helper()
	made := func(name string) string {
		id := s.client("demo", "openstack", "volume", "create", "--size", "1", "-f", "value", "-c", "id", name)[0]
		s.awaitVolume(id, func(v volume) bool { return v.Status == "available" })
		return id
	}
	moving, spare := made("moving"), made("spare")
	s.client("demo", "openstack", "server", "add", "volume", server, moving)
	before := s.awaitVolume(moving, func(v volume) bool { return v.Status == "in-use" && len(v.Attachments) == 1 })

	want := "409 volume " + moving + " is not migrating; this API should only be called by Cinder"
	if got := strings.Join(s.client("admin", "python", "-c", swap, server, moving, spare), " "); got != want {
		s.t.Errorf("a swap that Cinder doesn't ask for is answered %s, want %s", got, want)
	}

	s.client("admin", "openstack", "volume", "migrate", "--host", "elsewhere", moving)
	after := s.awaitVolume(moving, func(v volume) bool { return v.Migration == "success" })
	if after.Status != "in-use" || len(after.Attachments) != 1 || after.Attachments[0].Server != server || after.Attachments[0].ID == before.Attachments[0].ID {
		s.t.Errorf("the volume is %+v, and was %+v", after, before)
	}
	s.eventually(func() string {
		var swapped []any
		for _, action := range s.ask(http.MethodGet, s.compute+"/servers/"+server+"/os-instance-actions", "", http.StatusOK)["instanceActions"].([]any) {
			if action := action.(map[string]any); action["action"] == "swap_volume" {
				swapped = append(swapped, action["message"])
			}
		}
		if len(swapped) != 1 || swapped[0] != nil {
			return fmt.Sprintf("the server's swaps say %v, want one that says nothing", swapped)
		}
		return ""
	})
	left := s.client("demo", "openstack", "volume", "list", "-f", "value", "-c", "ID")
	slices.Sort(left)
	if want := slices.Sorted(slices.Values([]string{moving, spare})); !slices.Equal(left, want) {
		s.t.Errorf("there are volumes %v, want %v", left, want)
	}
	// It goes as any other.
	s.client("demo", "openstack", "server", "remove", "volume", server, moving)
	s.awaitVolume(moving, func(v volume) bool { return v.Status == "available" })
	for _, id := range []string{moving, spare} {
		s.ask(http.MethodDelete, s.at["volume"]+"/volumes/"+id, "", http.StatusAccepted)
	}
}
