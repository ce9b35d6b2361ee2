package baremetal

// What the engine knows of nodes, and what an operation makes true of one.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Locks tells the engine how nodes are locked.
func Locks() engine.Resource {
	return engine.Resource{Type: operations.Node, Table: "baremetal.nodes", Key: "uuid", Abandon: abandon}
}

// abandon says of a node whose operation ended without having begun that nobody
// works on it, and why that came to nothing. The caller holds the row.
func abandon(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result, f *steps.Fault) error {
	shown := op.Kind != operations.NodePower && op.Kind != operations.NodeCommand
	return Publish(ctx, tx, op.ResourceID, steps.NodeOutcome{Failed: shown, Aborted: result == operations.ResultCancelled}, f)
}

// HeldNode reads the node of a fenced operation. Errors: Superseded.
func HeldNode(ctx context.Context, q store.Queryer, e *engine.Engine, fence steps.Fence) (*Node, error) {
	_, id, _, _ := operations.ParseID(fence.OperationID)
	n, err := Nodes.Find(ctx, q, id, false)
	if lost := e.PeekFence(ctx, q, fence); lost != nil {
		return nil, lost
	}
	return n, err
}

// Brief is what a workflow needs to know of a node.
func Brief(ctx context.Context, q store.Queryer, id string) (*steps.NodeBrief, error) {
	n, err := Nodes.Find(ctx, q, id, false)
	if err != nil {
		return nil, err
	}
	b := &steps.NodeBrief{ID: n.UUID, Group: n.ConductorGroup, ProvisionState: string(n.ProvisionState), DisablePowerOff: n.DisablePowerOff, Retired: n.Retired,
		Awaited: n.NextOperationID != nil}
	if n.ConductorAffinity != nil {
		b.Conductor = *n.ConductorAffinity
	}
	if n.PowerState != nil {
		b.PowerState = *n.PowerState
	}
	if n.DeployInterface != nil {
		b.DeployInterface = *n.DeployInterface
	}
	b.RamdiskHeard = RamdiskHeard(n)
	if n.InspectInterface != nil {
		b.InspectInterface = *n.InspectInterface
	}
	if n.NetworkInterface != nil && *n.NetworkInterface != "noop" {
		b.NetworkInterface = *n.NetworkInterface
	}
	if n.RAIDInterface != nil {
		b.RAIDInterface = *n.RAIDInterface
	}
	if n.RescueInterface != nil {
		b.RescueInterface = *n.RescueInterface
	}
	if b.Found, err = hasFindings(ctx, q, n); err != nil {
		return nil, err
	}
	phase := n.ProvisionState.Phase()
	index, err := stepIndex(n, phase)
	if err != nil {
		return nil, err
	}
	if index != nil {
		b.StepIndex, b.StepsBegun = *index, true
	}
	if err := readInternal(n, phase.Reboot(), &b.Rebooting); err != nil {
		return nil, err
	}
	b.Steps, err = StepsOf(n, phase)
	return b, err
}

// heardLayout is how a node's row has the time of a heartbeat.
const heardLayout = "2006-01-02T15:04:05.000000"

// Heard is a heartbeat's time as a node's row has it.
func Heard(at time.Time) string { return at.UTC().Format(heardLayout) }

