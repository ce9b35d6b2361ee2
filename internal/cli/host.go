package cli

// holdfast host list

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Hosts are the commands about hosts.
func Hosts(env *Env) *cobra.Command {
	return group(&cobra.Command{Use: "host", Short: "Look at hosts"}, hostList(env))
}

// hostShown is a host as the list shows it; capacity in CPUs, MiB and GiB.
type hostShown struct {
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	Zone         string  `json:"availability_zone"`
	Driver       string  `json:"driver"`
	State        string  `json:"state"`
	Disabled     bool    `json:"disabled"`
	Incarnation  int64   `json:"incarnation"`
	SeenAgo      float64 `json:"seen_ago_seconds"`
	Servers      int     `json:"servers"`
	VCPUs        int     `json:"vcpus"`
	VCPUsUsed    int     `json:"vcpus_used"`
	MemoryMB     int64   `json:"memory_mb"`
	MemoryMBUsed int64   `json:"memory_mb_used"`
	DiskGB       int64   `json:"disk_gb"`
	DiskGBUsed   int64   `json:"disk_gb_used"`
}

func hostList(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List hosts, their state and what is used of them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.Config()
			if err != nil {
				return err
			}
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				hosts, err := compute.ListHosts(cmd.Context(), db.Pool, compute.HostFilter{})
				if err != nil {
					return err
				}
				shown := make([]hostShown, len(hosts))
				for i, h := range hosts {
					shown[i] = showHost(h, cfg.Compute.HostDownAfter)
				}
				if asJSON {
					return writeJSON(cmd.OutOrStdout(), shown)
				}
				return writeTable(cmd.OutOrStdout(), hostHeadings, hostRows(shown))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

var hostHeadings = []string{"NAME", "STATE", "DRIVER", "ZONE", "SERVERS", "VCPUS", "MEMORY MB", "DISK GB", "SEEN", "ID"}

func hostRows(hosts []hostShown) [][]string {
	rows := make([][]string, len(hosts))
	for i, h := range hosts {
		rows[i] = []string{h.Name, h.State, h.Driver, h.Zone, fmt.Sprint(h.Servers),
			fmt.Sprintf("%d/%d", h.VCPUsUsed, h.VCPUs), fmt.Sprintf("%d/%d", h.MemoryMBUsed, h.MemoryMB),
			fmt.Sprintf("%d/%d", h.DiskGBUsed, h.DiskGB), fmt.Sprintf("%.0fs", h.SeenAgo), h.ID}
	}
	return rows
}

func showHost(h *compute.Host, downAfter time.Duration) hostShown {
	state := "down"
	switch {
	case h.ForcedDown:
		state = "forced-down"
	case h.Up(downAfter) && h.Disabled:
		state = "disabled"
	case h.Up(downAfter):
		state = "up"
	}
	return hostShown{ID: h.ID, Name: h.Name, Zone: h.AvailabilityZone, Driver: h.Driver, State: state, Disabled: h.Disabled,
		Incarnation: h.Incarnation, SeenAgo: h.SeenAgo.Seconds(), Servers: h.Servers,
		VCPUs: h.VCPUs, VCPUsUsed: h.VCPUsUsed, MemoryMB: h.MemoryMB, MemoryMBUsed: h.MemoryMBUsed, DiskGB: h.DiskGB, DiskGBUsed: h.DiskGBUsed}
}
