package policy

// The defaults in schemas/policies are the contract's, and what they mean.

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/schemas"
)

// go test ./internal/policy -run TestDefaults -update writes the defaults anew
// from the contract.
var update = flag.Bool("update", false, "write schemas/policies from the contract")

// contractRule is a rule in the contracts' policies.json. Compute lists former
// rules, the others name one and may date it apart.
type contractRule struct {
	Name       string   `json:"name"`
	Check      string   `json:"check_str"`
	Scopes     []string `json:"scope_types"`
	Operations []struct {
		Method json.RawMessage `json:"method"`
		Path   string          `json:"path"`
	} `json:"operations"`
	DeprecatedRules []contractDeprecated `json:"deprecated_rules"`
	DeprecatedRule  *contractDeprecated  `json:"deprecated_rule"`
	DeprecatedSince string               `json:"deprecated_since"`
}

type contractDeprecated struct {
	Name            string `json:"name"`
	Check           string `json:"check_str"`
	Since           string `json:"since"`
	DeprecatedSince string `json:"deprecated_since"`
}

// rule is the contract's rule in the form of schemas/policies.
func (c contractRule) rule(t testing.TB) Rule {
	t.Helper()
	r := Rule{Name: c.Name, Check: c.Check, Scopes: c.Scopes}
	for _, o := range c.Operations {
		for _, method := range methods(t, o.Method) {
			r.Operations = append(r.Operations, method+" "+o.Path)
		}
	}
	former := c.DeprecatedRules
	if c.DeprecatedRule != nil {
		former = append(former, *c.DeprecatedRule)
	}
	for _, d := range former {
		r.Deprecated = append(r.Deprecated, Deprecated{d.Name, d.Check, d.Since + d.DeprecatedSince})
	}
	return r
}

// methods reads a method or a list of them.
func methods(t testing.TB, raw json.RawMessage) []string {
	t.Helper()
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var several []string
	if err := json.Unmarshal(raw, &several); err != nil {
		t.Fatal(err)
	}
	return several
}

