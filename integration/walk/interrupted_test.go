package walk

// The cloud ends, cleanly or not, and goes on.

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/dev/image"
)

func TestInterrupted(t *testing.T) {
	c := newCloud(t)
	c.start()
	demo := c.as(t, "demo", newest)
	create := func(name string, more ...string) {
		demo.run(append([]string{"server", "create", "--image", "holdfast-test", "--flavor", "m1.nano", "--network", "private", name}, more...)...)
	}
	create("goes-on", "--user-data", demo.file("user-data", records))
	create("paused")
	create("off", "--wait")
	demo.becomes("goes-on", "ACTIVE")
	demo.becomes("paused", "ACTIVE")
	demo.console("goes-on", "record: 10\n")
	demo.run("server", "pause", "paused")
	demo.becomes("paused", "PAUSED")
	demo.run("server", "stop", "off")
	demo.becomes("off", "SHUTOFF")
	create("young")
	c.interrupt() // nothing of ours runs on

	for _, end := range []func(){c.interrupt, c.kill} {
		c.start()
		demo.becomes("young", "ACTIVE")
		demo.becomes("paused", "PAUSED")
		demo.becomes("off", "SHUTOFF")
		if got := c.domains("--state-running"); len(got) != 2 {
			t.Errorf("%v run, want two", got)
		}
		if got := c.domains("--state-paused"); len(got) != 1 {
			t.Errorf("%v are paused, want one", got)
		}
		// The guest goes on counting, and has not booted anew.
		log := demo.console("goes-on", "record: ")
		log = demo.console("goes-on", fmt.Sprintf("record: %d\n", lastRecord(t, log)+20))
		if strings.Contains(log, image.Banner) {
			t.Errorf("the guest has booted anew:\n%s", log)
		}
		end()
	}

	c.start()
	demo.becomes("goes-on", "ACTIVE")
	demo.run("server", "unpause", "paused")
	demo.becomes("paused", "ACTIVE")
	demo.run("server", "start", "off")
	demo.becomes("off", "ACTIVE")
	demo.run("server", "stop", "goes-on")
	demo.becomes("goes-on", "SHUTOFF")
	demo.run("server", "delete", "--wait", "goes-on", "paused", "off", "young")
	c.clean()
	c.interrupt()
}

// lastRecord is the number of the last record that a guest has told of.
func lastRecord(t *testing.T, log string) int {
	t.Helper()
	whole := log[:strings.LastIndex(log, "\n")]
	return number(t, whole[strings.LastIndex(whole, "record: ")+len("record: "):])
}
