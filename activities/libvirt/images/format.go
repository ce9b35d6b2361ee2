package images

// Formats of disk images, by what stands in them.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
	"strings"

	"holdfast.dev/internal/faults"
)

// Header is what an image says of itself.
type Header struct {
	// Format is Glance's name of it: raw, qcow2, vmdk, vhd, vdi, iso. "gpt" is a
	// raw one with a partition table; others are known only to be refused.
	Format string
	// VirtualSize is the disk's, in bytes.
	VirtualSize int64
	// Unsafe says why QEMU must not open it; empty if it may.
	Unsafe string
}

// errMalformed is of a header that begins like one of its format and goes on as none.
var errMalformed = errors.New("malformed header")

// formats are told apart by their magic, in this order. Each reads its header.
var formats = []struct {
	name  string
	magic string
	at    int64
	read  func(f file, h *Header) error
}{
	{"qcow2", "QFI\xfb", 0, readQcow2},
	{"vmdk", "KDMV", 0, readVMDK},
	{"vmdk", "# Disk DescriptorFile", 0, readForbidden("the descriptor names other files")},
	{"vmdk", "COWD", 0, readForbidden("old format")},
	{"vhd", "conectix", 0, readVHD},
	{"vhdx", "vhdxfile", 0, nil},
	{"vdi", "\x7f\x10\xda\xbe", 64, readVDI},
	{"qed", "QED\x00", 0, nil},
	{"luks", "LUKS\xba\xbe", 0, nil},
	{"parallels", "WithoutFreeSpace", 0, nil},
	{"parallels", "WithouFreSpacExt", 0, nil},
	{"iso", "CD001", 32769, readRaw},
	{"gpt", "EFI PART", 512, readRaw},
	{"gpt", "\x55\xaa", 510, readRaw},
}

// Inspect reads the header of an image of size bytes.
func Inspect(r io.ReaderAt, size int64) (Header, error) {
	f := file{r, size}
	for _, format := range formats {
		start, err := f.bytes(format.at, len(format.magic))
		if err != nil || string(start) != format.magic {
			continue // too short for it
		}
		h := Header{Format: format.name}
		if format.read == nil {
			h.Unsafe = "not supported"
			return h, nil
		}
		return h, format.read(f, &h)
	}
	if end, err := f.bytes(size-footer, len("conectix")); err == nil && string(end) == "conectix" {
		h := Header{Format: "vhd"}
		return h, readVHD(f, &h)
	}
	return Header{Format: "raw", VirtualSize: size}, nil
}

// claimed are the disk formats of Glance that a host takes, and which headers
// each may have.
var claimed = map[string][]string{
	"raw": {"raw", "gpt"}, "qcow2": {"qcow2"}, "vmdk": {"vmdk"}, "vhd": {"vhd"}, "vdi": {"vdi"}, "iso": {"iso"},
	"ami": {"raw", "gpt"},
}

// Accept checks an image against what its disk_format claims. Errors: Invalid
// with code ImageUnacceptable.
func Accept(imageID, diskFormat string, r io.ReaderAt, size int64) (Header, error) {
	allowed, ok := claimed[diskFormat]
	if !ok {
		return Header{}, Unacceptable(imageID, "Image not in a supported format")
	}
	h, err := Inspect(r, size)
	if errors.Is(err, errMalformed) || err == nil && !contains(allowed, h.Format) {
		return Header{}, Unacceptable(imageID, "Image content does not match disk_format")
	}
	if err != nil {
		return Header{}, faults.Wrap(err, faults.Unavailable, "HostStorage", "the image's file can't be read")
	}
	if h.Unsafe != "" {
		return Header{}, Unacceptable(imageID, "Image does not pass safety check")
	}
	return h, nil
}

