package bmc

import (
	"fmt"
	"slices"
	"testing"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// The keys that secure boot trusts are cleared, or are the factory's again, and the
// machine isn't started anew for that.
func TestSecureBootKeys(t *testing.T) {
	t.Parallel()
	for step, done := range map[string]string{"clear_secure_boot_keys": "DeleteAllKeys", "reset_secure_boot_keys_to_default": "ResetAllKeysToDefault"} {
		w := newWorld(t, "redfish", nil)
		w.change("management_interface", "redfish")
		w.change("provision_state", "deploying")
		w.change("driver_internal_info", fmt.Sprintf(`{"deploy_steps": [{"interface": "management", "step": %q, "args": {}}]}`, step))
		w.Kill(func(db *store.DB) error {
			out, err := w.activities(db).CleanStep(t.Context(), steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID, Phase: steps.AgentDeploy})
			if err == nil && (out.Restart || out.Pending) {
				t.Errorf("%+v", out)
			}
			return err
		})
		keys := w.Machine.Keys()
		if len(keys) == 0 || slices.ContainsFunc(keys, func(k string) bool { return k != done }) {
			t.Errorf("%s: %v", step, keys)
		}
		before := len(keys)
		if _, err := w.activities(w.DB).CleanStep(t.Context(), steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID, Phase: steps.AgentDeploy}); err != nil || len(w.Machine.Keys()) != before {
			t.Errorf("%s: %v, %v", step, w.Machine.Keys(), err)
		}
	}
}
