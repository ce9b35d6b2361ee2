package main

// holdfast dev: a whole cloud on this machine.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"holdfast.dev/dev/cloud"
	"holdfast.dev/dev/companions"
	"holdfast.dev/dev/hosts"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/telemetry"
)

// maxMachines is how many simulated machines one process has room for.
const maxMachines = 1000

func devCommand() *cobra.Command {
	var o cloud.Options
	var ports []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole cloud on this machine, until interrupted",
		Long:  "Run a whole cloud on this machine, until interrupted. The next run goes on with the same data.\n\nPorts on 127.0.0.1 (--port NAME=NUMBER):\n" + portList(),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Driver != cloud.DriverLibvirt && o.Driver != cloud.DriverSimulated {
				return faults.New(faults.Invalid, "InvalidDriver", "--driver is %q; it must be libvirt or simulated", o.Driver)
			}
			if o.Hosts < 1 || o.Hosts > hosts.Max && o.Driver != cloud.DriverSimulated {
				return faults.New(faults.Invalid, "InvalidHosts", "--hosts is %d; it must be 1 to %d, or more with --driver simulated", o.Hosts, hosts.Max)
			}
			if o.Machines < 0 || o.Machines > maxMachines {
				return faults.New(faults.Invalid, "InvalidMachines", "--baremetal is %d; it must be 0 to %d", o.Machines, maxMachines)
			}
			if o.Ports, err = parsePorts(ports); err != nil {
				return err
			}
			if o.Program, err = os.Executable(); err != nil {
				return err
			}
			o.Progress = cmd.ErrOrStderr()
			return cloud.Run(cmd.Context(), o, func(d cloud.Description) error {
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
				}
				return describe(cmd.OutOrStdout(), d)
			})
		},
	}
	cmd.AddCommand(companionsCommand())
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "dir", cloud.DefaultDir(), "data directory ("+cloud.DirVariable+")")
	flags.StringVar(&o.Driver, "driver", cloud.DriverLibvirt, "what runs guests: libvirt or simulated")
	flags.IntVar(&o.Hosts, "hosts", 1, "number of hosts; several with libvirt are network namespaces, each with a libvirtd")
	flags.IntVar(&o.Machines, "baremetal", 0, "number of simulated machines for the bare metal service, with a conductor")
	flags.StringArrayVar(&ports, "port", nil, "another port, NAME=NUMBER, the same at every later start; may be repeated")
	flags.BoolVar(&o.FreePorts, "free-ports", false, "take free ports, the same at every later start")
	flags.BoolVar(&asJSON, "json", false, "when all is up, print its endpoints as JSON")
	return cmd
}

// companionsCommand runs the companions of a cloud, as the cloud itself starts it.
func companionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "companions FILE",
		Short:  "Run the identity, image, network and volume services that a file describes",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			var cfg companions.Config
			if err := json.Unmarshal(text, &cfg); err != nil {
				return err
			}
			return companions.Run(cmd.Context(), cfg, telemetry.NewLogger(os.Stderr, "info", "text"))
		},
	}
}

func portList() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, p := range cloud.Ports() {
		fmt.Fprintf(table, "  %s\t%d\t%s\n", p.Name, p.Default, p.What)
	}
	_ = table.Flush() // to memory
	return text.String()
}

func parsePorts(flags []string) (map[string]int, error) {
	ports := map[string]int{}
	for _, flag := range flags {
		name, number, _ := strings.Cut(flag, "=")
		port, err := strconv.Atoi(number)
		if err != nil || port < 1 || port > 65535 {
			return nil, faults.New(faults.Invalid, "InvalidPort", "--port %q is not NAME=NUMBER with a number from 1 to 65535", flag)
		}
		ports[name] = port
	}
	return ports, nil
}

// describe tells a person what to do next.
func describe(w io.Writer, d cloud.Description) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table)
	for _, p := range cloud.Ports() {
		if url := d.Endpoints[p.Name]; url != "" {
			fmt.Fprintf(table, "%s\t%s\n", p.What, url)
		}
	}
	fmt.Fprintf(table, "\nexport OS_CLIENT_CONFIG_FILE=%s OS_CLOUD=demo\n", d.Clouds)
	for _, uri := range d.Libvirt {
		fmt.Fprintf(table, "export LIBVIRT_DEFAULT_URI=%s # for virsh\n", uri)
	}
	if d.Nodes != "" {
		fmt.Fprintf(table, "OS_CLOUD=admin openstack baremetal create %s # enrolls the simulated machines\n", d.Nodes)
		fmt.Fprint(table, "OS_CLOUD=admin openstack baremetal node set node-1")
		for _, name := range slices.Sorted(maps.Keys(d.Instance)) {
			fmt.Fprintf(table, " --instance-info %s=%s", name, d.Instance[name])
		}
		fmt.Fprintln(table, " # an image to deploy")
	}
	fmt.Fprintf(table, "\nInterrupt with Ctrl-C; the next start goes on with the same data.\n")
	return table.Flush()
}
