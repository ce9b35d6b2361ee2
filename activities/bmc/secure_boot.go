package bmc

// The keys that secure boot trusts, which steps change by Redfish.

import (
	"context"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// resetKeys does something to the keys that secure boot trusts, once.
func resetKeys(how rf.ResetKeysType) func(context.Context, *session, cleaning) (steps.Effect, error) {
	return func(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
		d, err := s.byRedfish("management")
		if err != nil {
			return steps.Effect{}, err
		}
		secure, err := d.system.SecureBoot()
		switch {
		case err != nil:
			return steps.Effect{}, d.fault(err)
		case secure == nil:
			return steps.Effect{}, faults.New(faults.Invalid, "RedfishError", redfishPrefix+"secure boot is not supported by node %s", s.node.UUID)
		}
		return steps.Effect{}, s.once(ctx, d, c.act, func() error { return secure.ResetKeys(how) })
	}
}
