package cli

// holdfast audit

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Audit asks every probe whether the database agrees with itself: silence and
// exit code 0, or findings and 1.
func Audit(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Look for what is stuck or leaked; silent if nothing is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				report, err := newEngine(db).Audit(cmd.Context(), compute.Probes...)
				if err != nil {
					return err
				}
				if asJSON {
					err = writeJSON(cmd.OutOrStdout(), report)
				} else {
					for _, f := range report.Findings {
						fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s\n", f.Probe, f.Subject, f.Detail)
					}
				}
				if err == nil && len(report.Findings) > 0 {
					err = ErrSilent
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
