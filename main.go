// Holdfast: one binary for every role.
package main

import (
	"os"

	"holdfast.dev/internal/cli"
)

func main() {
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
	)
	os.Exit(cli.Run(root, os.Args[1:], os.Stderr))
}
