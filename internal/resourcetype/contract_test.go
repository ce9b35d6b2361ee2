package resourcetype

// Types against the contract.

import (
	"fmt"
	"reflect"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/hot/value"
)

// wanted is a type as the contract has it.
type wanted struct {
	Class      string `json:"implementation_class"`
	Support    status `json:"support_status"`
	Properties map[string]*wantedProperty
	Policy     map[string]*wantedProperty `json:"update_policy_schema"`
	Attributes map[string]struct {
		Type    *string
		Support *status `json:"support_status"`
	}
}

type status struct {
	Status  string
	Version *string
}

type wantedProperty struct {
	Type          string
	Required      bool
	Default       any
	UpdateAllowed bool `json:"update_allowed"`
	Immutable     bool
	Implemented   *bool
	Constraints   []map[string]any
	Support       *status `json:"support_status"`
	Schema        map[string]*wantedProperty
}

// Every type that there is has the properties and attributes of the original.
func TestTypesAreAsTheContractSays(t *testing.T) {
	t.Parallel()
	var contract struct{ Types map[string]*wanted }
	contracttest.Read(t, "orchestration/resource-types.json", &contract)
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range all.All() {
		want := contract.Types[typ.Name]
		if want == nil {
			t.Errorf("%s is not in the contract", typ.Name)
			continue
		}
		if typ.Class != want.Class || typ.Support.Status != want.Support.Status || typ.Support.Version != or(want.Support.Version) {
			t.Errorf("%s is %s, %+v", typ.Name, typ.Class, typ.Support)
		}
		if !typ.Anything {
			compare(t, typ.Name, typ.Properties, want.Properties)
		}
		compare(t, typ.Name+"'s update policy", typ.UpdatePolicy, want.Policy)
		for name, a := range want.Attributes {
			if name == show {
				continue
			}
			got, ok := typ.Attributes.Get(name)
			if !ok || got.Type != or(a.Type) || got.Support.Hidden() != (a.Support != nil && a.Support.Status == "HIDDEN") {
				t.Errorf("%s: the attribute %s is %+v", typ.Name, name, got)
			}
		}
		if len(typ.Attributes.Names) != len(want.Attributes)-1 {
			t.Errorf("%s has the attributes %v", typ.Name, typ.Attributes.Names)
		}
	}
}

func or(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func compare(t *testing.T, at string, got Ordered[*Property], want map[string]*wantedProperty) {
	for _, name := range got.Names {
		if want[name] == nil {
			t.Errorf("%s.%s is not in the contract", at, name)
		}
	}
	for name, w := range want {
		if w.Implemented != nil && !*w.Implemented {
			continue
		}
		p, ok := got.Get(name)
		if !ok {
			t.Errorf("%s.%s is missing", at, name)
			continue
		}
		said := fmt.Sprint(p.Type, p.Required, p.UpdateAllowed, p.Immutable, p.Support.Hidden())
		if is := fmt.Sprint(w.Type, w.Required, w.UpdateAllowed, w.Immutable, w.Support != nil && w.Support.Status == "HIDDEN"); said != is {
			t.Errorf("%s.%s is %s, want %s", at, name, said, is)
		}
		if !value.Equal(value.Of(p.Default), value.Of(w.Default)) {
			t.Errorf("%s.%s is %v by default, want %v", at, name, p.Default, w.Default)
		}
		if a, b := value.Of(plain(p.Described())), value.Of(plain(w.Constraints)); !value.Equal(a, b) {
			t.Errorf("%s.%s has the constraints %.200s, want %.200s", at, name, value.JSON(a, true), value.JSON(b, true))
		}
		if reflect.ValueOf(w.Schema).Len() > 0 || len(p.Schema.Names) > 0 {
			compare(t, at+"."+name, p.Schema, w.Schema)
		}
	}
}

func plain(all []map[string]any) []any {
	list := []any{}
	for _, one := range all {
		list = append(list, one)
	}
	return list
}
