package compute

// The action os-getConsoleOutput: the end of what a guest has written to its
// console, read from its host.

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
)

// Consoles reads from hosts; hostlink.Reader is the one there is.
type Consoles interface {
	// Console gives the last length bytes (negative: all) of a guest's log.
	Console(ctx context.Context, hostID, linkAddress, serverID string, length int) ([]byte, error)
	// Diagnostics says how a guest does.
	Diagnostics(ctx context.Context, hostID, linkAddress, serverID string) (servers.Diagnostics, error)
	// Progress says how far a guest that leaves the host has come.
	Progress(ctx context.Context, hostID, linkAddress, serverID string) (steps.MoveProgress, error)
}

func (a *API) consoleOutput(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct {
		Length json.RawMessage `json:"length"`
	}](r, "os-getConsoleOutput")
	if err != nil {
		return nil, err
	}
	server, err := compute.GetServer(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("id"))
	if err == nil {
		err = r.Enforce("os_compute_api:os-console-output", serverTarget(server))
	}
	if err == nil {
		err = precondition{host: true}.check(r, server)
	}
	if err != nil {
		return nil, err
	}
	host, err := compute.GetHost(r.Context(), a.DB.Pool, server.HostID)
	if err != nil {
		return nil, err
	}
	log, err := a.Consoles.Console(r.Context(), host.ID, host.LinkAddress, server.ID, -1)
	if unserved(err) {
		return nil, notSupported()
	}
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "ConsoleNotAvailable", "Guest does not have a console available.")
	}
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]string{"output": lastLines(printableLog(log), asked.Length)}), nil
}

// unserved says that a host's driver has no such thing to read.
func unserved(err error) bool { return err != nil && faults.As(err).Code == steps.CodeNotSupported }

// lastLines is the end of a log, as many lines of it as were asked for; all for
// none, null and -1.
func lastLines(log string, asked json.RawMessage) string {
	var lines whole
	if len(asked) == 0 || string(asked) == "null" || lines.UnmarshalJSON(asked) != nil || lines < 0 {
		return log
	}
	if lines == 0 {
		return ""
	}
	body := strings.TrimSuffix(log, "\n")
	all := strings.Split(body, "\n")
	return strings.Join(all[max(0, len(all)-int(lines)):], "\n") + log[len(body):]
}

// printableLog leaves out what isn't text: control characters but tabs and ends
// of lines.
func printableLog(log []byte) string {
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return -1
		}
		return c
	}, string(log))
}
