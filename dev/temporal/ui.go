// The web UI, which shows operators each operation as the workflow it is.

package main

import (
	"fmt"
	"os"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves the UI until the function it returns is called.
func startUI(opts options) (stop func()) {
	ui := server.NewServer(server_options.WithConfigProvider(&config.Config{
		TemporalGRPCAddress: opts.address(),
		Host:                opts.ip,
		Port:                opts.uiPort,
		EnableUI:            true,
		DefaultNamespace:    opts.namespaces[0],
		DisableNewsFetch:    true,
		HideLogs:            true,
		// The UI is reached by plain HTTP on loopback.
		CORS: config.CORS{CookieInsecure: true},
	}))
	go func() {
		if err := ui.Start(); err != nil {
			fmt.Fprintln(os.Stderr, "holdfast-temporal: UI:", err)
		}
	}()
	return ui.Stop
}
