// Test of a group: order, progress lines, and a member that fails.

package supervise_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/supervise"
)

func TestGroup(t *testing.T) {
	var progress strings.Builder
	group := supervise.Group{Progress: &progress}
	first, second, third := shell(t, "exec sleep 60"), shell(t, "exec sleep 60"), shell(t, "exit 1")
	first.Name, second.Name, third.Name = "first", "second", "third"
	third.ReadyLine = "ready"

	if err := group.Start(t.Context(), first, second, third); err == nil {
		t.Error("the third can't have started")
	}
	if err := group.Stop(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if first.State().Running || second.State().Running {
		t.Error("something still runs")
	}
	want := regexp.MustCompile(`^first        ready after \d+\.\d s, pid \d+
second       ready after \d+\.\d s, pid \d+
third        failed
second       stopped
first        stopped
$`)
	if !want.MatchString(progress.String()) {
		t.Errorf("progress:\n%s", &progress)
	}
}
