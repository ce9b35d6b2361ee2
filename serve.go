package main

// Serving HTTP within bounds, and stopping without dropping anybody.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// listener is one address and what is served there.
type listener struct {
	name    string
	address string
	handler http.Handler
	// longest is the longest time for an answer.
	longest time.Duration
}

// Bounds that no client can stretch.
const (
	headerTime     = 10 * time.Second
	idleTime       = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// serve serves all listeners until ctx ends, then takes no more requests and
// gives those that run up to patience. Listeners without an address are left out.
func serve(ctx context.Context, log *slog.Logger, patience time.Duration, listeners ...listener) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		if l.address == "" {
			continue
		}
		socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
		if err != nil {
			return fmt.Errorf("listen for %s: %w", l.name, err)
		}
		server := &http.Server{
			Handler:           l.handler,
			ReadHeaderTimeout: headerTime,
			ReadTimeout:       l.longest,
			WriteTimeout:      l.longest + time.Second, // so that a handler's own deadline answers first
			IdleTimeout:       idleTime,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		log.Info("listening", "for", l.name, "address", socket.Addr().String())
		group.Go(func() error {
			if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.name, err)
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			if err := server.Shutdown(last); err != nil {
				log.Warn("requests were cut off", "of", l.name, "error", err)
				return server.Close()
			}
			return nil
		})
	}
	return group.Wait()
}
