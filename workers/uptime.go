package workers

// How long a host has been up, in the words of uptime(1), which clients take
// apart.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

// uptime reads proc, the folder of procfs: " 17:37:14 up 93 days, 18:25,  0
// users,  load average: 0.20, 0.12, 0.14". A host has no users to speak of.
func uptime(proc string, now time.Time) (string, error) {
	var seconds float64
	if err := scan(filepath.Join(proc, "uptime"), &seconds); err != nil {
		return "", err
	}
	var one, five, fifteen string
	if err := scan(filepath.Join(proc, "loadavg"), &one, &five, &fifteen); err != nil {
		return "", err
	}
	return fmt.Sprintf(" %s up %s,  0 users,  load average: %s, %s, %s", now.Format(time.TimeOnly), span(int(seconds)), one, five, fifteen), nil
}

// span is a time as days, hours and minutes.
func span(seconds int) string {
	days, hours, minutes := seconds/86400, seconds/3600%24, seconds/60%60
	words := ""
	switch {
	case days == 1:
		words = "1 day, "
	case days > 1:
		words = fmt.Sprintf("%d days, ", days)
	}
	if hours > 0 {
		return words + fmt.Sprintf("%2d:%02d", hours, minutes)
	}
	return words + fmt.Sprintf("%d min", minutes)
}

// scan reads a file's first words.
func scan(file string, into ...any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Fscan(strings.NewReader(string(text)), into...)
	}
	if err != nil {
		return faults.Wrap(err, faults.Internal, "NoUptime", "%s can't be read", file)
	}
	return nil
}
