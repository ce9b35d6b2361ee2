package policy

// The operator's policy file and when it is read again.

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/faults"
)

const (
	// maxFile bounds a policy file, in bytes.
	maxFile = 4 << 20
	// pollInterval is the least time between two looks at the file.
	pollInterval = time.Second
)

// file is a policy file and what was last seen of it.
type file struct {
	path    string
	next    atomic.Int64 // when to look again, in Unix nanoseconds
	reading sync.Mutex   // held by the one who looks; guards seen
	seen    stamp
}

// stamp tells whether a file is still the one that was read.
type stamp struct {
	modified time.Time
	size     int64
}

// read reads the file and remembers its stamp, taken first: a change while it
// is read is seen at the next look.
func (f *file) read() (overrides, error) {
	f.seen = stamp{}
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "InvalidPolicy", "the policy file can't be read: %s", err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", err)
	}
	f.seen = stamp{info.ModTime(), info.Size()}
	document, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", err)
	}
	if len(document) > maxFile {
		return nil, invalid("%s is longer than %d bytes", f.path, maxFile)
	}
	var rules overrides
	if err := yaml.Unmarshal(document, &rules); err != nil {
		return nil, invalid("%s: %s", f.path, err)
	}
	return rules, nil
}

// due says whether it is time to look, to one caller per interval.
func (f *file) due(now time.Time) bool {
	next := f.next.Load()
	return now.UnixNano() >= next && f.next.CompareAndSwap(next, now.Add(pollInterval).UnixNano())
}

func (f *file) checked(now time.Time) { f.next.Store(now.Add(pollInterval).UnixNano()) }

func (f *file) changed() bool {
	info, err := os.Stat(f.path)
	return err != nil || f.seen != stamp{info.ModTime(), info.Size()}
}

// refresh takes over a changed policy file. A file that can't be read or
// understood changes nothing: the rules in force stay, and the log says so at
// every look until it is mended.
func (e *Enforcer) refresh() {
	if e.file == nil || !e.file.due(e.now()) || !e.file.reading.TryLock() {
		return
	}
	defer e.file.reading.Unlock()
	if !e.file.changed() {
		return
	}
	rules, err := e.file.read()
	if err == nil {
		err = e.use(rules)
	}
	if err != nil {
		e.file.seen = stamp{}
		e.options.Log.Error("the policy file isn't used; the rules before it stay in force", "file", e.file.path, "error", err)
		return
	}
	e.options.Log.Info("the policy file was read again", "file", e.file.path)
}
