package workers

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestUptime(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[string]string{
		"59.5 1.0":     " 12:00:00 up 0 min,  0 users,  load average: 0.20, 0.12, 0.14",
		"3700.00 1":    " 12:00:00 up  1:01,  0 users,  load average: 0.20, 0.12, 0.14",
		"90000 1":      " 12:00:00 up 1 day,  1:00,  0 users,  load average: 0.20, 0.12, 0.14",
		"8101500.25 9": " 12:00:00 up 93 days, 18:25,  0 users,  load average: 0.20, 0.12, 0.14",
	} {
		proc := t.TempDir()
		for file, text := range map[string]string{"uptime": seconds, "loadavg": "0.20 0.12 0.14 1/200 4711\n"} {
			if err := os.WriteFile(filepath.Join(proc, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := uptime(proc, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", seconds, got, err, want)
		}
	}
	if _, err := uptime(t.TempDir(), time.Now()); err == nil {
		t.Error("no error where there is no procfs")
	}
}
