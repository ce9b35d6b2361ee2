// Command testservices runs a command, tests as a rule, beside a PostgreSQL
// and a Temporal server that it starts before and stops after:
//
//	go run ./dev/testservices -- go test ./...
//
// The command finds them by HOLDFAST_TEST_SERVICES, which package testenv
// reads. It exits with the command's status.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"holdfast.dev/internal/testenv"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: testservices -- command [argument...]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testservices:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	began := time.Now()
	services, err := testenv.StartServices(ctx)
	if services != nil {
		defer func() { err = errors.Join(err, services.Stop()) }()
	}
	if err != nil {
		return 1, err
	}
	file, err := services.Write()
	if err != nil {
		return 1, err
	}
	fmt.Fprintf(os.Stderr, "testservices: PostgreSQL and Temporal ready after %.1f s\n", time.Since(began).Seconds())

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), testenv.Variable+"="+file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// An interrupt reaches the command from the terminal too; what it asks for
	// in either case is that the command ends, and then the servers.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}
