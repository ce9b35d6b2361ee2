// The web UI, which shows operators each operation as the workflow it is.

package main

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// uiTimeout is how long the UI may take until it serves.
const uiTimeout = 10 * time.Second

// startUI returns when the UI serves, which it does until stop is called. The
// UI's own way to report a port in use is to end the process.
func startUI(opts options) (stop func(), err error) {
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
	failed := make(chan error, 1)
	go func() { failed <- ui.Start() }()
	deadline := time.After(uiTimeout)
	address := net.JoinHostPort(opts.ip, strconv.Itoa(opts.uiPort))
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			return ui.Stop, conn.Close()
		}
		select {
		case err := <-failed:
			return nil, fmt.Errorf("the UI ended: %w", err)
		case <-deadline:
			return nil, fmt.Errorf("the UI does not serve on %s", address)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
