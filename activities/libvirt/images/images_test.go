package images

// Images that are taken and images that are refused, and the cache.

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"holdfast.dev/internal/faults"
)

// made has qemu-img make an image of 1 MiB and gives its bytes.
func made(t *testing.T, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "image")
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("qemu-img", append(append([]string{"create", "-q"}, args...), path, "1M")...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("qemu-img: %v: %s", err, said)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAccept(t *testing.T) {
	t.Parallel()
	const content, safety = "Image content does not match disk_format", "Image does not pass safety check"
	raw := make([]byte, 1<<20)
	gpt := bytes.Clone(raw)
	copy(gpt[510:], "\x55\xaa")
	copy(gpt[512:], "EFI PART")
	iso := bytes.Clone(raw)
	copy(iso[32769:], "CD001")
	qcow2, vmdk := made(t, "-f", "qcow2"), made(t, "-f", "vmdk")
	dataFile := bytes.Clone(qcow2)
	dataFile[79] |= qcow2DataFile
	unknown := bytes.Clone(qcow2)
	unknown[72] = 0x80
	huge := bytes.Clone(qcow2)
	binary.BigEndian.PutUint64(huge[24:], 1<<63)
	extent := bytes.Replace(vmdk, []byte(`SPARSE "image"`), []byte(`FLAT "/etc/s"`+" "), 1)
	flat := bytes.Replace(vmdk, []byte("monolithicSparse"), []byte("monolithicFlat  "), 1)
	for name, c := range map[string]struct {
		format string
		data   []byte
		reason string // empty if it is taken
	}{
		"raw":                {"raw", raw, ""},
		"partitions":         {"raw", gpt, ""},
		"qcow2":              {"qcow2", qcow2, ""},
		"qcow2, version 2":   {"qcow2", made(t, "-f", "qcow2", "-o", "compat=0.10"), ""},
		"vmdk":               {"vmdk", vmdk, ""},
		"vmdk, streamed":     {"vmdk", made(t, "-f", "vmdk", "-o", "subformat=streamOptimized"), ""},
		"vhd":                {"vhd", made(t, "-f", "vpc"), ""},
		"vhd, fixed":         {"vhd", made(t, "-f", "vpc", "-o", "subformat=fixed"), ""},
		"vdi":                {"vdi", made(t, "-f", "vdi"), ""},
		"iso":                {"iso", iso, ""},
		"qcow2 as raw":       {"raw", qcow2, content},
		"raw as qcow2":       {"qcow2", raw, content},
		"iso as raw":         {"raw", iso, content},
		"vmdk as qcow2":      {"qcow2", vmdk, content},
		"cut short":          {"qcow2", qcow2[:40], content},
		"absurd size":        {"qcow2", huge, content},
		"luks as raw":        {"raw", append([]byte("LUKS\xba\xbe"), raw...), content},
		"empty as qcow2":     {"qcow2", nil, content},
		"backing file":       {"qcow2", made(t, "-f", "qcow2", "-b", "other", "-F", "raw"), safety},
		"data file":          {"qcow2", dataFile, safety},
		"unknown features":   {"qcow2", unknown, safety},
		"vmdk extent":        {"vmdk", extent, safety},
		"vmdk of other type": {"vmdk", flat, safety},
		"vmdk descriptor":    {"vmdk", []byte("# Disk DescriptorFile\nversion=1\n"), safety},
		"unknown format":     {"ploop", raw, "Image not in a supported format"},
		"vhdx":               {"vhdx", raw, "Image not in a supported format"},
	} {
		_, err := Accept("i", c.format, bytes.NewReader(c.data), int64(len(c.data)))
		if c.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		f := faults.As(err)
		if want := "Image i is unacceptable: " + c.reason; f == nil || f.Kind != faults.Invalid || f.Code != "ImageUnacceptable" || f.Message != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if h, err := Inspect(bytes.NewReader(qcow2), int64(len(qcow2))); err != nil || h != (Header{Format: "qcow2", VirtualSize: 1 << 20}) {
		t.Errorf("%+v, %v", h, err)
	}
}

// Nothing that is read makes the inspection fail in another way.
func FuzzInspect(f *testing.F) {
	f.Add([]byte("QFI\xfb\x00\x00\x00\x03"))
	f.Add([]byte("KDMV\x01\x00\x00\x00"))
	f.Add(append(make([]byte, 512), "conectix"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Inspect(bytes.NewReader(data), int64(len(data)))
		if err != nil && err != errMalformed {
			t.Errorf("%v", err)
		}
	})
}

// shelf is a source of images by server id.
type shelf struct {
	images map[string]Image
	data   map[string][]byte
	opened atomic.Int32
}

func (s *shelf) Image(_ context.Context, serverID string) (Image, error) {
	return s.images[serverID], nil
}

func (s *shelf) Wanted(_ context.Context, imageID string) (Image, error) {
	for _, i := range s.images {
		if i.ID == imageID {
			return i, nil
		}
	}
	return Image{}, faults.New(faults.NotFound, "ImageNotFound", "no image %s", imageID)
}

func (s *shelf) Open(_ context.Context, i Image) (io.ReadCloser, error) {
	s.opened.Add(1)
	return io.NopCloser(bytes.NewReader(s.data[i.ID])), nil
}

func anything(int64) error { return nil }

func open(t *testing.T, s *shelf, limit int64) (c *Cache, dir string) {
	t.Helper()
	dir = t.TempDir()
	c, err := Open(filepath.Join(dir, "cache"), s, limit)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestOneDownloadForMany(t *testing.T) {
	t.Parallel()
	s := &shelf{images: map[string]Image{"s": {ID: "i", DiskFormat: "qcow2"}}, data: map[string][]byte{"i": made(t, "-f", "qcow2")}}
	c, dir := open(t, s, 0)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			if err := c.Link(t.Context(), "s", filepath.Join(dir, fmt.Sprint("link", n)), anything); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.opened.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
	if info, err := os.Stat(filepath.Join(dir, "link7")); err != nil || info.Size() != 1<<20 {
		t.Errorf("the base: %v, %v", info, err)
	}
}

// What is refused leaves nothing behind.
func TestRefusals(t *testing.T) {
	t.Parallel()
	small := faults.New(faults.Invalid, "FlavorDiskSmallerThanImage", "too small")
	s := &shelf{
		images: map[string]Image{
			"format": {ID: "raw", DiskFormat: "qcow2"}, "hash": {ID: "raw", DiskFormat: "raw", HashAlgo: "sha256", HashValue: strings.Repeat("00", 32)},
			"size": {ID: "raw", DiskFormat: "raw", Size: 5}, "fits": {ID: "raw", DiskFormat: "raw"}, "name": {ID: "../x", DiskFormat: "raw"},
		},
		data: map[string][]byte{"raw": make([]byte, 4096)},
	}
	c, dir := open(t, s, 0)
	for server, code := range map[string]string{"format": "ImageUnacceptable", "hash": "CorruptedImage", "size": "CorruptedImage", "fits": small.Code, "name": "InvalidImage"} {
		err := c.Link(t.Context(), server, filepath.Join(dir, "link"), func(int64) error {
			if server == "fits" {
				return small
			}
			return nil
		})
		if f := faults.As(err); f == nil || f.Code != code {
			t.Errorf("%s: %v, want %s", server, err, code)
		}
	}
	if left, err := os.ReadDir(c.dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What is got ahead of servers is checked as theirs is, and not downloaded again for them,
// whatever was half-way when the host was killed.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	s := &shelf{
		images: map[string]Image{
			"s": {ID: "i", DiskFormat: "raw", Size: 4096}, "hash": {ID: "hash", DiskFormat: "raw", HashAlgo: "sha256", HashValue: strings.Repeat("00", 32)},
			"format": {ID: "format", DiskFormat: "qcow2"}, "large": {ID: "large", DiskFormat: "raw", Size: 1<<20 + 1},
		},
		data: map[string][]byte{"i": make([]byte, 4096), "hash": make([]byte, 4096), "format": make([]byte, 4096)},
	}
	c, dir := open(t, s, 1<<20)
	if err := os.WriteFile(filepath.Join(c.dir, unfinished+"1"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var err error
		if c, err = Open(c.dir, s, c.limit); err != nil {
			t.Fatal(err)
		}
		if err := c.Prefetch(t.Context(), "i"); err != nil {
			t.Fatal(err)
		}
	}
	for id, code := range map[string]string{"hash": "CorruptedImage", "format": "ImageUnacceptable", "large": "ImageTooLarge", "gone": "ImageNotFound"} {
		if f := faults.As(c.Prefetch(t.Context(), id)); f == nil || f.Code != code {
			t.Errorf("%s: %v, want %s", id, f, code)
		}
	}
	left, err := filepath.Glob(filepath.Join(c.dir, "*"))
	if want := fmt.Sprint([]string{filepath.Join(c.dir, "i-")}); err != nil || fmt.Sprint(left) != want {
		t.Errorf("left %v, %v, want %v", left, err, want)
	}
	s.opened.Store(0)
	if err := c.Link(t.Context(), "s", filepath.Join(dir, "link"), anything); err != nil || s.opened.Load() != 0 {
		t.Errorf("a server's: %v, %d downloads", err, s.opened.Load())
	}
}

// Bases that guests use stay; of the others, the oldest go.
func TestEviction(t *testing.T) {
	t.Parallel()
	content := func(b byte) []byte { return bytes.Repeat([]byte{b}, 256<<10) }
	s := &shelf{images: map[string]Image{}, data: map[string][]byte{}}
	for _, id := range []string{"a", "b", "c"} {
		s.images[id], s.data[id] = Image{ID: id, DiskFormat: "raw"}, content(id[0])
	}
	c, dir := open(t, s, 300<<10)
	for _, id := range []string{"a", "b", "c"} {
		link := filepath.Join(dir, id)
		if err := c.Link(t.Context(), id, link, anything); err != nil {
			t.Fatal(err)
		}
		if id != "a" {
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.evict(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(c.dir, "*"))
	if want := fmt.Sprint([]string{filepath.Join(c.dir, "a-"), filepath.Join(c.dir, "c-")}); err != nil || fmt.Sprint(left) != want {
		t.Errorf("left %v, %v, want %v", left, err, want)
	}
}
