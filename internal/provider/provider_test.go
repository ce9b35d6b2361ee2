package provider

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/internal/faults"
)

const anID = "8a94ea4e-6d6c-4d21-b0d8-2f2f0e9ee4c1"

func read(text string) (File, error) { return Read("p.yaml", strings.NewReader(text)) }

const whole1 = `
meta: {schema_version: '1.0', ours: {note: anything}}
providers:
  - identification: {uuid: $COMPUTE_NODE}
    inventories: {additional: [{CUSTOM_ANY: {total: 1}}]}
  - identification: {name: big}
    inventories:
      additional:
        - CUSTOM_GOLD: {total: 10, reserved: 1, min_unit: 2, max_unit: 6, step_size: 2, allocation_ratio: 1.5}
          CUSTOM_TIN: {total: 3}
        - CUSTOM_IRON: {total: 5, allocation_ratio: 2}
    traits: {additional: [CUSTOM_FAST, CUSTOM_NEAR]}
  - identification: {uuid: 8A94EA4E-6d6c-4d21-b0d8-2f2f0e9ee4c1}
    traits: {additional: [CUSTOM_SLOW]}
  - identification: {name: bare}
`

// A host has what the file says of it; where it says nothing of it, what it says of any.
func TestWhatAHostHas(t *testing.T) {
	t.Parallel()
	f, err := read(whole1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		id   string
		want Have
	}{
		"big": {"id", Have{Inventories: map[string]Inventory{
			"CUSTOM_GOLD": {Total: 10, Reserved: 1, Ratio: 1.5, MinUnit: 2, MaxUnit: 6, StepSize: 2},
			"CUSTOM_TIN":  {Total: 3, Ratio: 1, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1},
			"CUSTOM_IRON": {Total: 5, Ratio: 2, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1},
		}, Traits: []string{"CUSTOM_FAST", "CUSTOM_NEAR"}}},
		"by its id": {anID, Have{Inventories: map[string]Inventory{}, Traits: []string{"CUSTOM_SLOW"}}},
		"bare":      {"id", Have{Inventories: map[string]Inventory{}}},
		"other":     {"id", Have{Inventories: map[string]Inventory{"CUSTOM_ANY": {Total: 1, Ratio: 1, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1}}}},
	} {
		got, err := f.Of(c.id, name)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s has %+v (%v), want %+v", name, got, err, c.want)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Of(anID, "big"); !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), "providers[1] and providers[2] are both of the host big") {
		t.Errorf("said of twice: %v", err)
	}
	if nothing, err := File(nil).Of(anID, "big"); err != nil || !reflect.DeepEqual(nothing, Have{}) {
		t.Errorf("without a file: %+v (%v)", nothing, err)
	}
}

