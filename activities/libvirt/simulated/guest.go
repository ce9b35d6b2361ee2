package simulated

// A guest's files.

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// folder is one guest's.
type folder string

// domain is what guest.json holds.
type domain struct {
	Spec       steps.ServerSpec `json:"spec"`
	PowerState int              `json:"power_state"`
	// RebootedFor is the mark of the last reboot.
	RebootedFor string `json:"rebooted_for,omitempty"`
	// Rescue is set while the guest runs from another image.
	Rescue *rescue `json:"rescue,omitempty"`
	// Rebuild is the last one that was begun.
	Rebuild *rebuild `json:"rebuild,omitempty"`
	// Swap is the last one that was begun.
	Swap *swap `json:"swap,omitempty"`
	// Resize is set while what the guest was before a resize is set aside.
	Resize *resize `json:"resize,omitempty"`
}

func (f folder) file(name string) string { return filepath.Join(string(f), name) }

func (f folder) exists(name string) (bool, error) {
	_, err := os.Stat(f.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// domain reads guest.json; nil if there is none.
func (f folder) domain() (*domain, error) {
	var d domain
	switch found, err := f.read("guest.json", &d); {
	case err != nil:
		return nil, err
	case !found:
		return nil, nil
	}
	return &d, nil
}

func (f folder) define(d *domain) error { return f.write("guest.json", d) }

func (f folder) read(name string, into any) (found bool, err error) {
	data, err := os.ReadFile(f.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	return err == nil, broken(err)
}

func (f folder) write(name string, content any) error {
	data, err := json.Marshal(content)
	if err == nil {
		err = statedir.Replace(f.file(name), data)
	}
	return broken(err)
}

func (f folder) remove(name string) error {
	err := os.Remove(f.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return broken(err)
}

// maxConsole is how much a console log keeps, in bytes.
const maxConsole = 64 << 10

// say adds a line to the console log and drops the oldest half of one that has
// grown too long.
func (f folder) say(line string) error {
	log, err := os.OpenFile(f.file("console.log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return broken(err)
	}
	defer log.Close()
	if _, err := log.WriteString(line + "\n"); err != nil {
		return broken(err)
	}
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil || size <= maxConsole {
		return broken(err)
	}
	rest, err := f.console(maxConsole / 2)
	if err != nil {
		return err
	}
	return broken(statedir.Replace(f.file("console.log"), rest))
}

// console reads the log's last length bytes; all of it if length is negative.
func (f folder) console(length int) ([]byte, error) {
	data, err := os.ReadFile(f.file("console.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, broken(err)
	}
	if length >= 0 && length < len(data) {
		data = data[len(data)-length:]
	}
	return data, nil
}

// guest shows the guest; a folder without a domain is half-made or half-removed.
func (f folder) guest() (libvirt.Guest, error) {
	d, err := f.domain()
	return shown(filepath.Base(string(f)), d), err
}

// shown is the guest of a domain, which may be nil.
func shown(serverID string, d *domain) libvirt.Guest {
	if d == nil {
		return libvirt.Guest{ServerID: serverID, PowerState: libvirt.NoState}
	}
	return libvirt.Guest{ServerID: serverID, PowerState: d.PowerState}
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
