package image

// The data of an image: up and down.

import (
	"crypto/md5" // Glance's old checksum
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"holdfast.dev/dev/companions/service"
)

// mostData bounds an image's data: 64 GiB.
const mostData = 64 << 30

func (s *Service) file(id string) string { return filepath.Join(s.Dir, id) }

func (s *Service) upload(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	id := r.PathValue("id")
	if r.Header.Get("Content-Type") != "application/octet-stream" {
		return service.Fail(http.StatusUnsupportedMediaType, "The image's data must be application/octet-stream.")
	}
	i, err := s.get(r.Context(), caller, id)
	if err == nil {
		err = mayChange(caller, i.Owner)
	}
	if err == nil {
		err = uploadable(i)
	}
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(s.Dir, i.ID+".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // once renamed there is none
	defer part.Close()
	old, long := md5.New(), sha512.New()
	size, err := io.Copy(io.MultiWriter(part, old, long), io.LimitReader(r.Body, mostData+1))
	if err != nil {
		return &service.Error{Status: http.StatusBadRequest, Message: "The image's data did not arrive whole.", Err: err}
	}
	if size > mostData {
		return service.Fail(http.StatusRequestEntityTooLarge, "Image storage media is full: an image has at most %d bytes.", int64(mostData))
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	_, err = s.change(r.Context(), caller, i.ID, func(i *record) error {
		if err := uploadable(i); err != nil {
			return err
		}
		i.Status = "active"
		i.Document["size"], i.Document["checksum"] = size, hex.EncodeToString(old.Sum(nil))
		i.Document["os_hash_algo"], i.Document["os_hash_value"] = "sha512", hex.EncodeToString(long.Sum(nil))
		return os.Rename(part.Name(), s.file(i.ID))
	})
	if err != nil {
		return err
	}
	return service.NoContent(w)
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
	if i.Status != "active" {
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