// Whatever is wrong is refused with the path at which it stands.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	of := func(provider string) string { return "meta: {schema_version: '1.0'}\nproviders: [" + provider + "]" }
	gold := func(fields string) string {
		return of("{identification: {name: h}, inventories: {additional: [{CUSTOM_GOLD: {" + fields + "}}]}}")
	}
	const at = "providers[0].inventories.additional[0].CUSTOM_GOLD"
	for text, want := range map[string]string{
		"":     "the document is no object",
		"[":    "is no YAML",
		"[a]":  "the document is no object",
		"a: 1": "the document has a key a; there are meta, providers",
		"meta: {schema_version: '1.0'}\nmeta: {}": "already defined",
		"providers: []":                                "meta is no object",
		"meta: {}":                                     "meta.schema_version is <nil>",
		"meta: {schema_version: '1.1'}":                "meta.schema_version is 1.1",
		"meta: {schema_version: 1.0}":                  "meta.schema_version is 1;",
		"meta: {schema_version: '1.0'}\nproviders: {}": "providers is no list",
		of("1"):                              "providers[0] is no object",
		of("{}"):                             "providers[0].identification is no object",
		of("{identification: {}}"):           "providers[0].identification has not one of uuid and name",
		of("{identification: {id: x}}"):      "providers[0].identification has a key id; there are uuid, name",
		of("{identification: {name: ''}}"):   "providers[0].identification.name is no text",
		of("{identification: {name: 7}}"):    "providers[0].identification.name is no text",
		of("{identification: {uuid: here}}"): "providers[0].identification.uuid is no UUID and not $COMPUTE_NODE",
		of("{identification: {uuid: 8a94ea4e6d6c4d21b0d82f2f0e9ee4c1}}"):                                               "providers[0].identification.uuid is no UUID",
		of("{identification: {name: h, uuid: $COMPUTE_NODE}}"):                                                         "providers[0].identification has not one of",
		of("{identification: {name: h}}, {identification: {name: h}}"):                                                 "providers[1].identification is that of providers[0] too",
		of("{identification: {name: h}, inventory: {}}"):                                                               "providers[0] has a key inventory; there are identification, inventories, traits",
		of("{identification: {name: h}, inventories: []}"):                                                             "providers[0].inventories is no object",
		of("{identification: {name: h}, inventories: {more: []}}"):                                                     "providers[0].inventories has a key more",
		of("{identification: {name: h}, inventories: {additional: {}}}"):                                               "providers[0].inventories.additional is no list",
		of("{identification: {name: h}, inventories: {additional: [[]]}}"):                                             "providers[0].inventories.additional[0] is no object",
		of("{identification: {name: h}, inventories: {additional: [{VCPU: {total: 1}}]}}"):                             "providers[0].inventories.additional[0].VCPU is no custom name",
		of("{identification: {name: h}, inventories: {additional: [{CUSTOM_A: {total: 1}}, {CUSTOM_A: {total: 1}}]}}"): "providers[0].inventories.additional[1].CUSTOM_A is said twice",
		of("{identification: {name: h}, inventories: {additional: [{CUSTOM_A: 1}]}}"):                                  "providers[0].inventories.additional[0].CUSTOM_A is no object",
		of("{identification: {name: h}, traits: {additional: [CUSTOM_A, HW_CPU_X86_AVX]}}"):                            "providers[0].traits.additional[1] is no custom name",
		of("{identification: {name: h}, traits: {additional: [CUSTOM_A, CUSTOM_A]}}"):                                  "providers[0].traits.additional[1] is said twice",
		of("{identification: {name: h}, traits: {additional: [CUSTOM_a]}}"):                                            "providers[0].traits.additional[0] is no custom name",
		gold(""):                                   at + ".total is missing",
		gold("total: 0"):                           at + ".total 0 is not from 1 to 2147483647",
		gold("total: 2147483648"):                  at + ".total 2147483648 is not from 1",
		gold("total: 99999999999999999999"):        at + ".total is no whole number",
		gold("total: '1'"):                         at + ".total is no whole number: 1",
		gold("total: 1.5"):                         at + ".total is no whole number: 1.5",
		gold("total: true"):                        at + ".total is no whole number: true",
		gold("total: 1, reserved: -1"):             at + ".reserved -1 is not from 0",
		gold("total: 1, reserved: 2"):              at + ".reserved 2 is more than the total of 1",
		gold("total: 1, min_unit: 0"):              at + ".min_unit 0 is not from 1",
		gold("total: 1, max_unit: 0"):              at + ".max_unit 0 is not from 1",
		gold("total: 9, min_unit: 3, max_unit: 2"): at + ".min_unit 3 is more than the max_unit of 2",
		gold("total: 1, step_size: 0"):             at + ".step_size 0 is not from 1",
		gold("total: 1, step: 1"):                  at + " has a key step; there are allocation_ratio, total, reserved, min_unit, max_unit, step_size",
		gold("total: 1, allocation_ratio: 0"):      at + ".allocation_ratio 0 is no ratio above 0",
		gold("total: 1, allocation_ratio: x"):      at + ".allocation_ratio is no number: x",
		gold("total: 1, allocation_ratio: .nan"):   at + ".allocation_ratio NaN is no ratio",
		gold("total: 1, allocation_ratio: .inf"):   at + ".allocation_ratio +Inf is no ratio",
		strings.Repeat("#", maxFile+1):             "is longer than 1048576 bytes",
	} {
		_, err := read(text)
		if !faults.Is(err, faults.Invalid) || !strings.HasPrefix(err.Error(), "p.yaml: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", text, err, want)
		}
	}
}

func TestWhatNoFileCouldHaveSaid(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]Have{
		"resources.CUSTOM_A.total 0":          {Inventories: map[string]Inventory{"CUSTOM_A": {}}},
		"resources.VCPU is no custom name":    {Inventories: map[string]Inventory{"VCPU": unsaid}},
		`traits: "COMPUTE_NODE" is no custom`: {Traits: []string{"CUSTOM_A", "COMPUTE_NODE"}},
	} {
		if err := h.Check(); !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", h, err, want)
		}
	}
}

// What fits keeps every rule, and what keeps them fits.
func TestWhatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		small := func(name string, least int64) int64 { return rapid.Int64Range(least, 12).Draw(t, name) }
		i := Inventory{Total: small("total", 1), MinUnit: small("min", 1), StepSize: small("step", 1),
			Ratio: rapid.SampledFrom([]float64{0.5, 1, 1.5, 4}).Draw(t, "ratio")}
		i.Reserved = rapid.Int64Range(0, i.Total).Draw(t, "reserved")
		i.MaxUnit = rapid.Int64Range(i.MinUnit, 20).Draw(t, "max")
		if key, why := i.wrong(); key != "" {
			t.Fatalf("%+v: %s %s", i, key, why)
		}
		used := int64(0)
		for range rapid.IntRange(0, 20).Draw(t, "claims") {
			n := rapid.Int64Range(-1, 24).Draw(t, "n")
			limit := float64(i.Total-i.Reserved) * i.Ratio
			want := n > 0 && n >= i.MinUnit && n <= i.MaxUnit && n%i.StepSize == 0 && float64(used)+float64(n) <= limit
			if got := i.Fits(used, n); got != want {
				t.Fatalf("%d beside %d of %+v: %v", n, used, i, got)
			}
			if want {
				used += n
			}
		}
		if float64(used) > float64(i.Total-i.Reserved)*i.Ratio {
			t.Fatal("more is promised than there is")
		}
	})
	if (Inventory{}).Fits(0, 1) {
		t.Error("something fits where there is nothing")
	}
}
