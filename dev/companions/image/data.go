package image

// The data of an image: up and down.

import (
	"context"
	"crypto/md5" // Glance's old checksum
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// mostData bounds an image's data: 64 GiB.
const mostData = 64 << 30

func (s *Service) file(id string) string { return filepath.Join(s.Dir, id) }

// Sweep removes what no image has: data that was arriving when the service was
// killed, or whose image was deleted just before. Nobody else has the folder,
// and nobody is served yet.
func (s *Service) Sweep(ctx context.Context) error {
	rows, err := s.Pool.Query(ctx, `SELECT id::text FROM image.images`)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	owned := map[string]bool{}
	for _, id := range ids {
		owned[s.file(id)], owned[s.staged(id)] = true, true
	}
	files, err := filepath.Glob(filepath.Join(s.Dir, "*"))
	for _, path := range files {
		if !owned[path] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// data is what arrived: its place until it is renamed, and what it is known by.
type data struct {
	path      string
	size      int64
	old       hash.Hash // checksum
	long      hash.Hash // os_hash_value
	beginning [32]byte
}

func newData(path string) *data { return &data{path: path, old: md5.New(), long: sha512.New()} }

// discard removes the file, unless it has been renamed.
func (d *data) discard() { _ = os.Remove(d.path) }

// fill reads all of it, and writes it to w.
func (d *data) fill(w io.Writer, from io.Reader) error {
	n, err := io.ReadFull(from, d.beginning[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	into := io.MultiWriter(w, d.old, d.long)
	if _, err := into.Write(d.beginning[:n]); err != nil {
		return err
	}
	more, err := io.Copy(into, from)
	d.size = int64(n) + more
	return err
}

// measure reads a file that is there.
func measure(path string) (*data, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := newData(path)
	return d, d.fill(io.Discard, file)
}

// receive takes the body of a request that brings an image's data into a file
// of its own.
func (s *Service) receive(r *http.Request, caller *service.Caller) (*record, *data, error) {
	if r.Header.Get("Content-Type") != "application/octet-stream" {
		return nil, nil, service.Fail(http.StatusUnsupportedMediaType, "The image's data must be application/octet-stream.")
	}
	i, err := s.get(r.Context(), caller, r.PathValue("id"))
	if err == nil {
		err = mayChange(caller, i.Owner)
	}
	if err == nil {
		err = uploadable(i)
	}
	if err != nil {
		return nil, nil, err
	}
	part, err := os.CreateTemp(s.Dir, i.ID+".part-*")
	if err != nil {
		return nil, nil, err
	}
	d := newData(part.Name())
	if err := d.fill(part, io.LimitReader(r.Body, mostData+1)); err != nil {
		_ = part.Close() // the first error says more
		d.discard()
		return nil, nil, &service.Error{Status: http.StatusBadRequest, Message: "The image's data did not arrive whole.", Err: err}
	}
	err = errors.Join(part.Sync(), part.Close())
	if err == nil && d.size > mostData {
		err = service.Fail(http.StatusRequestEntityTooLarge, "Image storage media is full: an image has at most %d bytes.", int64(mostData))
	}
	if err != nil {
		d.discard()
		return nil, nil, err
	}
	return i, d, nil
}

func (s *Service) upload(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, received, err := s.receive(r, caller)
	if err != nil {
		return err
	}
	defer received.discard()
	_, err = s.change(r.Context(), caller, i.ID, func(i *record) error {
		if err := uploadable(i); err != nil {
			return err
		}
		i.activate(received)
		return os.Rename(received.path, s.file(i.ID))
	})
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

// activate says that the image has its data.
func (i *record) activate(d *data) {
	i.Status = "active"
	i.Document["size"], i.Document["checksum"] = d.size, hex.EncodeToString(d.old.Sum(nil))
	i.Document["os_hash_algo"], i.Document["os_hash_value"] = "sha512", hex.EncodeToString(d.long.Sum(nil))
	i.Document["stores"] = store
	if size, known := virtualSize(i.Document["disk_format"], d); known {
		i.Document["virtual_size"] = size
	}
}

// virtualSize is the size of the disk that a guest sees, of the formats that
// tell it at their beginning. A qcow2 file has it as a big-endian number at byte
// 24 (QEMU's docs/interop/qcow2).
func virtualSize(format any, d *data) (int64, bool) {
	switch format {
	case "raw", "iso":
		return d.size, true
	case "qcow2":
		if string(d.beginning[:4]) == "QFI\xfb" {
			size := int64(binary.BigEndian.Uint64(d.beginning[24:32]))
			return size, size >= 0
		}
	}
	return 0, false
}

// uploadable refuses what has its data, or lacks what says how to read it.
func uploadable(i *record) error {
	if i.Status != "queued" {
		return service.Fail(http.StatusConflict, "Image status transition from %s to saving is not allowed", i.Status)
	}
	for _, name := range []string{"disk_format", "container_format"} {
		if i.Document[name] == nil {
			return service.Fail(http.StatusBadRequest, "Properties disk_format, container_format must be set prior to saving data.")
		}
	}
	return nil
}

func (s *Service) download(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, err := s.get(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	switch {
	case i.Status == "deactivated" && !caller.Admin():
		return service.Fail(http.StatusForbidden, "The requested image has been deactivated. Image data download is forbidden.")
	case i.Status != "active" && i.Status != "deactivated":
		return service.NoContent(w)
	}
	file, err := os.Open(s.file(i.ID))
	if err != nil {
		return err
	}
	defer file.Close()
	sum, _ := i.Document["checksum"].(string)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Md5", sum)
	http.ServeContent(w, r, "", i.UpdatedAt, file)
	return nil
}
