package walk

// A guest, at its console and from outside.

import (
	"os"
	"os/exec"
	"strings"
	"time"
)

// guest is a server that runs on a real host.
type guest struct {
	*client
	name, id string
}

// domain is its name in libvirt.
func (g guest) domain() string { return "instance-" + g.id[:8] }

// virsh does something with the guest on a host.
func (g guest) virsh(host int, args ...string) string {
	g.t.Helper()
	out, err := exec.Command("virsh", append([]string{"--connect", g.cloud.Libvirt[host]}, args...)...).CombinedOutput()
	if err != nil {
		g.t.Fatalf("virsh %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// keyboard opens the guest's console to type at.
func (g guest) keyboard(host int) *os.File {
	g.t.Helper()
	tty, err := os.OpenFile(g.virsh(host, "ttyconsole", g.domain()), os.O_WRONLY, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	time.Sleep(pause) // QEMU looks once a second whether anybody is there
	return tty
}

// says types a command at the guest's console and gives what it answers.
func (g guest) says(host int, command, answer string) string {
	g.t.Helper()
	before := strings.Count(g.console(g.name, ""), answer)
	tty := g.keyboard(host)
	defer func() { tty.Close() }()
	deadline, typed := time.Now().Add(patience), time.Time{}
	for ; ; time.Sleep(pause) {
		if time.Since(typed) > 10*time.Second { // a guest that boots reads nothing yet
			typed = time.Now()
			if _, err := tty.WriteString("\n" + command + "\n"); err != nil {
				g.t.Logf("typed in vain at %s of a guest that is %s: %v", tty.Name(), g.virsh(host, "domstate", "--reason", g.domain()), err)
				tty.Close()
				tty = g.keyboard(host)
			}
		}
		log := g.console(g.name, "")
		if strings.Count(log, answer) > before && strings.HasSuffix(log, "\n") {
			rest := log[strings.LastIndex(log, answer)+len(answer):]
			return strings.TrimSpace(rest[:strings.Index(rest, "\n")])
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("the guest never answered %q:\n%s", command, log)
		}
	}
}

// answers says that the guest does, at an address of its network, to whoever is in
// there.
func (g guest) answers(network, address string) {
	g.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", "qdhcp-"+network, "busybox", "ping", "-c", "1", "-w", "60", address).CombinedOutput()
	if err != nil {
		g.t.Errorf("the guest of %s doesn't answer at %s: %v: %s", g.name, address, err, out)
	}
}
