package hostile

// Every operation asked by those who may not: the verdict is the one that the
// contract's default policies give.

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/contracttest"
)

// operation is a row of contracts/compute/operations.json.
type operation struct {
	Method, Path, Action string
	Policies             []string
	Microversion         struct{ Min string }
	Removed              bool `json:"removed_410"`
}

func (o operation) String() string {
	return strings.TrimSpace(o.Method + " " + o.Path + " " + o.Action)
}

const nothing = "00000000-0000-4000-8000-00000000dead"

// bodies pass the schemas of their rows and come to nothing all the same: what
// they name isn't there, or is there already.
var bodies = map[string]string{
	"POST /os-aggregates":                                 `{"aggregate": {"name": "x"}}`,
	"PUT /os-aggregates/{id}":                             `{"aggregate": {"name": "x"}}`,
	"POST /os-aggregates/{id}/action add_host":            `{"add_host": {"host": "x"}}`,
	"POST /os-aggregates/{id}/action remove_host":         `{"remove_host": {"host": "x"}}`,
	"POST /os-aggregates/{id}/action set_metadata":        `{"set_metadata": {"metadata": {"a": "b"}}}`,
	"POST /os-aggregates/{id}/images":                     `{"cache": [{"id": "` + nothing + `"}]}`,
	"POST /servers":                                       `{"server": {"name": "x", "flavorRef": "nosuch", "imageRef": "` + cloud.Image + `"}}`,
	"PUT /servers/{id}":                                   `{"server": {"name": "x"}}`,
	"POST /servers/{server_id}/metadata":                  `{"metadata": {"a": "b"}}`,
	"PUT /servers/{server_id}/metadata":                   `{"metadata": {"a": "b"}}`,
	"PUT /servers/{server_id}/metadata/{id}":              `{"meta": {"` + nothing + `": "b"}}`,
	"PUT /servers/{server_id}/tags":                       `{"tags": ["a"]}`,
	"PUT /servers/{server_id}/tags/{id}":                  "",
	"POST /servers/{id}/action reboot":                    `{"reboot": {"type": "SOFT"}}`,
	"POST /servers/{id}/action os-getConsoleOutput":       `{"os-getConsoleOutput": {}}`,
	"POST /flavors":                                       `{"flavor": {"id": "hidden", "name": "hidden", "ram": 1, "vcpus": 1, "disk": 1}}`,
	"PUT /flavors/{id}":                                   `{"flavor": {"description": "x"}}`,
	"POST /flavors/{id}/action addTenantAccess":           `{"addTenantAccess": {"tenant": "x"}}`,
	"POST /flavors/{id}/action removeTenantAccess":        `{"removeTenantAccess": {"tenant": "x"}}`,
	"POST /flavors/{flavor_id}/os-extra_specs":            `{"extra_specs": {"a": "b"}}`,
	"PUT /flavors/{flavor_id}/os-extra_specs/{id}":        `{"` + nothing + `": "b"}`,
	"POST /os-keypairs":                                   `{"keypair": {"name": "x", "public_key": "garbage"}}`,
	"PUT /os-hosts/{id}":                                  `{"status": "enable"}`,
	"PUT /os-services/{id}":                               `{"host": "h", "binary": "nova-compute"}`,
	"PUT /os-quota-sets/{id}":                             `{"quota_set": {"cores": 20}}`,
	"PUT /os-quota-class-sets/{id}":                       `{"quota_class_set": {"cores": 20}}`,
	"POST /os-server-external-events":                     `{"events": [{"name": "network-vif-plugged", "server_uuid": "` + nothing + `"}]}`,
	"POST /servers/{server_id}/os-interface":              `{"interfaceAttachment": {}}`,
	"POST /servers/{server_id}/os-volume_attachments":     `{"volumeAttachment": {"volumeId": "` + nothing + `"}}`,
	"PUT /servers/{server_id}/os-volume_attachments/{id}": `{"volumeAttachment": {"volumeId": "` + nothing + `"}}`,
	"POST /servers/{id}/action createImage":               `{"createImage": {"name": "x"}}`,
	"POST /servers/{id}/action createBackup":              `{"createBackup": {"name": "x", "backup_type": "daily", "rotation": 1}}`,
	"POST /servers/{server_id}/remote-consoles":           `{"remote_console": {"protocol": "vnc", "type": "novnc"}}`,
	"POST /os-server-groups":                              `{"server_group": {"name": "x", "policies": ["affinity"]}}`,
	"POST /servers/{id}/action addFixedIp":                `{"addFixedIp": {"networkId": "` + nothing + `"}}`,
	"POST /servers/{id}/action removeFixedIp":             `{"removeFixedIp": {"address": "192.0.2.1"}}`,
	"POST /servers/{id}/action evacuate":                  `{"evacuate": {"onSharedStorage": false}}`,
	"POST /servers/{id}/action rebuild":                   `{"rebuild": {"imageRef": "` + nothing + `"}}`,
	"POST /servers/{id}/action os-migrateLive":            `{"os-migrateLive": {"host": null, "block_migration": false, "disk_over_commit": false}}`,
	"POST /servers/{id}/action resize":                    `{"resize": {"flavorRef": "1"}}`,
	"POST /servers/{id}/action os-resetState":             `{"os-resetState": {"state": "active"}}`,
	"POST /servers/{id}/action addSecurityGroup":          `{"addSecurityGroup": {"name": "x"}}`,
	"POST /servers/{id}/action removeSecurityGroup":       `{"removeSecurityGroup": {"name": "x"}}`,
}