// Unacceptable is the fault of an image that no guest can be made of.
func Unacceptable(imageID, reason string) error {
	return faults.New(faults.Invalid, "ImageUnacceptable", "Image %s is unacceptable: %s", imageID, reason)
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// file is an image that is read at places.
type file struct {
	r    io.ReaderAt
	size int64
}

// bytes reads n bytes at an offset; errMalformed if the file ends before.
func (f file) bytes(at int64, n int) ([]byte, error) {
	if at < 0 || n < 0 || at > f.size-int64(n) {
		return nil, errMalformed
	}
	data := make([]byte, n)
	_, err := f.r.ReadAt(data, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data, err
}

// maxVirtual bounds what is believed of a disk's size: 1 EiB.
const maxVirtual = 1 << 60

func (h *Header) setSize(size uint64) error {
	if size > maxVirtual {
		return errMalformed
	}
	h.VirtualSize = int64(size)
	return nil
}

func readRaw(f file, h *Header) error { h.VirtualSize = f.size; return nil }

func readForbidden(why string) func(file, *Header) error {
	return func(_ file, h *Header) error { h.Unsafe = why; return nil }
}

// qcow2 (QEMU's docs/interop/qcow2.txt): big endian; version 3 has features.
const (
	qcow2DataFile = 1 << 2
	// qcow2Known are the incompatible features that say nothing of other files:
	// dirty, corrupt, compression type, extended L2 entries.
	qcow2Known = 1<<0 | 1<<1 | 1<<3 | 1<<4
)

func readQcow2(f file, h *Header) error {
	data, err := f.bytes(0, 72)
	if err != nil {
		return err
	}
	version, backing, crypt := be32(data[4:]), be64(data[8:]), be32(data[32:])
	if err := h.setSize(be64(data[24:])); err != nil || version < 2 || version > 3 {
		return errMalformed
	}
	var features uint64
	if version == 3 {
		more, err := f.bytes(72, 8)
		if err != nil {
			return err
		}
		features = be64(more)
	}
	switch {
	case backing != 0:
		h.Unsafe = "it has a backing file"
	case features&qcow2DataFile != 0:
		h.Unsafe = "it has a data file"
	case features&^uint64(qcow2Known) != 0:
		h.Unsafe = "it has unknown features"
	case crypt != 0:
		h.Unsafe = "it is encrypted"
	}
	return nil
}

// VMDK (VMware's Virtual Disk Format 5.0): little endian, sectors of 512 bytes,
// and a descriptor in text.
const (
	sector        = 512
	maxDescriptor = 1 << 20
)

var (
	vmdkType   = regexp.MustCompile(`(?m)^\s*createType\s*=\s*"([^"]*)"`)
	vmdkExtent = regexp.MustCompile(`(?m)^\s*(?:RW|RDONLY|NOACCESS)\s+\d+\s+(\S+)\s*(.*?)\s*$`)
	vmdkParent = regexp.MustCompile(`(?m)^\s*parentFileNameHint`)
	vmdkCID    = regexp.MustCompile(`(?im)^\s*parentCID\s*=\s*([0-9a-f]+)`)
	// vmdkName is an extent's own name: no folder, no other protocol.
	vmdkName = regexp.MustCompile(`^"[^/\\:"]+"$`)
)

func readVMDK(f file, h *Header) error {
	data, err := f.bytes(0, 64)
	if err != nil {
		return err
	}
	sectors, at, length := le64(data[12:]), le64(data[28:]), le64(data[36:])
	if sectors > maxVirtual/sector || at == 0 || length == 0 || at > maxVirtual/sector || length > maxDescriptor/sector {
		return errMalformed
	}
	h.VirtualSize = int64(sectors) * sector
	text, err := f.bytes(int64(at)*sector, int(length)*sector)
	if err != nil {
		return err
	}
	text = bytes.TrimRight(text, "\x00")
	kind, extents := vmdkType.FindSubmatch(text), vmdkExtent.FindAllSubmatch(text, -1)
	if kind == nil || len(extents) == 0 {
		return errMalformed
	}
	parent := vmdkCID.FindSubmatch(text)
	switch name := string(kind[1]); {
	case name != "monolithicSparse" && name != "streamOptimized":
		h.Unsafe = "its type keeps data in other files"
	case vmdkParent.Match(text) || parent != nil && !strings.EqualFold(string(parent[1]), "ffffffff"):
		h.Unsafe = "it has a parent"
	case len(extents) != 1 || string(extents[0][1]) != "SPARSE" || !vmdkName.Match(extents[0][2]):
		h.Unsafe = "an extent is another file"
	}
	return nil
}

// VHD (Microsoft's Virtual Hard Disk Image Format Specification 1.0): a footer
// of 512 bytes at the end, and a copy of it at the start of dynamic ones.
const footer = 512

func readVHD(f file, h *Header) error {
	data, err := f.bytes(f.size-footer, footer)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(data, []byte("conectix")) {
		return errMalformed
	}
	if kind := be32(data[60:]); kind != 2 && kind != 3 {
		h.Unsafe = "it has a parent"
	}
	return h.setSize(be64(data[48:]))
}

// VDI (VirtualBox): little endian; types 1 and 2 stand alone.
func readVDI(f file, h *Header) error {
	data, err := f.bytes(0, 400)
	if err != nil {
		return err
	}
	if kind := le32(data[76:]); kind != 1 && kind != 2 {
		h.Unsafe = "it has a parent"
	}
	return h.setSize(le64(data[368:]))
}

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
