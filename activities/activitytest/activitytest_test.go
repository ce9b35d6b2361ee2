package activitytest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/internal/steps"
)

// Every family of steps has a package whose tests hold its acts against the
// table of steps.
func TestEveryFamilyIsSurveyed(t *testing.T) {
	t.Parallel()
	surveyed := map[string]bool{}
	for _, s := range steps.All() {
		family := activitytest.Family(s.Name)
		if surveyed[family] {
			continue
		}
		surveyed[family] = true
		files, err := filepath.Glob(filepath.Join("..", family, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var is bool
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			is = is || strings.Contains(string(text), `activitytest.Covers(t, "`+family+`"`)
		}
		if !is {
			t.Errorf("no test in activities/%s calls activitytest.Covers: its steps may never have been run twice", family)
		}
	}
}
