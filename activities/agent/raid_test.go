package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// raid is a step of the node's RAID interface.
func (w *world) raid(phase steps.AgentPhase, step, args string) steps.AgentCommandIn {
	return steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: string(phase) + "/" + step, Phase: phase,
		Step: &steps.NodeStep{Interface: "raid", Step: step, Args: json.RawMessage(args)}}
}

// has has the node's row say something.
func (w *world) has(column, value string) {
	w.Helper()
	if _, err := w.DB.Pool.Exec(w.Context(), `UPDATE baremetal.nodes SET `+column+` = $1::jsonb`, value); err != nil {
		w.Fatal(err)
	}
}

// What a ramdisk has made of a node's disks is in the node's row, once, wherever its step
// is killed; and gone with what has been deleted.
func TestRAIDIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has("properties", `{"capabilities": "raid_level:5,boot_mode:uefi", "local_gb": 1, "cpus": 4}`)
	w.has("target_raid_config", `{"logical_disks": [{"size_gb": 40, "raid_level": "1", "is_root_volume": true, "root_device_hint": {"wwn": "0x1"}}, {"size_gb": "MAX", "raid_level": "0"}]}`)
	for _, c := range []struct {
		in               steps.AgentCommandIn
		made, properties string
	}{
		{w.raid(steps.AgentClean, "create_configuration", `{}`), `"raid_level": "0"`,
			`{"cpus": 4, "local_gb": 40, "root_device": {"wwn": "0x1"}, "capabilities": "boot_mode:uefi,raid_level:1"}`},
		{w.raid(steps.AgentDeploy, "apply_configuration", `{"raid_config": {"logical_disks": [{"size_gb": "MAX", "raid_level": "6"}]}}`), `"raid_level": "6"`,
			`{"cpus": 4, "local_gb": 40, "root_device": {"wwn": "0x1"}, "capabilities": "boot_mode:uefi,raid_level:1"}`},
		{w.raid(steps.AgentClean, "delete_configuration", `{}`), `{}`, `{"cpus": 4, "local_gb": 40, "capabilities": "boot_mode:uefi,raid_level:1"}`},
	} {
		w.Kill(func(db *store.DB) error {
			_, err := w.activities(db).Command(t.Context(), c.in)
			return err
		})
		if out, err := w.command(c.in); err != nil || out.State != steps.AgentDone {
			t.Fatalf("%s: %+v, %v", c.in.Name, out, err)
		}
		n := w.Row()
		if made := string(n.RAIDConfig); !strings.Contains(made, c.made) || (made != `{}`) != strings.Contains(made, `"last_updated"`) || string(n.Properties) != c.properties {
			t.Errorf("%s: %s, %s", c.in.Name, made, n.Properties)
		}
	}
	if did := strings.Join(w.Machine.Did(), " "); did != "create_configuration apply_configuration delete_configuration" {
		t.Errorf("it did %s", did)
	}
}

// What a ramdisk tells that nothing can be made of fails its step.
func TestRAIDThatIsNonsense(t *testing.T) {
	t.Parallel()
	for target, fault := range map[string]string{
		`{}`: "Agent ramdisk didn't return a proper command result while building RAID on ",
		`{"logical_disks": [{"is_root_volume": true}, {"is_root_volume": true}]}`: "Raid config cannot have more than one root volume. 2 root volumes were specified",
	} {
		w := newWorld(t)
		w.has("target_raid_config", target)
		_, err := w.command(w.raid(steps.AgentClean, "create_configuration", `{}`))
		if f := faults.As(err); err == nil || !strings.HasPrefix(f.Message, fault) || string(w.Row().RAIDConfig) != `{}` {
			t.Errorf("%s: %v, %s", target, err, w.Row().RAIDConfig)
		}
	}
}
