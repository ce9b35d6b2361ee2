// Standard output, watched for the line that says "ready".

package supervise

import (
	"bytes"
	"os"
)

// maxLine bounds what is kept of a line that has not ended; the line waited
// for is short.
const maxLine = 4096

// lineWatch passes what a process prints on to its log and closes seen at the
// first line that is the one it waits for.
type lineWatch struct {
	line string
	seen chan struct{}
	log  *os.File // nil throws it away

	found   bool
	partial []byte
}

func (w *lineWatch) Write(data []byte) (int, error) {
	if !w.found {
		w.look(data)
	}
	if w.log == nil {
		return len(data), nil
	}
	return w.log.Write(data)
}

func (w *lineWatch) look(data []byte) {
	w.partial = append(w.partial, data...)
	for {
		line, rest, whole := bytes.Cut(w.partial, []byte("\n"))
		if !whole {
			break
		}
		if string(bytes.TrimRight(line, "\r")) == w.line {
			w.found, w.partial = true, nil
			close(w.seen)
			return
		}
		w.partial = rest
	}
	if len(w.partial) > maxLine {
		w.partial = w.partial[:maxLine]
	}
}
