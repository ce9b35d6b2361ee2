package boot

// The server of boot images: BMCs read them, who have no user's token; the name is
// what lets them.

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/store/baremetal"
)

const (
	// unfinished is how the folders begin in which media are put together.
	unfinished = ".making-"
	// sweepEvery is the time between two looks for files that nobody is booted from,
	// and abandoned how old a folder is whose maker is gone.
	sweepEvery = time.Minute
	abandoned  = time.Hour
)

// Serve serves the media until ctx ends, and removes those that no node is booted
// from any more.
func (a *Activities) Serve(ctx context.Context, listener net.Listener, log *slog.Logger) error {
	server := &http.Server{Handler: http.HandlerFunc(a.serve), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
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

func (a *Activities) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if r.Method != http.MethodGet && r.Method != http.MethodHead || strings.ContainsAny(name, "/\\") || !strings.HasSuffix(name, ".iso") {
		http.NotFound(w, r)
		return
	}
	file, err := baremetal.BootFileNamed(r.Context(), a.db.Pool, name)
	if err != nil {
		http.Error(w, "the database doesn't answer", http.StatusServiceUnavailable)
		return
	}
	if file == nil || file.Conductor != a.Conductor {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeFile(w, r, filepath.Join(a.Dir, file.Name))
}

// sweep removes files that no node is booted from, and what was left half-made.
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
			if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) < abandoned {
				continue
			}
			if err := errors.Join(err, os.RemoveAll(path)); err != nil {
				return err
			}
		case strings.HasSuffix(e.Name(), ".iso") && !slices.Contains(known, e.Name()):
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