func TestDefaultsAreTheContracts(t *testing.T) {
	t.Parallel()
	for service, count := range map[string]int{"compute": 214, "orchestration": 100, "baremetal": 133} {
		var contract struct {
			BaseRules []contractRule `json:"base_rules"`
			Rules     []contractRule `json:"rules"`
		}
		contracttest.Read(t, service+"/policies.json", &contract)
		var want struct {
			Rules []Rule `yaml:"rules"`
		}
		for _, r := range append(contract.BaseRules, contract.Rules...) {
			want.Rules = append(want.Rules, r.rule(t))
		}
		if len(want.Rules) != count {
			t.Errorf("%s: the contract has %d rules, want %d", service, len(want.Rules), count)
		}
		document := bytes.NewBufferString("# Default policies of the " + service +
			" service. Written by: go test ./internal/policy -run TestDefaults -update\n")
		encoder := yaml.NewEncoder(document)
		encoder.SetIndent(2)
		if err := encoder.Encode(want); err != nil {
			t.Fatal(err)
		}
		path := "policies/" + service + ".yaml"
		if *update {
			if err := os.WriteFile("../../schemas/"+path, document.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := schemas.Policies.ReadFile(path)
		if err != nil || !bytes.Equal(got, document.Bytes()) {
			t.Errorf("%s isn't what the contract gives (%v); write it anew with -update", path, err)
		}
	}
}

// enforcer makes one of a service's defaults.
func enforcer(t testing.TB, service string, o Options) *Enforcer {
	t.Helper()
	e, err := ForService(service, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Every service's defaults refer only to rules that exist.
func TestDefaultsAreComplete(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"compute", "orchestration", "baremetal"} {
		if missing := enforcer(t, service, Options{}).current.Load().undefined(); len(missing) > 0 {
			t.Errorf("%s: %v", service, missing)
		}
	}
}

func TestComputePersonas(t *testing.T) {
	t.Parallel()
	current, former := enforcer(t, "compute", Options{}), enforcer(t, "compute", Options{OldDefaults: true})
	project := func(roles ...string) Credentials {
		c := Credentials{UserID: "u1", ProjectID: "p1", Roles: roles}
		c.IsAdmin = current.Allows(&c, "context_is_admin", nil)
		return c
	}
	system := Credentials{UserID: "u1", SystemScope: "all", Roles: []string{"admin"}, IsAdmin: true}
	other := map[string]any{"project_id": "p2", "user_id": "u2"}
	for _, c := range []struct {
		name              string
		creds             Credentials
		rule              string
		target            map[string]any
		current, formerly bool
	}{
		{"a reader reads", project("reader"), "os_compute_api:servers:show", nil, true, true},
		{"a reader makes nothing", project("reader"), "os_compute_api:servers:create", nil, false, true},
		{"a member makes", project("member", "reader"), "os_compute_api:servers:create", nil, true, true},
		{"a member of another project", project("member", "reader"), "os_compute_api:servers:show", other, false, false},
		{"a member is no administrator", project("member"), "os_compute_api:os-services:list", nil, false, false},
		{"an administrator", project("admin"), "os_compute_api:os-services:list", nil, true, true},
		{"an administrator anywhere", project("admin"), "os_compute_api:servers:show", other, true, true},
		{"roles have no case", project("ADMIN"), "os_compute_api:os-services:list", nil, true, true},
		{"a system token", system, "os_compute_api:os-services:list", nil, false, false},
		{"a service", project("service"), "os_compute_api:os-server-external-events:create", nil, true, true},
		{"a stranger to roles", project(), "os_compute_api:servers:show", nil, false, true},
		{"a rule that nobody knows", project("admin"), "os_compute_api:no-such-rule", nil, false, false},
	} {
		for e, want := range map[*Enforcer]bool{current: c.current, former: c.formerly} {
			err := e.Check(c.creds, c.rule, c.target)
			if (err == nil) != want {
				t.Errorf("%s: %v, want %v (old defaults: %v)", c.name, err, want, e == former)
			}
			if err == nil {
				continue
			}
			if f := faults.As(err); f.Kind != faults.Forbidden || f.Message != "Policy doesn't allow "+c.rule+" to be performed." {
				t.Errorf("%s: %#v", c.name, f)
			}
		}
	}
	if err := enforcer(t, "compute", Options{AnyScope: true}).Check(system, "os_compute_api:os-services:list", nil); err != nil {
		t.Errorf("a system token without enforce_scope: %v", err)
	}
}

// Heat's matrix of who may do what, as its real enforcer answered.
func TestOrchestrationMatrix(t *testing.T) {
	t.Parallel()
	var contract struct {
		Matrix struct {
			Old map[string]map[string]bool `json:"enforce_new_defaults=false"`
			New map[string]map[string]bool `json:"enforce_new_defaults=true"`
		} `json:"verified_matrix"`
	}
	contracttest.Read(t, "orchestration/policies.json", &contract)
	personas := map[string][]string{
		"reader": {"reader"}, "member+reader": {"member", "reader"},
		"admin+member+reader": {"admin", "member", "reader"}, "heat_stack_user only": {"heat_stack_user"},
	}
	for matrix, e := range map[*map[string]map[string]bool]*Enforcer{
		&contract.Matrix.Old: enforcer(t, "orchestration", Options{OldDefaults: true}),
		&contract.Matrix.New: enforcer(t, "orchestration", Options{}),
	} {
		for persona, rules := range *matrix {
			roles, known := personas[persona]
			if !known {
				t.Errorf("no roles are known for %q", persona)
			}
			creds := Credentials{UserID: "u1", ProjectID: "p1", Roles: roles, IsAdminProject: true}
			for rule, want := range rules {
				target := map[string]any{"project_id": "p1"}
				if rule == "cloudformation:*" {
					rule = "cloudformation:CreateStack"
				}
				if len(rule) > 14 && rule[:14] == "cloudformation" || len(rule) > 14 && rule[:14] == "resource_types" {
					target = map[string]any{}
				}
				if got := e.Allows(&creds, rule, target); got != want {
					t.Errorf("%s, %s (old defaults %v): %v, want %v", persona, rule, e.options.OldDefaults, got, want)
				}
			}
		}
	}
}
