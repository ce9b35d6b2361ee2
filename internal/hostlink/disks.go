package hostlink

// Disks from host to host: what the source serves. The destination's side is in
// pull.go.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

// GuestDisks are the files that a guest on its host is kept in.
type GuestDisks struct {
	Folder string
	Names  []string
}

const (
	// maxChunk bounds one piece of a disk on its way, in bytes.
	maxChunk = 16 << 20
	// maxDisks bounds how many files a guest has.
	maxDisks = 64
	// chunkTime bounds the sending of a piece, digestTime the reading of a whole
	// disk for its digest.
	chunkTime, digestTime = time.Minute, 30 * time.Minute
	// readers is how many pieces and digests a host reads at once.
	readers = 4
	// digestHeader has the SHA-256 of a piece, in hex.
	digestHeader = "Holdfast-Sha256"
	// markerPrefix begins the name of the file by which a host that sees the same
	// folder finds that out.
	markerPrefix = ".seen-by-"
)

// manifest is what a guest's disks are.
type manifest struct {
	// Marker is the name of a file in the folder of the source.
	Marker string     `json:"marker"`
	Disks  []diskFile `json:"disks"`
}

type diskFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// What other hosts ask about a guest's disks, by the end of the path.
const disksRead = "disks"

func diskRead(name string) string   { return disksRead + "/" + name }
func digestRead(name string) string { return diskRead(name) + "/sha256" }

// diskServer lets other hosts copy the disks of guests.
type diskServer struct {
	hostID string
	key    Key
	guests Guests
	served *spent
	turns  chan struct{}
}

func (d *diskServer) register(mux *http.ServeMux) {
	d.turns = make(chan struct{}, readers)
	mux.HandleFunc("GET /guests/{id}/disks", d.serve(d.list))
	mux.HandleFunc("GET /guests/{id}/disks/{name}", d.serve(d.piece))
	mux.HandleFunc("GET /guests/{id}/disks/{name}/sha256", d.serve(d.digest))
}

// serve lets a host in, once with each pass, when it is its turn.
func (d *diskServer) serve(answer func(http.ResponseWriter, *http.Request, GuestDisks) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := d.admit(r); err != nil {
			writeFault(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), readTime)
		defer cancel()
		select {
		case d.turns <- struct{}{}:
			defer func() { <-d.turns }()
		case <-ctx.Done():
			writeFault(w, faults.New(faults.Unavailable, "HostBusy", "the host sends as many disks as it can"))
			return
		}
		disks, err := d.guests.Disks(ctx, r.PathValue("id"))
		if err == nil && r.PathValue("name") != "" && !slices.Contains(disks.Names, r.PathValue("name")) {
			err = faults.New(faults.NotFound, "NoSuchDisk", "the guest has no disk %q", r.PathValue("name"))
		}
		if err == nil {
			err = answer(w, r, disks)
		}
		if err != nil {
			writeFault(w, err)
		}
	}
}

func (d *diskServer) admit(r *http.Request) error {
	what := strings.TrimPrefix(r.URL.Path, "/guests/"+r.PathValue("id")+"/")
	pass, err := d.key.Check(r, guestObject(d.hostID, r.PathValue("id"), what))
	if err != nil {
		return err
	}
	if _, isHost := pass.host(); !isHost || !d.served.spend(pass) {
		return faults.New(faults.Unauthorized, "Unauthorized", "the pass has served")
	}
	return nil
}

func (d *diskServer) list(w http.ResponseWriter, _ *http.Request, disks GuestDisks) error {
	marker, err := mark(disks.Folder)
	if err != nil {
		return unreadable(err)
	}
	m := manifest{Marker: marker, Disks: []diskFile{}}
	for _, name := range disks.Names {
		info, err := os.Stat(filepath.Join(disks.Folder, name))
		if err != nil {
			return unreadable(err)
		}
		m.Disks = append(m.Disks, diskFile{Name: name, Size: info.Size()})
	}
	writeJSON(w, http.StatusOK, m)
	return nil
}

// mark leaves a file with a name that nobody can know in the folder, once.
func mark(folder string) (string, error) {
	have, err := filepath.Glob(filepath.Join(folder, markerPrefix+"*"))
	if err != nil {
		return "", err
	}
	if len(have) > 0 {
		return filepath.Base(have[0]), nil
	}
	name := markerPrefix + rand.Text()
	return name, os.WriteFile(filepath.Join(folder, name), nil, 0o600)
}

// piece sends the bytes that the Range header asks for, and their digest before
// them.
func (d *diskServer) piece(w http.ResponseWriter, r *http.Request, disks GuestDisks) error {
	var from, to int64
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil || from < 0 || to < from || to-from >= maxChunk {
		return faults.New(faults.Invalid, "InvalidRange", "a piece of a disk is asked for by a range of at most %d bytes", maxChunk)
	}
	file, err := os.Open(filepath.Join(disks.Folder, r.PathValue("name")))
	if err != nil {
		return unreadable(err)
	}
	defer file.Close()
	piece, err := io.ReadAll(io.NewSectionReader(file, from, to-from+1))
	if err != nil {
		return unreadable(err)
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(chunkTime)); err != nil {
		return unreadable(err)
	}
	sum := sha256.Sum256(piece)
	w.Header().Set(digestHeader, hex.EncodeToString(sum[:]))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(piece) // who hung up has no use for the error
	return nil
}

// digest reads the whole disk. The answer begins at once, so that whoever waits
// knows that it is on its way; without its end there is no digest.
func (d *diskServer) digest(w http.ResponseWriter, r *http.Request, disks GuestDisks) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(digestTime)); err != nil {
		return unreadable(err)
	}
	file, err := os.Open(filepath.Join(disks.Folder, r.PathValue("name")))
	if err != nil {
		return unreadable(err)
	}
	defer file.Close()
	w.WriteHeader(http.StatusOK)
	if control.Flush() != nil {
		return nil // nobody listens
	}
	sum, err := digestOf(r.Context(), file)
	if err != nil {
		return nil // the answer ends without one
	}
	_ = json.NewEncoder(w).Encode(sum)
	return nil
}

// digestOf is the SHA-256 of all that a file has, in hex.
func digestOf(ctx context.Context, file io.Reader) (string, error) {
	hash := sha256.New()
	for buffer := make([]byte, 1<<20); ; {
		n, err := file.Read(buffer)
		hash.Write(buffer[:n])
		switch {
		case err == io.EOF:
			return hex.EncodeToString(hash.Sum(nil)), nil
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}

func unreadable(err error) error {
	return faults.Wrap(err, faults.Unavailable, "HostStorage", "the host's storage failed")
}
