package baremetal

// Runbooks: steps under a name, for nodes to be cleaned or serviced by; and the
// rules by which what an inspection finds is written down.

import (
	"context"
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Runbook is a row of baremetal.runbooks; fields as in Node.
type Runbook struct {
	UUID           string          `json:"uuid" write:"once"`
	Name           string          `json:"name"`
	Description    *string         `json:"description"`
	Steps          json.RawMessage `json:"steps"`
	Traits         []string        `json:"traits"`
	DisableRamdisk bool            `json:"disable_ramdisk"`
	Public         bool            `json:"public"`
	Owner          *string         `json:"owner"`
	Extra          json.RawMessage `json:"extra"`
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      *time.Time      `json:"updated_at"`
}

// Runbooks are the runbooks.
var Runbooks = newTable("baremetal.runbooks", "RunbookNotFound", "Runbook %s could not be found.", map[string]func(*Runbook) error{
	"runbooks_uuid_key": func(b *Runbook) error {
		return faults.New(faults.Conflict, "RunbookAlreadyExists", "A runbook with UUID %s already exists.", b.UUID)
	},
	"runbooks_name_key": func(b *Runbook) error {
		return faults.New(faults.Conflict, "RunbookDuplicateName", "A runbook with name %s already exists.", b.Name)
	},
})

// InspectionRule is a row of baremetal.inspection_rules; fields as in Node.
type InspectionRule struct {
	UUID        string          `json:"uuid" write:"once"`
	Description *string         `json:"description"`
	Priority    int             `json:"priority"`
	Sensitive   bool            `json:"sensitive"`
	Phase       string          `json:"phase"`
	Conditions  json.RawMessage `json:"conditions"`
	Actions     json.RawMessage `json:"actions"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   *time.Time      `json:"updated_at"`
}

// InspectionRules are the inspection rules.
var InspectionRules = newTable("baremetal.inspection_rules", "InspectionRuleNotFound", "Rule %s could not be found.", map[string]func(*InspectionRule) error{
	"inspection_rules_uuid_key": func(i *InspectionRule) error {
		return faults.New(faults.Conflict, "InspectionRuleAlreadyExists", "A rule with UUID %s already exists.", i.UUID)
	},
})

// MainRules are the rules that are carried out at an inspection, those of higher priority
// first.
func MainRules(ctx context.Context, q store.Queryer) ([]*InspectionRule, error) {
	return InspectionRules.all(ctx, q, `t.phase = 'main' ORDER BY t.priority DESC, t.id`)
}
