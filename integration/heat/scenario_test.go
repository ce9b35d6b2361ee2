package heat

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/hot"
)

// The scenarios can be read, and their templates parsed.
func TestScenariosAreWellFormed(t *testing.T) {
	t.Parallel()
	all, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for name := range s.Templates {
			text, err := json.Marshal(s.template(name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := hot.Parse(string(text), "", hot.Limits{}); err != nil {
				t.Errorf("%s, %s: %v", s.name, name, err)
			}
		}
		for _, step := range s.Steps {
			if _, err := s.body(step.with); err != nil {
				t.Errorf("%s, %s: %v", s.name, step.do, err)
			}
		}
	}
}
