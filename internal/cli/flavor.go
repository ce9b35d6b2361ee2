package cli

// holdfast flavor set

import (
	"github.com/spf13/cobra"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Flavors are the commands about flavors: how a new cloud gets its first ones.
func Flavors(env *Env) *cobra.Command {
	return group(&cobra.Command{Use: "flavor", Short: "Make flavors"}, flavorSet(env))
}

func flavorSet(env *Env) *cobra.Command {
	flavor := compute.Flavor{RXTXFactor: 1, Public: true}
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Make a public flavor, or change it; servers keep the one they were made with",
		Args:  exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flavor.ID = args[0]
			if flavor.Name == "" {
				flavor.Name = flavor.ID
			}
			if flavor.VCPUs < 1 || flavor.MemoryMB < 1 || flavor.RootGB < 0 || flavor.EphemeralGB < 0 || flavor.SwapMB < 0 {
				return faults.New(faults.Invalid, "InvalidFlavor", "a flavor has 1 CPU and 1 MiB of memory at least, and no negative size")
			}
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				return db.InTx(cmd.Context(), func(tx store.Tx) error {
					return compute.UpsertFlavor(cmd.Context(), tx, &flavor)
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&flavor.Name, "name", "", "name (default: the id)")
	flags.IntVar(&flavor.VCPUs, "vcpus", 1, "CPUs")
	flags.Int64Var(&flavor.MemoryMB, "ram", 512, "memory in MiB")
	flags.Int64Var(&flavor.RootGB, "disk", 1, "root disk in GiB")
	flags.Int64Var(&flavor.EphemeralGB, "ephemeral", 0, "ephemeral disk in GiB")
	flags.Int64Var(&flavor.SwapMB, "swap", 0, "swap in MiB")
	return cmd
}
