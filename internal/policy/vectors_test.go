package policy

// What the real oslo.policy answered for 1860 rules of 16 services and nine
// callers (contracts/dashboard/policy-vectors.json).

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/contracttest"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	var rules struct {
		Services map[string][]contractRule `json:"services"`
		Target   map[string]string         `json:"default_target"`
	}
	contracttest.Read(t, "dashboard/policy-rules.json", &rules)
	var vectors struct {
		Cases map[string]struct {
			Roles     []string            `json:"roles"`
			System    string              `json:"system_scope"`
			Overrides map[string]string   `json:"target_overrides"`
			Allowed   map[string][]string `json:"allowed"`
		} `json:"cases"`
	}
	contracttest.Read(t, "dashboard/policy-vectors.json", &vectors)
	if len(rules.Services) != 16 || len(vectors.Cases) != 9 {
		t.Fatalf("%d services and %d callers, want 16 and 9", len(rules.Services), len(vectors.Cases))
	}
	enforcers := map[string]*Enforcer{}
	for service, of := range rules.Services {
		var file struct {
			Rules []Rule `yaml:"rules"`
		}
		for _, r := range of {
			file.Rules = append(file.Rules, r.rule(t))
		}
		document, err := yaml.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if enforcers[service], err = New(document, Options{AnyScope: true}); err != nil {
			t.Fatalf("%s: %v", service, err)
		}
	}
	for name, c := range vectors.Cases {
		creds := Credentials{
			UserID: "u1", UserName: "user", UserDomainID: "default",
			ProjectID: "p1", ProjectName: "proj", ProjectDomainID: "default",
			SystemScope: c.System, Roles: c.Roles,
			IsAdmin: slices.Contains(c.Roles, "admin") || slices.Contains(c.Roles, "system_admin"),
		}
		target := vectorTarget(rules.Target, c.Overrides)
		for service, e := range enforcers {
			for _, rule := range e.defaults {
				want := slices.Contains(c.Allowed[service], rule.Name)
				if got := e.Allows(&creds, rule.Name, target); got != want {
					t.Errorf("%s, %s, %s: %v, want %v", name, service, rule.Name, got, want)
				}
			}
		}
	}
}

// vectorTarget fills the dashboard's target in for the vectors' user.
func vectorTarget(template, overrides map[string]string) map[string]any {
	values := map[string]any{"user.id": "u1", "project.id": "p1", "user.domain.id": "default", "project.domain.id": "default", "config": true}
	target := map[string]any{}
	for key, place := range template {
		target[key] = values[place]
	}
	for key, value := range overrides {
		target[key] = value
	}
	return target
}
