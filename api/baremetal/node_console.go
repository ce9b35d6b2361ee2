package baremetal

// GET and PUT /nodes/{node}/states/console. No console is served yet: nodes have none,
// or the fake one.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// showConsole tells of what the node's row says: there is nothing to connect to.
func (a *API) showConsole(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:get_console")
	if err != nil {
		return nil, err
	}
	shown := map[string]any{"console_enabled": n.ConsoleEnabled, "console_info": nil}
	if n.ConsoleEnabled {
		shown["console_info"] = map[string]any{}
	}
	return rest.JSON(shown), nil
}

// setConsole starts or stops the fake console, which needs nobody to work on it.
func (a *API) setConsole(r *rest.Request) (*rest.Response, error) {
	asked, err := readArguments(r, "enabled")
	if err != nil {
		return nil, err
	}
	enabled, err := asked.truth("enabled")
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, "baremetal:node:set_console_state")
		switch {
		case err != nil:
			return err
		case nodes.Interfaces(n)["console"] != "fake":
			return hardware.Unsupported(n.Driver, "console")
		case n.ConsoleEnabled == *enabled:
			return nil
		}
		if err := unheld(n); err != nil {
			return err
		}
		n.ConsoleEnabled, n.LastError = *enabled, nil
		return baremetal.Nodes.Update(r.Context(), tx, n)
	})
	if err != nil {
		return nil, err
	}
	return (&rest.Response{}).WithHeader("Location", r.Link("nodes", r.Param("node"), "states", "console")), nil
}