// RamdiskHeard is when a node's ramdisk was heard of last; zero if it wasn't since it
// was booted.
func RamdiskHeard(n *Node) time.Time {
	var known struct {
		URL       string `json:"agent_url"`
		Heartbeat string `json:"agent_last_heartbeat"`
	}
	if json.Unmarshal(n.DriverInternalInfo, &known) != nil || known.URL == "" {
		return time.Time{}
	}
	at, err := time.Parse(heardLayout, known.Heartbeat)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Reserve says of a node that a conductor works on it.
func Reserve(ctx context.Context, tx store.Tx, id, conductor string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET reservation = $2, conductor_affinity = $2 WHERE uuid = $1`, id, conductor)
	if err != nil {
		return fmt.Errorf("reserve node %s: %w", id, store.Translate(err))
	}
	return nil
}

// AwaitPower says of a node that its power is being changed; what went wrong
// before is forgotten.
func AwaitPower(ctx context.Context, tx store.Tx, id string, target provision.Power) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET target_power_state = $2, last_error = NULL WHERE uuid = $1`, id, target)
	if err != nil {
		return fmt.Errorf("power of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// ForgetError forgets what went wrong with a node before.
func ForgetError(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET last_error = NULL WHERE uuid = $1`, id)
	if err != nil {
		return fmt.Errorf("last error of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// SetPower says of a node that it was found with a power.
func SetPower(ctx context.Context, tx store.Tx, id string, now provision.Power) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET power_state = $2 WHERE uuid = $1`, id, now)
	if err != nil {
		return fmt.Errorf("power of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// inspected are the columns that say since when a node is inspected, and when that was
// over; $2 is the state that it comes to.
const inspected = `inspection_started_at = CASE WHEN $2 = provision_state THEN inspection_started_at WHEN $2 = 'inspecting' THEN now()
			WHEN $2 IN ('manageable', 'inspect failed') THEN NULL ELSE inspection_started_at END,
			inspection_finished_at = CASE WHEN $2 = provision_state THEN inspection_finished_at WHEN $2 = 'inspecting' THEN NULL
			WHEN $2 = 'manageable' AND provision_state IN ('inspecting', 'inspect wait') THEN now() ELSE inspection_finished_at END`

// Enter says of a node that an event has happened to it, in the transaction of
// who asked for that; target is as in provision.Position.Apply. What is begun by it
// forgets what went wrong before. Errors: Conflict.
func Enter(ctx context.Context, tx store.Tx, n *Node, event provision.Event, target provision.State, begins bool) error {
	to, err := n.Position().Apply(event, target)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE baremetal.nodes SET provision_state = $2, target_provision_state = NULLIF($3, ''), provision_updated_at = now(),
			last_error = CASE WHEN NOT $4 THEN last_error END, `+inspected+` WHERE uuid = $1`, n.UUID, to.State, to.Target, begins)
	if err != nil {
		return fmt.Errorf("%s of node %s: %w", event, n.UUID, store.Translate(err))
	}
	return nil
}

// Explain says of a node why it is where it is, instead of what went wrong before.
func Explain(ctx context.Context, tx store.Tx, id, why string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET last_error = $2 WHERE uuid = $1`, id, why)
	if err != nil {
		return fmt.Errorf("last error of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// Move shows a node where its operation says that it is. Nobody is at work on one
// that waits or is held; otherwise the conductor is that had it before. What is shown
// of one that another operation waits for is that one's. The caller has checked the
// fence. Errors: Internal, no event leads there.
func Move(ctx context.Context, tx store.Tx, id string, m steps.NodeMove) error {
	n, err := Nodes.Find(ctx, tx, id, false)
	if err != nil || n.NextOperationID != nil {
		return err
	}
	to, err := n.Position().Move(provision.State(m.State))
	if err != nil {
		return err
	}
	phase := to.State.Phase()
	_, err = tx.Exec(ctx, `UPDATE baremetal.nodes SET provision_state = $2, target_provision_state = NULLIF($3, ''),
			provision_updated_at = CASE WHEN provision_state = $2 THEN provision_updated_at ELSE now() END,
			reservation = CASE WHEN $4 THEN conductor_affinity END,
			`+phase.Column()+` = CASE WHEN $5::int IS NULL THEN `+phase.Column()+` ELSE COALESCE(driver_internal_info -> '`+phase.List()+`' -> $5::int, '{}') END,
			driver_internal_info = CASE WHEN $5::int IS NULL THEN driver_internal_info
				ELSE driver_internal_info - '`+phase.Reboot()+`' || jsonb_build_object('`+phase.Index()+`', $5::int)
				|| CASE WHEN $6 THEN '{"`+phase.Reboot()+`": true}' ELSE '{}' END::jsonb END,
			`+inspected+`
		WHERE uuid = $1`, id, to.State, to.Target, to.State.Busy(), m.StepIndex, m.Rebooting)
	if err != nil {
		return fmt.Errorf("move node %s: %w", id, store.Translate(err))
	}
	return nil
}

// KeepInternal writes down, for who has checked the fence, what an operation has
// learned of a node for its later steps; nothing of it is a secret.
func KeepInternal(ctx context.Context, tx store.Tx, id string, known map[string]any) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.nodes SET driver_internal_info = driver_internal_info || $2::jsonb WHERE uuid = $1`, id, known)
	if err != nil {
		return fmt.Errorf("what is known of node %s: %w", id, store.Translate(err))
	}
	return nil
}

// ofOperations are the words of driver_internal_info that go with the operation which has
// put them there.
var ofOperations = func() string {
	words := []string{"lookup_bmc_addresses"}
	for _, phase := range provision.Phases() {
		words = append(words, phase.List(), phase.Given(), phase.Index(), phase.Reboot())
	}
	return "'{" + strings.Join(words, ",") + "}'::text[]"
}()

// Publish makes o true of a node, with the fault that an operation ended with,
// which its history remembers.
// If another operation waits, the conductor goes on to that, whose the node's state
// is by then, and what is known of its steps. The caller has checked the fence.
func Publish(ctx context.Context, tx store.Tx, id string, o steps.NodeOutcome, f *steps.Fault) error {
	var wrong *string
	if f != nil && !o.Told {
		if err := remember(ctx, tx, id, f.Message); err != nil {
			return err
		}
		wrong = &f.Message
	}
	n, err := Nodes.Find(ctx, tx, id, false)
	if err != nil {
		return err
	}
	to := n.Position()
	switch {
	case n.NextOperationID != nil:
		wrong, o.Fault = nil, ""
	case o.Failed && o.Aborted:
		to = to.Abort()
	case o.Failed:
		to = to.Fail()
	case o.State != "":
		if to, err = to.Move(provision.State(o.State)); err != nil {
			return err
		}
	}
	if err := settleFindings(ctx, tx, n, o.Found); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE baremetal.nodes SET power_state = CASE WHEN $8::text IS NULL THEN power_state ELSE NULLIF($8, '') END, rescue_secret = NULL, target_power_state = NULL,
			last_error = COALESCE($3, last_error), updated_at = now(), `+inspected+`,
			provision_state = $2, target_provision_state = NULLIF($4, ''),
			provision_updated_at = CASE WHEN provision_state = $2 THEN provision_updated_at ELSE now() END,
			boot_mode = COALESCE($5, boot_mode), secure_boot = COALESCE($6, secure_boot),
			clean_step = '{}', deploy_step = '{}', service_step = '{}', driver_internal_info = CASE WHEN next_operation_id IS NULL THEN driver_internal_info - `+ofOperations+` ELSE driver_internal_info END,
			fault = COALESCE(NULLIF($7, ''), fault), maintenance = maintenance OR $7 <> '',
			maintenance_reason = CASE WHEN $7 <> '' THEN COALESCE(maintenance_reason, $3) ELSE maintenance_reason END,
			reservation = CASE WHEN next_operation_id IS NOT NULL THEN conductor_affinity END
		WHERE uuid = $1`, id, to.State, wrong, to.Target, o.BootMode, o.SecureBoot, o.Fault, o.PowerState)
	if err != nil {
		return fmt.Errorf("publish node %s: %w", id, store.Translate(err))
	}
	return nil
}

// Probes are the service's own.
var Probes = []engine.Probe{
	engine.Query("node-reserved-by-nobody",
		"A node shows that a conductor works on it, and no operation has it.",
		`SELECT uuid::text, 'reserved by ' || reservation FROM baremetal.nodes WHERE reservation IS NOT NULL AND operation_id IS NULL`),
	engine.Query("node-held-in-secret",
		"An operation has a node, and the node shows nobody at work on it.",
		`SELECT uuid::text, 'held by ' || operation_id FROM baremetal.nodes
			WHERE reservation IS NULL AND operation_id IS NOT NULL AND provision_state <> ALL (`+sqlList(idle)+`)`),
	engine.Query("node-at-work-by-nobody",
		"A node shows that it is being worked on, or that its ramdisk is waited for, and no operation has it.",
		`SELECT uuid::text, provision_state FROM baremetal.nodes WHERE operation_id IS NULL AND provision_state = ANY (`+sqlList(held)+`)`),
	engine.Query("node-power-of-nobody",
		"A node shows that its power is being changed, and no operation has it.",
		`SELECT uuid::text, 'to be ' || target_power_state FROM baremetal.nodes WHERE target_power_state IS NOT NULL AND operation_id IS NULL`),
	engine.Query("node-booted-by-nobody",
		"A node's ramdisk is served to it, and no operation and no debt will take it away.",
		`SELECT n.uuid::text, b.name FROM baremetal.boot_files b JOIN baremetal.nodes n ON n.uuid = b.node_uuid WHERE n.operation_id IS NULL
			AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.ref = n.uuid::text AND e.state IN ('intended', 'done', 'owed'))`),
	engine.Query("node-findings-of-nobody",
		"What an inspection has found on a node is kept beside its row, and the operation is over.",
		`SELECT node_uuid::text, 'found by ' || f.operation_id FROM baremetal.findings f JOIN baremetal.nodes n ON n.uuid = f.node_uuid
			WHERE n.operation_id IS DISTINCT FROM f.operation_id`),
	engine.Query("node-rescued-in-secret",
		"The password of a ramdisk is kept for a node, and no operation has it.",
		`SELECT uuid::text, provision_state FROM baremetal.nodes WHERE rescue_secret IS NOT NULL AND operation_id IS NULL`),
	engine.Query("node-leased-for-ever",
		"A node's BMC is leased for much longer than any step needs it.",
		`SELECT node_uuid::text, 'until ' || until FROM baremetal.leases WHERE until > now() + interval '10 minutes'`),
}

// idle are the states in which an operation has a node and nobody is shown at work
// on it; held are all in which one has it.
var idle, held = func() (idle, held []provision.State) {
	for _, s := range provision.States() {
		switch {
		case s.Class == provision.Waiting || s.Class == provision.Held:
			idle, held = append(idle, s.State), append(held, s.State)
		case s.Class == provision.Working:
			held = append(held, s.State)
		}
	}
	return idle, held
}()

// sqlList is a list of states as a statement has it.
func sqlList(states []provision.State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = "'" + string(s) + "'"
	}
	return "ARRAY[" + strings.Join(words, ", ") + "]"
}
