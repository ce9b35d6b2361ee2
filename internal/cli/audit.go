package cli

// holdfast audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/config"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/hosts"
	"holdfast.dev/internal/leftovers"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/orchestration"
)

// audit is what the command's flags say.
type audit struct {
	probes              []string
	list, adopt, asJSON bool
}

// Audit asks probes whether the database agrees with itself and with what hosts
// report: silence and exit code 0, or findings and 1.
func Audit(env *Env) *cobra.Command {
	var a audit
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Look for what is stuck or leaked; silent if nothing is",
		Long: `Asks every probe, or those named, whether the database agrees with itself and
with what hosts report, and Neutron and Cinder for what was made for servers
that don't have it. Silence and exit code 0: all is well. Otherwise a line for
each finding, and exit code 1. What hosts and services that are down still owe
is no finding; --json counts it. Nothing is changed and no guest is destroyed.

--adopt is for after a restore of the database from a backup: guests that hosts
have and no row knows get their rows back, made from what they were built from;
rows that are behind their host catch up. It says what it did, and then audits.

` + exitCodes,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := choose(probes(nil, nil), a.probes)
			switch {
			case err != nil:
				return err
			case a.list:
				return writeProbes(cmd.OutOrStdout(), chosen, a.asJSON)
			}
			cfg, err := env.Config()
			if err != nil {
				return err
			}
			return env.withDB(cmd.Context(), func(db *store.DB) error { return a.run(cmd.Context(), cmd.OutOrStdout(), cfg, db) })
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&a.probes, "probe", nil, "ask this probe only; may be repeated")
	flags.BoolVar(&a.list, "list", false, "say which probes there are and what their findings mean, and ask none")
	flags.BoolVar(&a.adopt, "adopt", false, "first make rows true of what hosts have (after a restore from a backup)")
	flags.BoolVar(&a.asJSON, "json", false, "write JSON")
	return cmd
}

// probes are all that there are; without a database they can only be listed.
func probes(db *store.DB, cfg *config.Config) []engine.Probe {
	var services leftovers.Services
	if cfg != nil && cfg.OpenStack.AuthURL != "" {
		services = openstack.NewSession(openstack.Options(cfg.OpenStack))
	}
	return slices.Concat(newEngine(db).Probes(), compute.Probes, orchestration.Probes, baremetal.Probes, leftovers.Probes(db, services))
}

// choose gives the probes that are named, or all.
func choose(all []engine.Probe, names []string) ([]engine.Probe, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []engine.Probe
	for _, name := range names {
		i := slices.IndexFunc(all, func(p engine.Probe) bool { return p.Name == name })
		if i < 0 {
			var known []string
			for _, p := range all {
				known = append(known, p.Name)
			}
			return nil, faults.New(faults.Invalid, "UnknownProbe", "there is no probe %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// shownProbe is a probe as --list --json has it.
type shownProbe struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func writeProbes(w io.Writer, probes []engine.Probe, asJSON bool) error {
	shown, rows := make([]shownProbe, len(probes)), make([][]string, len(probes))
	for i, p := range probes {
		shown[i], rows[i] = shownProbe{p.Name, p.Why}, []string{p.Name, p.Why}
	}
	if asJSON {
		return writeJSON(w, shown)
	}
	return writeTable(w, []string{"PROBE", "A FINDING MEANS"}, rows)
}

// audited is the whole output of --json.
type audited struct {
	engine.Report
	Adopted []hosts.Adopted `json:"adopted,omitempty"`
}

func (a audit) run(ctx context.Context, w io.Writer, cfg *config.Config, db *store.DB) error {
	var out audited
	chosen, err := choose(probes(db, cfg), a.probes)
	if err != nil {
		return err
	}
	if a.adopt {
		if out.Adopted, err = adopt(ctx, cfg, db); err != nil {
			return err
		}
	}
	if out.Report, err = newEngine(db).Ask(ctx, chosen...); err != nil {
		return err
	}
	if a.asJSON {
		err = writeJSON(w, out)
	} else {
		err = out.write(w)
	}
	if err == nil && len(out.Findings) > 0 {
		err = ErrSilent
	}
	return err
}

// adopt asks hosts over the host link, with the deployment's key.
func adopt(ctx context.Context, cfg *config.Config, db *store.DB) ([]hosts.Adopted, error) {
	if err := config.Need("hostlink.key_file", cfg.Hostlink.KeyFile); err != nil {
		return nil, err
	}
	key, err := hostlink.LoadKey(cfg.Hostlink.KeyFile)
	if err != nil {
		return nil, err
	}
	return hosts.Adopt(ctx, db, hostlink.NewReader(key))
}

func (out audited) write(w io.Writer) error {
	var err error
	say := func(format string, args ...any) {
		_, failed := fmt.Fprintf(w, format, args...)
		err = errors.Join(err, failed)
	}
	for _, d := range out.Adopted {
		say("%s  %s", d.ServerID, d.Did)
		if d.Host != "" {
			say("  host %s", d.Host)
		}
		if d.Reason != "" {
			say(": %s", d.Reason)
		}
		say("\n")
	}
	for _, f := range out.Findings {
		say("%s  %s  %s\n", f.Probe, f.Subject, f.Detail)
	}
	return err
}
