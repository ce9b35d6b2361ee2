// Holdfast: one binary for every role.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/cli"
)

func main() { os.Exit(cli.Run(newRoot(), os.Args[1:], os.Stderr)) }

// newRoot is the whole tree of commands.
func newRoot() *cobra.Command {
	root, env := cli.Root()
	root.AddCommand(
		apiCommand(env),
		workerCommand(env),
		devCommand(),
		cli.Migrate(env),
		cli.Operations(env),
		cli.Audit(env),
		cli.Hosts(env),
		cli.Flavors(env),
		cli.Stacks(env),
	)
	return root
}
