package compute_test

// The table beside the contract's.

import (
	"slices"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/validation"
)

type operationRow struct {
	Method, Path, Action string
	Policies             []string
	Microversion         struct{ Min, Max string }
	Removed              bool `json:"removed_410"`
	Success              []struct {
		Code     int
		Min, Max string
	}
}

// successes are the statuses that the contract has at a microversion.
func (o operationRow) successes(v microversion.Version) (codes []int) {
	for _, s := range o.Success {
		if (microversion.Range{Min: at(s.Min), Max: at(s.Max)}).Has(v) {
			codes = append(codes, s.Code)
		}
	}
	return codes
}

func at(text string) microversion.Version {
	v, _ := microversion.Parse(text) // empty is an open end
	return v
}

// Windows, statuses, policies and removals of the rows are the contract's.
func TestTableEqualsContract(t *testing.T) {
	t.Parallel()
	contract := operationRows(t)
	rows := map[validation.Key][]rest.Operation{}
	for _, o := range (&compute.API{}).Service().Operations {
		if !o.Anonymous {
			k := validation.Key{Method: o.Method, Path: o.Path, Action: o.Action}
			rows[k] = append(rows[k], o)
		}
	}
	for k, same := range rows {
		want, ok := contract[k]
		if !ok {
			t.Errorf("%v isn't in the contract", k)
			continue
		}
		window := microversion.Range{Min: at(want.Microversion.Min), Max: at(want.Microversion.Max)}
		for minor := 1; minor <= compute.Versions.Max.Minor; minor++ {
			v := microversion.V(2, minor)
			served := slices.IndexFunc(same, func(o rest.Operation) bool { return o.Versions.Has(v) })
			if (served >= 0) != window.Has(v) {
				t.Errorf("%v at %s: served %v, the contract says %v", k, v, served >= 0, window.Has(v))
				break
			}
			if served >= 0 && !want.Removed && !slices.Contains(want.successes(v), same[served].StatusAt(v)) {
				t.Errorf("%v at %s: %d, the contract says %v", k, v, same[served].StatusAt(v), want.successes(v))
				break
			}
		}
		for _, o := range same {
			if o.Removed != want.Removed {
				t.Errorf("%v: removed %v, the contract says %v", k, o.Removed, want.Removed)
			}
			if o.Policy != "" && !slices.Contains(want.Policies, o.Policy) {
				t.Errorf("%v: policy %s, the contract says %v", k, o.Policy, want.Policies)
			}
		}
	}
	for k, o := range contract {
		if o.Removed && rows[k] == nil {
			t.Errorf("%v isn't said to be gone", k)
		}
	}
}

func operationRows(t *testing.T) map[validation.Key]operationRow {
	t.Helper()
	var contract struct{ Operations []operationRow }
	contracttest.Read(t, "compute/operations.json", &contract)
	byKey := map[validation.Key]operationRow{}
	for _, o := range contract.Operations {
		byKey[validation.Key{Method: o.Method, Path: o.Path, Action: o.Action}] = o
	}
	return byKey
}
