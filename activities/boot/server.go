package boot

// The server of what nodes are booted from, and of what Glance has for their disks: BMCs,
// machines and ramdisks read it, who have no user's token; the name is what lets them.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/store/baremetal"
)

const (
	// unfinished is how the folders begin in which it is put together.
	unfinished = ".making-"
	// sweepEvery is the time between two looks for files that nobody is booted from.
	sweepEvery = time.Minute
	// serveTime is how long a ramdisk may take to read an image.
	serveTime = 6 * time.Hour
)

// Serve serves that by HTTP until ctx ends, and removes what no node is booted from any
// more.
func (a *Activities) Serve(ctx context.Context, listener net.Listener, log *slog.Logger) error {
	handler := func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, log) }
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // whoever reads reads again
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if err := a.sweep(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "boot images are not swept", "error", redact.Text(err.Error()))
			}
			select {
			case <-ctx.Done():
			case <-time.After(sweepEvery):
			}
		}
	}()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

func (a *Activities) serve(w http.ResponseWriter, r *http.Request, log *slog.Logger) {
	at := strings.TrimPrefix(r.URL.Path, "/")
	name, image := strings.CutSuffix(at, nodes.ImageSuffix)
	w.Header().Set("Content-Type", "application/octet-stream")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.NotFound(w, r)
	case image && isBootFile(name):
		a.serveImage(w, r, name, log)
	default:
		a.serveFile(w, r, at, log)
	}
}

// serveFile serves what is there as a file.
func (a *Activities) serveFile(w http.ResponseWriter, r *http.Request, at string, log *slog.Logger) {
	file, err := a.find(r.Context(), at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
		return
	case err != nil:
		unserved(r, log, "a boot image", err)
		http.Error(w, "it can't be read now", http.StatusServiceUnavailable)
		return
	}
	defer func() { _ = file.Close() }() // it was only read
	http.ServeContent(w, r, "", time.Time{}, file)
}

// serveImage passes on what Glance has for the disk of the node that is booted from what has
// a name, while that is deployed; any conductor does.
func (a *Activities) serveImage(w http.ResponseWriter, r *http.Request, name string, log *slog.Logger) {
	file, err := baremetal.BootFileNamed(r.Context(), a.db.Pool, name)
	what, from := "a node's image", (*opened)(nil)
	if file != nil {
		what = "the image of node " + file.NodeUUID
		from, err = a.openImage(r, file)
	}
	switch f := faults.As(err); {
	case err == nil && from == nil, err != nil && f.Kind == faults.NotFound:
		http.NotFound(w, r)
		return
	case err != nil:
		unserved(r, log, what, err)
		http.Error(w, "it can't be read now", http.StatusServiceUnavailable)
		return
	}
	defer func() { _ = from.Close() }() // all of it that anybody wants has been read
	if from.size > 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(from.size, 10))
	}
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, from); err != nil {
		unserved(r, log, "all of "+what, err)
		panic(http.ErrAbortHandler) // whoever reads is to see that it isn't whole
	}
}

// unserved says why something isn't served, unless who reads it is gone.
func unserved(r *http.Request, log *slog.Logger, what string, err error) {
	if r.Context().Err() == nil {
		log.WarnContext(r.Context(), what+" is not served", "error", redact.Text(err.Error()))
	}
}

// opened is an image that is being read.
type opened struct {
	io.ReadCloser
	size int64
}

// openImage begins to read the image that a node is deployed with. Errors: NotFound,
// Unavailable.
func (a *Activities) openImage(r *http.Request, file *baremetal.BootFile) (*opened, error) {
	ctx := r.Context()
	n, err := baremetal.Nodes.Find(ctx, a.db.Pool, file.NodeUUID, false)
	if err != nil {
		return nil, err
	}
	info, err := nodes.InstanceInfo(a.box, n)
	if err != nil {
		return nil, err
	}
	id := info.GlanceImage()
	if of, _, verb, _ := operations.ParseID(file.OperationID); id == "" || !slices.Contains(deploying, operations.Kind(string(of)+"."+verb)) {
		return nil, faults.New(faults.NotFound, "ImageNotFound", "node %s is deployed with no image of Glance", n.UUID)
	}
	image, err := a.Glance.ImageFile(ctx, id)
	if err != nil {
		return nil, err
	}
	from, err := a.images.Open(ctx, source(id, image))
	return &opened{from, image.Size}, err
}

// deploying are the operations that write images to nodes' disks.
var deploying = []operations.Kind{operations.NodeDeploy, operations.NodeRebuild}

// sweep removes files that no node is booted from, and what an earlier process has left
// half-made.
func (a *Activities) sweep(ctx context.Context) error {
	entries, err := os.ReadDir(a.Dir)
	if err != nil {
		return err
	}
	// Read after the folder: a file is there only once its row is.
	known, err := baremetal.BootFilesOf(ctx, a.db.Pool, a.Conductor)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(a.Dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), unfinished):
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().After(a.since) {
				continue
			}
			if err := errors.Join(err, os.RemoveAll(path)); err != nil {
				return err
			}
		case isBootFile(e.Name()) && !slices.Contains(known, e.Name()):
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}