// own are the rows' own rules where the contract's list begins with another, of
// a part of what is shown.
var own = map[string]string{
	"GET /flavors/detail": "", "GET /flavors/{id}": "",
	"GET /servers/detail": "os_compute_api:servers:detail",
	"GET /servers/{id}":   "os_compute_api:servers:show",
	"PUT /servers/{id}":   "os_compute_api:servers:update",
	"GET /servers/{server_id}/os-instance-actions/{id}": "os_compute_api:os-instance-actions:show",
	"POST /servers/{id}/action rebuild":                 "os_compute_api:servers:rebuild",
}

// rule is the row's own; empty if everybody may.
func (o operation) rule() string {
	if rule, ok := own[o.String()]; ok || len(o.Policies) == 0 {
		return rule
	}
	return o.Policies[0]
}

// foundFirst says that a group is looked for before the rule is asked of it.
func (o operation) foundFirst() bool { return strings.HasPrefix(o.Path, "/os-server-groups/{") }

func (o operation) body() string {
	if body, ok := bodies[o.String()]; ok {
		return body
	}
	if o.Action != "" {
		return `{"` + o.Action + `": null}`
	}
	return ""
}

// url names nothing but a project's own quota.
func (o operation) url(id string) string {
	if strings.HasPrefix(o.Path, "/os-quota-sets/") {
		id = "a11ce"
	}
	return "/v2.1" + regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(o.Path, id)
}

// rules are the names of the contract's checks by what they ask for.
func rules(t *testing.T) map[string]string {
	t.Helper()
	var contract struct {
		Rules []struct {
			Name  string
			Check string `json:"check_str"`
		}
	}
	contracttest.Read(t, "compute/policies.json", &contract)
	checks := map[string]string{}
	for _, rule := range contract.Rules {
		checks[rule.Name] = rule.Check
	}
	return checks
}

// may says whom each check of the contract lets through, in their own project.
var may = map[string][]string{
	"@":                             {"nobody", "reader", "member", "admin"},
	"rule:project_reader_or_admin":  {"reader", "member", "admin"},
	"rule:project_member_or_admin":  {"member", "admin"},
	"rule:project_manager_or_admin": {"admin"},
	"rule:service_or_admin":         {"admin"},
	"rule:context_is_admin":         {"admin"},
	"!":                             {},
	"(rule:context_is_admin) or user_id:%(user_id)s": {"nobody", "reader", "member", "admin"},
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cloud.Options{Hosts: 1})
	var contract struct{ Operations []operation }
	contracttest.Read(t, "compute/operations.json", &contract)
	checks := rules(t)
	server := w.ids.fill.Replace("{server}")
	served, asked := 0, 0
	for _, o := range contract.Operations {
		if o.Removed || o.Path == "/" || o.Path == "/versions/{id}" || !w.serves(o, "admin") {
			continue
		}
		served++
		for _, token := range []string{"", "no such token"} {
			answer, text := w.askOperation(o, token, nothing)
			if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "requires authentication") {
				t.Errorf("%s with token %q: %d %s", o, token, answer.StatusCode, text)
			}
			asked++
		}
		for _, who := range []string{"nobody", "reader", "member", "admin"} {
			answer, text := w.askOperation(o, who, nothing)
			asked++
			checkVerdict(t, o, checks, who, answer.StatusCode, text)
		}
		if strings.HasPrefix(o.Path, "/servers/{") {
			answer, text := w.askOperation(o, "other", server)
			asked++
			refused := answer.StatusCode == http.StatusForbidden && !slices.Contains(may[checks[o.rule()]], "member")
			if !refused && (answer.StatusCode != http.StatusNotFound || !strings.Contains(text, "could not be found")) {
				t.Errorf("%s of another project's server: %d %s", o, answer.StatusCode, text)
			}
		}
	}
	t.Logf("%d operations, asked %d times", served, asked)
	if served < 60 {
		t.Errorf("only %d operations are served", served)
	}
}

var refusedRule = regexp.MustCompile(`^Policy doesn't allow (\S+) to be performed\.$`)

// checkVerdict holds an answer against the row's own rule, and a
// refusal against the rule that it names.
func checkVerdict(t *testing.T, o operation, checks map[string]string, who string, status int, text string) {
	t.Helper()
	if o.rule() == "" {
		if status == http.StatusForbidden || status == http.StatusUnauthorized {
			t.Errorf("%s as %s: %d, and no policy", o, who, status)
		}
		return
	}
	allowed := slices.Contains(may[checks[o.rule()]], who) || o.foundFirst() && status == http.StatusNotFound
	if status != http.StatusForbidden {
		if !allowed {
			t.Errorf("%s as %s: %d %s, but %s is %q", o, who, status, text, o.rule(), checks[o.rule()])
		}
		return
	}
	var body map[string]struct{ Message string }
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	named := refusedRule.FindStringSubmatch(body["forbidden"].Message)
	if named == nil || !slices.Contains(o.Policies, named[1]) || slices.Contains(may[checks[named[1]]], who) {
		t.Errorf("%s as %s: %s, of %v", o, who, text, o.Policies)
	}
}

// serves says whether the server has the operation.
func (w *world) serves(o operation, admin string) bool {
	answer, text := w.askOperation(o, admin, "00000000-0000-4000-8000-00000000feed")
	return !(answer.StatusCode == http.StatusNotFound && strings.Contains(text, "The resource could not be found.<br />") ||
		strings.Contains(text, "There is no such action"))
}

func (w *world) askOperation(o operation, token, id string) (*http.Response, string) {
	w.t.Helper()
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "Openstack-Api-Version": {"compute " + o.Microversion.Min}}
	answer, text, err := w.Ask(w.t.Context(), token, o.Method, o.url(id), h, []byte(strings.ReplaceAll(o.body(), nothing, id)))
	if err != nil {
		w.t.Fatal(err)
	}
	return answer, string(text)
}
