package qemu

// Folders of one server on storage that hosts share.

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/faults"
)

// folderOf gives the guest of a server on a host, and says that its folder is as
// it is to be.
func folderOf(t *testing.T, d *Driver, serverID, want string) *guest {
	t.Helper()
	g, err := d.guest(serverID)
	if err != nil {
		t.Fatal(err)
	}
	if g.dir != filepath.Join(d.dir, want) {
		t.Errorf("host %s has the folder %s, want %s", d.hostID, filepath.Base(g.dir), want)
	}
	return g
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	storage, s := t.TempDir(), spec()
	one, two := &Driver{hostID: "one", dir: storage}, &Driver{hostID: "two", dir: storage}
	id := s.ServerID
	here := folderOf(t, one, id, id)
	folderOf(t, two, id, id) // nobody has it yet
	if _, err := here.recall(); !faults.Is(err, faults.NotFound) {
		t.Errorf("a guest that is nowhere: %v", err)
	}
	must(t, here.open(s))
	must(t, os.WriteFile(here.file(rootFile), []byte("written"), 0o600))
	must(t, os.WriteFile(here.file(configFile), nil, 0o600))

	// Each has one of its own, which nothing that is done to it takes from the other.
	there := folderOf(t, two, id, id+".two.1")
	must(t, there.open(s))
	must(t, there.linkDisks(here.dir))
	must(t, there.linkDisks(here.dir))
	folderOf(t, one, id, id)
	folderOf(t, two, id, id+".two.1")
	if _, err := os.Stat(there.file(configFile)); !os.IsNotExist(err) {
		t.Errorf("what the guest is told is not told anew: %v", err)
	}
	must(t, here.removeFolder(confirmed))
	if text, err := os.ReadFile(there.file(rootFile)); err != nil || string(text) != "written" {
		t.Errorf("the disk is %q, %v", text, err)
	}
	folderOf(t, two, id, id+".two.1")

	// One that leaves with its guest is found where it is by then.
	here = folderOf(t, one, id, id)
	have, err := there.read()
	must(t, err)
	have.Leaving, have.Heir = "move", "one"
	must(t, there.write(have))
	folderOf(t, two, id, id+".two.1")
	must(t, here.arrive())
	folderOf(t, one, id, id+".two.1")
	there = folderOf(t, two, id, id)
	if have, err := there.recall(); err != nil || have.Host != "one" || have.Leaving != "move" || have.Heir != "" {
		t.Errorf("the one that left is %+v, %v", have, err)
	}
	must(t, there.left(nil))
}
