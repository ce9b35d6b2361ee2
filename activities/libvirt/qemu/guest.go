package qemu

// One guest: its folder, and what is kept there.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// Files of a guest's folder.
const (
	recordFile  = "guest.json"
	baseFile    = "base.raw"
	rootFile    = "disk"
	swapFile    = "disk.swap"
	configFile  = "disk.config"
	consoleFile = "console.log"
)

// ephemeralFile is the name of the ephemeral disk number n.
func ephemeralFile(n int) string { return fmt.Sprint("disk.eph", n) }

// guest is one for the time of a call.
type guest struct {
	driver *Driver
	id     string
	uuid   uuid.UUID
	dir    string
}

// guest gives the one of a server, which may not exist.
func (d *Driver) guest(serverID string) (*guest, error) {
	id, err := uuid.Parse(serverID)
	if err != nil || id.String() != serverID {
		return nil, faults.New(faults.Invalid, "InvalidServer", "%q is no server id", serverID)
	}
	dir, err := d.folder(serverID)
	return &guest{driver: d, id: serverID, uuid: id, dir: dir}, err
}

func (g *guest) file(name string) string { return filepath.Join(g.dir, name) }

// exists says whether the folder is there.
func (g *guest) exists() (bool, error) { return exists(g.dir) }

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, broken(err)
}

// record is what guest.json holds.
type record struct {
	// Host is whose guest it is.
	Host   string           `json:"host,omitempty"`
	Spec   steps.ServerSpec `json:"spec"`
	Reboot reboot           `json:"reboot"`
	// NMI names who the guest was last interrupted for.
	NMI string `json:"nmi,omitempty"`
	// Rescue is set from the moment at which a rescue turns the guest off.
	Rescue *rescue `json:"rescue,omitempty"`
	// Rebuild is the last one that was begun.
	Rebuild *rebuild `json:"rebuild,omitempty"`
	// Leaving names the last live migration that was begun from here. Heir is the
	// host whose the folder is when that is over, if it is to leave with the guest.
	Leaving string `json:"leaving,omitempty"`
	Heir    string `json:"heir,omitempty"`
	// Swap is the last one that was begun.
	Swap *swap `json:"swap,omitempty"`
	// Resize is set while what the guest was before a resize is set aside.
	Resize *resize `json:"resize,omitempty"`
}

// reboot is the last one that was begun.
type reboot struct {
	// Mark names who it was done for.
	Mark string `json:"mark,omitempty"`
	// From is libvirt's number of the domain's run before it; -1 if it was off.
	From int32 `json:"from,omitempty"`
	Done bool  `json:"done,omitempty"`
}

// read gives the record. Errors: NotFound, the guest has none.
func (g *guest) read() (record, error) { return readRecord(g.dir) }

func readRecord(folder string) (record, error) {
	var r record
	data, err := os.ReadFile(filepath.Join(folder, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, notFound(filepath.Base(folder))
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, broken(err)
}

func (g *guest) write(r record) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = statedir.Write(g.file(recordFile), data)
	}
	return broken(err)
}

// make has f make a file that isn't there yet, under another name until it is whole.
func (g *guest) make(name string, f func(path string) error) error {
	if there, err := exists(g.file(name)); there || err != nil {
		return err
	}
	making := g.file("." + name + ".making")
	if err := os.RemoveAll(making); err != nil { // of a call that was killed
		return broken(err)
	}
	if err := f(making); err != nil {
		return err
	}
	return broken(os.Rename(making, g.file(name)))
}

func broken(err error) error {
	if err == nil {
		return nil
	}
	return faults.Wrap(err, faults.Unavailable, "HostStorage", "the host's storage failed")
}

func notFound(serverID string) error {
	return faults.New(faults.NotFound, "GuestNotFound", "the host has no guest of server %s", serverID)
}

func formatUUID(id [16]byte) string { return uuid.UUID(id).String() }
