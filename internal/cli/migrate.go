package cli

// holdfast migrate

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/store"
)

// Migrate brings the database's schema to this release's.
func Migrate(env *Env) *cobra.Command {
	return &cobra.Command{
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
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the schema is up to date")
			return err
		},
	}
}
