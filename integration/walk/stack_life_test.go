package walk

// What becomes of a stack with a guest, from its create to its end.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// life is what becomes of a stack with a guest from its create to its end.
func life(s stacks) {
	s.created()
	s.seen()
	g, made := s.runs("life", "m1.nano", "told")
	if n := g.says(0, "volume", "volume: "); n != "1" {
		s.t.Errorf("the guest has used its volume %s times, want once", n)
	}
	s.updated(g, made)
	s.slept(g)
	s.restored()
	s.handedOn()
	s.removed("life")
	s.refused("Stack not found: life", "stack", "show", "life")
}

// created makes the stack, which waits at a hook and is followed by its events.
func (s stacks) created() {
	s.t.Helper()
	preview := s.show("stack", "create", "--dry-run", "-t", templates+"server.yaml", "life")
	if would, _ := preview["resources"].([]any); len(would) != len(inServer) {
		s.t.Errorf("a dry run would make %v", preview["resources"])
	}
	if got := s.show("stack", "create", "-t", templates+"server.yaml", "--parameter", "user_data=told", "--pre-create", "server", "life"); got["stack_status"] != "CREATE_IN_PROGRESS" {
		s.t.Errorf("the stack that is asked for is %v", got)
	}
	follow := s.command("stack", "event", "list", "--follow", "life")
	follow.Env = append(follow.Env, "PYTHONUNBUFFERED=1")
	events := s.file("events", "")
	file, err := os.OpenFile(events, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	follow.Stdout, follow.Stderr = file, file
	if err := follow.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.until("the server waits at its hook", func() bool {
		waits := s.list("stack", "hook", "poll", "life")
		return len(waits) == 1 && waits[0]["Resource Name"] == "server" && waits[0]["Resource Status Reason"] == "CREATE paused until Hook pre-create is cleared"
	})
	picture, watched := s.watched()
	s.run("stack", "hook", "clear", "--pre-create", "life", "server")
	s.is("life", "CREATE_COMPLETE")
	if err := watched.Wait(); err != nil {
		s.t.Errorf("holdfast stack graph --watch: %v", err)
	}
	if drawn := s.drawn(picture); strings.Count(drawn, `<g class="complete">`) != len(inServer) || !strings.Contains(drawn, "life: CREATE_COMPLETE") {
		s.t.Errorf("at the end there is drawn\n%s", drawn)
	}
	for format, nodes := range map[string]string{"dot": ", fillcolor=", "mermaid": "]:::complete"} {
		out, err := s.graph("--format", format).Output()
		if n := strings.Count(string(out), nodes); err != nil || n != len(inServer) {
			s.t.Errorf("drawn as %s it has %d resources: %v\n%s", format, n, err, out)
		}
	}
	s.refused("Stack status CREATE_COMPLETE not IN_PROGRESS", "stack", "hook", "poll", "life")
	var said string
	s.until("the client that follows says how it ended", func() bool {
		text, err := os.ReadFile(events)
		said = string(text)
		return err == nil && strings.Contains(said, "Stack CREATE completed successfully")
	})
	if err := follow.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	if err := follow.Wait(); err != nil {
		s.t.Errorf("the client that follows: %v", err)
	}
	happened := map[string][]string{}
	for _, event := range regexp.MustCompile(`(?m)^\S+ \S+ \S+ \[(?:life\.)?(\S+)\]: (\S+) `).FindAllStringSubmatch(said, -1) {
		happened[event[1]] = append(happened[event[1]], event[2])
	}
	want := map[string][]string{"life": {"CREATE_IN_PROGRESS", "CREATE_COMPLETE"}}
	for resource := range inServer {
		want[resource] = want["life"]
	}
	want["server"] = []string{"INIT_COMPLETE", "INIT_COMPLETE", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"}
	if !reflect.DeepEqual(happened, want) {
		s.t.Errorf("the client that follows saw %v, want %v:\n%s", happened, want, said)
	}
}

// graph is an operator's command that draws the stack.
func (s stacks) graph(args ...string) *exec.Cmd {
	return exec.Command(os.Getenv(binaryKey), append([]string{"--config", s.cloud.Config, "stack", "graph", "life"}, args...)...)
}

// watched has the stack be drawn whenever something changes, beginning with a server
// that isn't there yet; gives the file, and what draws it until nothing changes any more.
func (s stacks) watched() (picture string, drawing *exec.Cmd) {
	s.t.Helper()
	picture = filepath.Join(s.t.TempDir(), "life.svg")
	drawing = s.graph("--watch", "--format", "svg", "--output", picture)
	if err := drawing.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.until("the stack is drawn as it waits", func() bool { return strings.Contains(s.drawn(picture), `<g class="asked">`) })
	return picture, drawing
}

// drawn is what is in a file; there is nothing at first.
func (s stacks) drawn(picture string) string {
	text, err := os.ReadFile(picture)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// seen reads what there is to read of the stack.
func (s stacks) seen() {
	s.t.Helper()
	stack := s.show("stack", "show", "life")
	for field, want := range map[string]any{"stack_name": "life", "stack_status": "CREATE_COMPLETE", "stack_status_reason": "Stack CREATE completed successfully",
		"updated_time": nil, "timeout_mins": nil, "parent": nil} {
		if stack[field] != want {
			s.t.Errorf("stack show: %s is %v, want %v", field, stack[field], want)
		}
	}
	if row := find(s.list("stack", "list"), "Stack Name", "life"); row == nil || row["Stack Status"] != "CREATE_COMPLETE" || row["ID"] != stack["id"] {
		s.t.Errorf("stack list: %v", row)
	}
	types := s.each("life", "resource_type")
	if !reflect.DeepEqual(types, inServer) {
		s.t.Errorf("the stack's resources are %v, want %v", types, inServer)
	}
	s.all("life", "CREATE_COMPLETE", nil)
	if dot := s.run("stack", "resource", "list", "-f", "dot", "life"); strings.Count(dot, "label=") != len(inServer) {
		s.t.Errorf("as a graph they are\n%s", dot)
	}
}

// updated changes the stack in every way that there is, and a guest that need not know
// of it doesn't.
func (s stacks) updated(g guest, made map[string]string) {
	s.t.Helper()
	s.t.Log("in place: a server's metadata, which the guest doesn't notice")
	changes := s.show("stack", "update", "--dry-run", "--existing", "--parameter", "role=other", "life")
	names := map[string][]string{}
	for kind, list := range changes {
		for _, one := range list.([]any) {
			names[kind] = append(names[kind], one.(map[string]any)["resource_name"].(string))
		}
	}
	if want := []string{"server"}; !reflect.DeepEqual(names["updated"], want) || len(names["unchanged"]) != len(inServer)-1 || len(names) != 2 {
		s.t.Errorf("a dry run says %v", names)
	}
	s.does("UPDATE_COMPLETE", "life", "update", "--wait", "--existing", "--parameter", "role=other", "life")
	s.all("life", "CREATE_COMPLETE", map[string]string{"server": "UPDATE_COMPLETE"})
	if got := s.show("server", "show", g.id)["properties"]; !reflect.DeepEqual(got, map[string]any{"role": "other"}) {
		s.t.Errorf("the server's metadata are %v", got)
	}
	if now := s.made("life"); !reflect.DeepEqual(now, made) {
		s.t.Errorf("in place the resources are now %v, and were %v", now, made)
	}
	if n := g.says(0, "volume", "volume: "); n != "2" {
		s.t.Errorf("the guest has used its volume %s times, want twice", n)
	}

	s.t.Log("in place: a server's flavor, with which the guest starts anew")
	s.does("UPDATE_COMPLETE", "life", "update", "--wait", "--existing", "--parameter", "flavor=m1.micro", "life")
	if now := s.made("life"); !reflect.DeepEqual(now, made) {
		s.t.Errorf("in place the resources are now %v, and were %v", now, made)
	}
	s.runs("life", "m1.micro", "told")

	s.t.Log("added: a port; then taken away")
	text, err := os.ReadFile(templates + "server.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	more := s.file("more.yaml", strings.Replace(string(text), "resources:\n", "resources:\n  more:\n    type: OS::Neutron::Port\n    properties:\n      network: {get_resource: network}\n      fixed_ips: [{subnet: {get_resource: subnet}}]\n\n", 1))
	keep := []string{"--parameter", "user_data=told", "--parameter", "flavor=m1.micro", "--parameter", "role=other"}
	s.does("UPDATE_COMPLETE", "life", append([]string{"update", "--wait", "-t", more, "life"}, keep...)...)
	port := s.made("life")["more"]
	if got := s.show("port", "show", port)["network_id"]; got != made["network"] {
		s.t.Errorf("the port that was added is on the network %v, want %v", got, made["network"])
	}
	s.does("UPDATE_COMPLETE", "life", append([]string{"update", "--wait", "-t", templates + "server.yaml", "life"}, keep...)...)
	s.none([]string{port})
	if now := s.made("life"); !reflect.DeepEqual(now, made) {
		s.t.Errorf("with nothing more the resources are %v, and were %v", now, made)
	}

	s.t.Log("replaced: a server that is told something else; its port stays, and its volume")
	s.does("UPDATE_COMPLETE", "life", "update", "--wait", "--existing", "--parameter", "user_data=another", "--clear-parameter", "flavor", "life")
	after := s.made("life")
	if after["server"] == made["server"] {
		s.t.Errorf("the server is %s still", made["server"])
	}
	for _, same := range []string{"port", "volume", "floating_ip", "network"} {
		if after[same] != made[same] {
			s.t.Errorf("%s is %s now, and was %s", same, after[same], made[same])
		}
	}
	s.none([]string{made["server"]})
	g, made = s.runs("life", "m1.nano", "another")
	if n := g.says(0, "volume", "volume: "); n != "3" {
		s.t.Errorf("the volume was used %s times, want thrice", n)
	}

	s.t.Log("taken back: an update that is cancelled where it waits")
	s.run("stack", "update", "--existing", "--pre-update", "server", "--parameter", "role=third", "life")
	s.until("the update waits at its hook", func() bool { return len(s.list("stack", "hook", "poll", "life")) == 1 })
	s.run("stack", "cancel", "life")
	s.is("life", "ROLLBACK_COMPLETE")
	if got := s.show("server", "show", g.id)["properties"]; !reflect.DeepEqual(got, map[string]any{"role": "other"}) {
		s.t.Errorf("after an update that was cancelled the server's metadata are %v", got)
	}
}

// slept has the stack sleep, wake and be looked at; the guest goes on where it was.
func (s stacks) slept(g guest) {
	s.t.Helper()
	g.id = s.made("life")["server"]
	g.name = g.id
	s.does("SUSPEND_COMPLETE", "life", "suspend", "--wait", "life")
	s.all("life", "SUSPEND_COMPLETE", nil)
	if now := s.show("server", "show", g.id); now["status"] != "SUSPENDED" || now["OS-EXT-STS:power_state"] != 4.0 {
		s.t.Errorf("the server of a stack that sleeps is %v, its power %v", now["status"], now["OS-EXT-STS:power_state"])
	}
	if running := s.cloud.domains("--state-running"); slices.Contains(running, g.domain()) {
		s.t.Errorf("the guest of a stack that sleeps runs")
	}
	s.does("RESUME_COMPLETE", "life", "resume", "--wait", "life")
	s.all("life", "RESUME_COMPLETE", nil)
	s.becomes(g.id, "ACTIVE")
	g.says(0, "uptime", "uptime: ")
	s.does("CHECK_COMPLETE", "life", "check", "--wait", "life")
	s.all("life", "CHECK_COMPLETE", nil)
}

// restored has a snapshot be taken of the stack, which is what it was after it has been
// used and changed.
func (s stacks) restored() {
	s.t.Helper()
	id := s.show("stack", "snapshot", "create", "--name", "then", "life")["ID"].(string)
	s.is("life", "SNAPSHOT_COMPLETE")
	if all := s.list("stack", "snapshot", "list", "life"); len(all) != 1 || all[0]["id"] != id || all[0]["name"] != "then" || all[0]["status"] != "COMPLETE" {
		s.t.Errorf("the snapshots are %v", all)
	}
	shown := s.show("stack", "snapshot", "show", "life", id)["snapshot"].(map[string]any)
	data := shown["data"].(map[string]any)
	if names := slices.Sorted(maps.Keys(data["resources"].(map[string]any))); !slices.Equal(names, slices.Sorted(maps.Keys(inServer))) {
		s.t.Errorf("the snapshot has %v", names)
	}
	before := s.made("life")
	g := guest{client: s.client, name: before["server"], id: before["server"]}
	if n := g.says(0, "volume", "volume: "); n != "4" {
		s.t.Errorf("the volume was used %s times, want four times", n)
	}
	s.does("UPDATE_COMPLETE", "life", "update", "--wait", "--existing", "--parameter", "role=after", "life")
	s.run("stack", "snapshot", "restore", "life", id)
	s.is("life", "RESTORE_COMPLETE")
	g, after := s.runs("life", "m1.nano", "another")
	if got := s.show("server", "show", g.id)["properties"]; !reflect.DeepEqual(got, map[string]any{"role": "other"}) {
		s.t.Errorf("restored, the server's metadata are %v", got)
	}
	// What was written after the snapshot is gone.
	if n := g.says(0, "volume", "volume: "); n != "4" {
		s.t.Errorf("restored, the volume was used %s times, want four times", n)
	}
	for _, same := range []string{"network", "subnet", "router", "port", "floating_ip"} {
		if after[same] != before[same] {
			s.t.Errorf("restored, %s is %s, and was %s", same, after[same], before[same])
		}
	}
	s.run("stack", "snapshot", "delete", "--yes", "life", id)
	s.until("the snapshot is gone", func() bool { return len(s.list("stack", "snapshot", "list", "life")) == 0 })
}

// handedOn exports the stack, abandons it, and has another of its name adopt all that it
// has left; the guest runs on.
func (s stacks) handedOn() {
	s.t.Helper()
	dir := s.t.TempDir()
	g, made := s.runs("life", "m1.nano", "another")
	n := g.says(0, "volume", "volume: ")
	exported, left := filepath.Join(dir, "exported.json"), filepath.Join(dir, "left.json")
	s.run("stack", "export", "--output-file", exported, "life")
	if now := s.made("life"); !reflect.DeepEqual(now, made) {
		s.t.Errorf("exported, the resources are %v, and were %v", now, made)
	}
	s.run("stack", "abandon", "--output-file", left, "life")
	s.until("the stack is gone, which an abandon doesn't wait for", func() bool { return len(s.list("stack", "list")) == 0 })
	s.refused("Stack not found: life", "stack", "show", "life")
	for _, file := range []string{exported, left} {
		ids := map[string]string{}
		for name, resource := range s.document(file)["resources"].(map[string]any) {
			ids[name] = resource.(map[string]any)["resource_id"].(string)
		}
		if !reflect.DeepEqual(ids, made) {
			s.t.Errorf("%s has %v, and the stack had %v", filepath.Base(file), ids, made)
		}
	}
	s.does("ADOPT_COMPLETE", "life", "adopt", "--wait", "--adopt-file", left, "life")
	s.all("life", "ADOPT_COMPLETE", nil)
	g, now := s.runs("life", "m1.nano", "another")
	if !reflect.DeepEqual(now, made) {
		s.t.Errorf("adopted, the resources are %v, and were %v", now, made)
	}
	if again := g.says(0, "volume", "volume: "); again != fmt.Sprint(number(s.t, n)+1) {
		s.t.Errorf("adopted, the volume was used %s times, and %s times before", again, n)
	}
	s.does("UPDATE_COMPLETE", "life", "update", "--wait", "--existing", "--parameter", "role=adopted", "life")
}

// document reads JSON.
func (s stacks) document(file string) (into map[string]any) {
	s.t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &into)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return into
}
