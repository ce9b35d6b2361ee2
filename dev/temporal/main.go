// The program's course: databases, server, namespaces, UI, "ready", the end.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
)

// stopTimeout bounds a clean stop; what is cut off then, PostgreSQL has.
const stopTimeout = 15 * time.Second

func main() {
	opts, err := parseOptions(os.Args[1:], os.Getenv)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-temporal:", err)
		os.Exit(1)
	}
}

func run(opts options) (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: opts.logLevel}))

	stores := []store{
		{config: opts.sql(opts.database), schema: engineSchema},
		{config: opts.sql(opts.visibilityDatabase), schema: visibilitySchema},
	}
	for _, s := range stores {
		if err := s.prepare(ctx, logger); err != nil {
			return err
		}
	}
	server, err := newServer(opts, logger)
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	defer func() { err = errors.Join(err, stop(server)) }()
	if err := ensureNamespaces(ctx, opts.address(), opts.namespaces); err != nil {
		return err
	}
	if opts.uiPort != 0 {
		stopUI, err := startUI(opts)
		if err != nil {
			return err
		}
		defer stopUI()
	}
	fmt.Println("ready")
	return watch(ctx, stores, logger)
}

func stop(server temporal.Server) error {
	done := make(chan error, 1)
	go func() { done <- server.Stop() }()
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("the server did not stop within %s", stopTimeout)
	}
}
