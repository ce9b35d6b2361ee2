package cli

// holdfast migrate

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/store"
)

// Migrate brings the database's schema to this release's.
func Migrate(env *Env) *cobra.Command {
	var temporal bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema to this release's",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.Config()
			if err != nil {
				return err
			}
			if err := cfg.NeedDatabase(); err != nil {
				return err
			}
			if err := store.Migrate(cmd.Context(), cfg.Database.DSN); err != nil {
				return err
			}
			if temporal {
				o := engine.TemporalOptions{Address: cfg.Temporal.Address, Namespace: cfg.Temporal.Namespace}
				if err := engine.PrepareTemporal(cmd.Context(), o); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the schema is up to date")
			return err
		},
	}
	cmd.Flags().BoolVar(&temporal, "temporal", false, "also make Temporal's namespace and its search attributes, if they are missing")
	return cmd
}
