package hostlink

// Questions to conductors: what the BMCs of nodes say.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"holdfast.dev/internal/faults"
)

// Nodes is what a conductor lets the API ask; activities/bmc implements it.
type Nodes interface {
	// Ask gives what a node's BMC says to a question, as JSON. Errors: NotFound, no such
	// node; Invalid, its driver can't answer that, or its BMC refuses; Unavailable.
	Ask(ctx context.Context, nodeID, question string, about url.Values) (json.RawMessage, error)
}

// askTime bounds one question: a BMC may need several requests for an answer.
const askTime = 40 * time.Second

// ListenNodes begins to answer questions to a conductor at address, as Listen does
// reads from a host.
func ListenNodes(address, conductor string, key Key, nodes Nodes, log *slog.Logger) (*Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("conductor link listener: %w", err)
	}
	return serveLink(l, nodesHandler(conductor, key, nodes), askTime, log), nil
}

func nodesHandler(conductor string, key Key, nodes Nodes) http.Handler {
	served := &spent{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /nodes/{id}/{question}", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askTime)
		defer cancel()
		id, question := r.PathValue("id"), r.PathValue("question")
		if err := admitRead(key, served, r, nodeObject(conductor, id, question)); err != nil {
			writeFault(w, err)
			return
		}
		answer, err := nodes.Ask(ctx, id, question, r.URL.Query())
		if err == nil && len(answer) > maxRead {
			err = faults.New(faults.Invalid, "TooLarge", "what the BMC says has more than %d bytes", maxRead)
		}
		if err != nil {
			writeFault(w, err)
			return
		}
		writeRead(w, "application/json", answer)
	})
	return mux
}

func nodeObject(conductor, nodeID, question string) string {
	return "conductor/" + conductor + "/node/" + nodeID + "/" + question
}

// Ask asks the conductor that listens at linkAddress something about a node. Errors:
// those of Nodes; Unavailable, the conductor can't be reached.
func (r *Reader) Ask(ctx context.Context, conductor, linkAddress, nodeID, question string, about url.Values) (json.RawMessage, error) {
	path := "/nodes/" + url.PathEscape(nodeID) + "/" + url.PathEscape(question) + "?" + about.Encode()
	return r.get(ctx, r.patient, linkAddress, path, nodeObject(conductor, nodeID, question))
}
