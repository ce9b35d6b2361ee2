package cloud_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// What is printed of a log is little, and only what is wrong.
func TestTrouble(t *testing.T) {
	var log strings.Builder
	for i := range 100 {
		fmt.Fprintf(&log, "time=x level=INFO msg=request n=%d\n{\"time\":\"x\",\"level\":\"debug\"}\n", i)
	}
	log.WriteString("time=x level=WARN msg=slow level=INFOX\n\n{\"level\":\"ERROR\",\"msg\":\"broken\"}\n")
	log.WriteString("panic: " + strings.Repeat("é", 1000) + " at the end\n")
	lines := strings.Split(cloud.Trouble(log.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "slow") || !strings.Contains(lines[1], "broken") {
		t.Fatalf("the troubles are %q", lines)
	}
	if last := lines[2]; len(last) > 320 || !strings.HasPrefix(last, "panic: ") || !strings.HasSuffix(last, "é at the end") {
		t.Errorf("the long line is %q", last)
	}
	for i := range 100 {
		fmt.Fprintf(&log, "level=ERROR msg=%d\n", i)
	}
	if lines = strings.Split(cloud.Trouble(log.String()), "\n"); len(lines) != 15 || !strings.HasSuffix(lines[14], "msg=99") {
		t.Errorf("of many troubles there are %q", lines)
	}
}
