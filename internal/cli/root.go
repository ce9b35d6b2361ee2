package cli

// The root command, what all commands share, and exit codes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/config"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/orchestration"
)

// Exit codes.
const (
	exitDone = iota
	exitFailed
	exitInvalid
	exitNotFound
	exitRefused
	exitUnavailable
	// exitCancelled and exitSuperseded are how a watched operation ended.
	exitCancelled
	exitSuperseded
)

// exitCodes is the end of every command's help, and of docs/operations.md.
const exitCodes = `Exit codes: 0 done, 1 failed or findings, 2 bad input, 3 not found, 4 refused,
5 a service is away; watch: 1 failed, 6 cancelled, 7 superseded.`

// ErrSilent ends a command with code 1 after it has said itself why.
var ErrSilent error = silent(exitFailed)

// silent ends a command with a code after it has said itself why.
type silent int

func (silent) Error() string { return "the command has said why it failed" }

// Env is what commands share: where the configuration is.
type Env struct {
	configFile string
}

// Root makes the root command and the Env its commands are made with.
func Root() (*cobra.Command, *Env) {
	env := &Env{}
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "An OpenStack-compatible control plane in which nothing accepted is lost, half-done or stuck",
		Long:          "An OpenStack-compatible control plane in which nothing accepted is lost, half-done or stuck.\n\n" + exitCodes,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&env.configFile, "config", os.Getenv("HOLDFAST_CONFIG"), "configuration file (HOLDFAST_CONFIG)")
	return root, env
}

// group is a command that has only others: alone it shows them, and what isn't one of
// them is refused.
func group(cmd *cobra.Command, of ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(of...)
	return cmd
}

// exactly refuses arguments that aren't those named, by their names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return fmt.Errorf("%s takes %s; it was given %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
	}
}

// Run runs the command that the arguments name and gives the exit code. A
// SIGTERM or SIGINT ends the command's context.
func Run(root *cobra.Command, args []string, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if said := silent(0); err != nil && !errors.As(err, &said) {
		fmt.Fprintln(stderr, "holdfast:", err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var fault *faults.Error
	var said silent
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &said):
		return int(said)
	case !errors.As(err, &fault):
		return exitInvalid
	}
	switch fault.Kind {
	case faults.Invalid:
		return exitInvalid
	case faults.NotFound:
		return exitNotFound
	case faults.Conflict, faults.Forbidden, faults.OverLimit, faults.Superseded:
		return exitRefused
	case faults.Unavailable:
		return exitUnavailable
	}
	return exitFailed
}

// Config reads the configuration.
func (e *Env) Config() (*config.Config, error) { return config.Load(e.configFile, os.Environ()) }

// withDB runs f with an open database.
func (e *Env) withDB(ctx context.Context, f func(*store.DB) error) error {
	cfg, err := e.Config()
	if err != nil {
		return err
	}
	if err := cfg.NeedDatabase(); err != nil {
		return err
	}
	db, err := store.Open(ctx, cfg.Database.DSN, cfg.Database.MaxConnections)
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// newEngine is the engine as commands use it: no client, no loops.
func newEngine(db *store.DB) *engine.Engine {
	return engine.New(db, compute.Resource(), orchestration.Locks(), orchestration.SnapshotLocks(), baremetal.Locks())
}
