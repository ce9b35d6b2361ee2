package iso

// Images: what they are made of, written and read.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// ConfigDrive is the label by which a guest or an instance finds its config drive.
const ConfigDrive = "config-2"

// Image is what an image is made of.
type Image struct {
	// Label is the volume's name, Publisher who says to have made it.
	Label, Publisher string
	// Files are its files by their paths.
	Files map[string]Source
	// BIOS and EFI name the file among Files that a machine of that kind starts;
	// empty for none. EFI's is an image of an EFI system partition.
	BIOS, EFI string
}

// Source is where a file's content comes from.
type Source struct {
	Content []byte
	// Path is a file that is copied if Content is nil.
	Path string
}

func (s Source) open() (io.ReadCloser, error) {
	if s.Content != nil || s.Path == "" {
		return io.NopCloser(bytes.NewReader(s.Content)), nil
	}
	return os.Open(s.Path)
}

const (
	block = 2048
	// catalog is where a bootable image lists what can be started.
	catalog = "boot.cat"
	// bootSectors is how much of its file a BIOS loads.
	bootSectors = 4
)

// Write makes the image in a new file; one that is there stays as it is.
func Write(name string, i Image) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(name), ".iso-")
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for inside, source := range i.Files {
		if err := put(work, inside, source); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	if err := finish(name, work, i); err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}

// put copies one file to its place below work.
func put(work, inside string, source Source) (err error) {
	if !fs.ValidPath(inside) {
		return fmt.Errorf("%q is no path", inside)
	}
	to := filepath.Join(work, filepath.FromSlash(inside))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	from, err := source.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

func finish(name, work string, i Image) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	image, err := iso9660.Create(file.New(f, false), 0, 0, block, work)
	if err != nil {
		return err
	}
	boot := i.boot()
	// Joliet's descriptor would be where firmware looks for what it can boot.
	return image.Finalize(iso9660.FinalizeOptions{RockRidge: true, Joliet: boot == nil, VolumeIdentifier: i.Label, PublisherIdentifier: i.Publisher, ElTorito: boot})
}

// boot is the catalogue of what can be started; nil for nothing.
func (i Image) boot() *iso9660.ElTorito {
	var entries []*iso9660.ElToritoEntry
	if i.BIOS != "" {
		entry := &iso9660.ElToritoEntry{Platform: iso9660.BIOS, Emulation: iso9660.NoEmulation, BootFile: i.BIOS, BootTable: true}
		entry.SetLoadSize(bootSectors)
		entries = append(entries, entry)
	}
	if i.EFI != "" {
		entries = append(entries, &iso9660.ElToritoEntry{Platform: iso9660.EFI, Emulation: iso9660.NoEmulation, BootFile: i.EFI})
	}
	if len(entries) == 0 {
		return nil
	}
	return &iso9660.ElTorito{BootCatalog: path.Join(path.Dir(entries[0].BootFile), catalog), Entries: entries, HideBootCatalog: true}
}

// maxRead bounds a file that is read at once.
const maxRead = 16 << 20

// Read gives the label of the image in a file and the content of some of its
// files; those that aren't there are left out.
func Read(name string, insides ...string) (label string, found map[string][]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", nil, err
	}
	image, err := iso9660.Read(file.New(f, true), info.Size(), 0, block)
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", name, err)
	}
	found = map[string][]byte{}
	for _, inside := range insides {
		info, err := image.Stat(inside)
		switch {
		case err != nil:
			continue
		case info.Size() > maxRead:
			return "", nil, fmt.Errorf("read %s: %s is too large", name, inside)
		}
		if found[inside], err = image.ReadFile(inside); err != nil {
			return "", nil, fmt.Errorf("read %s: %s: %w", name, inside, err)
		}
	}
	return strings.TrimRight(image.Label(), "\x00 "), found, nil
}
