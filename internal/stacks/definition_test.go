package stacks

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
)

func defined(t *testing.T, template string) (*Definition, error) {
	t.Helper()
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	request, err := ParseRequest(value.NewMap("template", template), nil)
	if err != nil {
		t.Fatal(err)
	}
	return request.Define(hot.Identity{Project: "p", Name: "s", ID: "i"}, types)
}

// Resources come after those that their types say, unless that can't be.
func TestOrder(t *testing.T) {
	t.Parallel()
	d, err := defined(t, `
heat_template_version: 2021-04-16
resources:
  port: {type: OS::Neutron::Port, properties: {network_id: {get_resource: net}}}
  other: {type: OS::Neutron::Port, properties: {network: elsewhere}}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  net: {type: OS::Neutron::Net}
  early: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  late: {type: OS::Neutron::Subnet, depends_on: early, properties: {network: {get_resource: net}, cidr: 10.1.0.0/24}}
`)
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"port": {"net", "subnet", "late"}, "other": {}, "subnet": {"net"}, "early": {"net", "subnet"}, "late": {"early", "net"},
	} {
		if got, err := d.Resource(name).Requires(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s needs %v (%v), want %v", name, got, err, want)
		}
	}
	if !d.Outside() {
		t.Error("ports are outside")
	}
}

// A group is what its members are.
func TestUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		member  string
		outside bool
	}{{"OS::Heat::Value", false}, {"OS::Neutron::Net", true}} {
		d, err := defined(t, `
heat_template_version: 2021-04-16
parameters: {what: {type: string, default: "`+c.member+`"}}
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties: {resource_def: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: {get_param: what}}}}}
`)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, used := range d.Used() {
			names = append(names, used.Name)
		}
		if want := []string{"OS::Heat::ResourceGroup", "OS::Heat::ResourceGroup", c.member}; !reflect.DeepEqual(names, want) || d.Outside() != c.outside {
			t.Errorf("used %v, outside %v", names, d.Outside())
		}
	}
}

// What nobody carries out is refused, also in a nested stack, and not dropped.
func TestUnserved(t *testing.T) {
	t.Parallel()
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ environment, resource, inside, want string }{
		{"{}", "{type: t.yaml}", "{type: OS::Heat::None}", ""},
		{"resource_registry: {resources: {x: {hooks: pre-create}}}", "{type: OS::Heat::None}", "", ""},
		{"resource_registry: {resources: {r: {x: {hooks: [post-delete]}}}}", "{type: t.yaml}", "{type: OS::Heat::None}", ""},
		{"resource_registry: {resources: {r: {restricted_actions: replace}}}", "{type: OS::Heat::None}", "", ""},
		{"event_sinks: [{type: zaqar-queue, target: q}]", "{type: OS::Heat::None}", "", "Event sink is not supported."},
		{"{}", "{type: OS::Heat::RandomString, external_id: there, properties: {length: 0}}", "", ""},
		{"{}", "{type: t.yaml, external_id: there}", "{type: OS::Heat::None}", "external_id of resource r is not supported."},
		{"{}", "{type: t.yaml}", "{type: OS::Heat::ResourceGroup, external_id: there}", "external_id of resource x is not supported."},
		{"{}", "{type: OS::Heat::None, deletion_policy: Snapshot}", "", `resources.r.deletion_policy: "Snapshot" deletion policy not supported`},
		{"{}", "{type: OS::Cinder::Volume, deletion_policy: Snapshot, properties: {size: 1}}", "", ""},
	} {
		request, err := ParseRequest(value.NewMap("environment", c.environment, "template", "heat_template_version: 2021-04-16\nresources: {r: "+c.resource+"}",
			"files", value.NewMap("t.yaml", "heat_template_version: 2021-04-16\nresources: {x: "+c.inside+"}")), nil)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		d, err := request.Define(hot.Identity{Project: "p", Name: "s", ID: "i"}, types)
		if err == nil {
			err = d.Validate()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// What a value alone decides is decided at once, in the original's words.
func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, v, want string }{
		{"ip_addr", "10.0.0.1", ""}, {"ip_addr", "fe80::1", ""}, {"ip_addr", "10.0.0", "Invalid IP address"},
		{"mac_addr", "fa:16:3e:00:00:01", ""}, {"mac_addr", "fa163e000001", ""}, {"mac_addr", "x", "Invalid MAC address."},
		{"net_cidr", "10.0.0.0/24", ""}, {"net_cidr", "10/8", ""}, {"net_cidr", "10.0.0.1/24", "'10.0.0.1/24' isn't a recognized IP subnet cidr, '10.0.0.0/24' is recommended"},
		{"ip_or_cidr", "10.0.0.1", ""}, {"ip_or_cidr", "10.0.0.0/8", ""}, {"ip_or_cidr", "x", "'x' is not a valid IP address"},
		{"dns_name", "a.example", ""}, {"dns_domain", "a.example", "'a.example' must end with '.'."}, {"dns_domain", "a.example.", ""},
		{"rel_dns_name", "a.", "'a.' is a FQDN. It should be a relative domain name."},
		{"cron_expression", "*/5 * * * 1-5", ""}, {"cron_expression", "* *", "Invalid CRON expression: Exactly 5, 6 or 7 columns has to be specified for iterator expression."},
		{"json_string", "{", "JSON string error: Expecting value"}, {"timezone", "Europe/Vienna", ""}, {"timezone", "Mars/One", "Invalid timezone: 'Mars/One'"},
		{"expiration", "2001-01-01T00:00:00Z", "Expiration 2001-01-01T00:00:00Z is invalid: Expiration time is out of date."},
		{"iso_8601", "2026-11-30T05:00:00Z", ""}, {"neutron.network", "any", ""},
	} {
		got := ""
		if err := Constraints.Check(c.name, c.v); err != nil {
			got = err.Error()
		}
		if !Constraints.Known(c.name) || got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.v, got, c.want)
		}
	}
	if Constraints.Known("neutron.nothing") || Constraints.Known("nothing") {
		t.Error("such a constraint isn't known")
	}
}

// Whoever asks for zones asks outside, be it in a nested stack; zones that are there are
// those of what is nested as well.
func TestZones(t *testing.T) {
	t.Parallel()
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const file = "HeatTemplateFormatVersion: '2012-12-12'\nOutputs: {zones: {Value: {'Fn::GetAZs': ''}}}"
	request, err := ParseRequest(value.NewMap("template", "heat_template_version: 2021-04-16\nresources: {r: {type: t.yaml}}", "files", value.NewMap("t.yaml", file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := request.Define(hot.Identity{Project: "p", Name: "s", ID: "i"}, types)
	if err != nil {
		t.Fatal(err)
	}
	if !parent.Outside() || parent.WantsZones() {
		t.Errorf("a parent of one that asks: outside %t, wants zones itself %t", parent.Outside(), parent.WantsZones())
	}
	r := parent.Resource("r")
	for _, c := range []struct {
		zones []string
		wants bool
		gives []any
	}{{nil, true, []any{"nova"}}, {[]string{}, false, []any{}}, {[]string{"west", "east"}, false, []any{"west", "east"}}} {
		parent.zones = c.zones
		kind, err := parent.TypeOf(r)
		if err != nil {
			t.Fatal(err)
		}
		child, err := parent.Inside(r, kind, NewBudget(maxInside))
		if err != nil || child == nil {
			t.Fatalf("%v, %v", child, err)
		}
		v, err := child.Output("zones").Value(hot.Nothing)
		if err != nil || child.WantsZones() != c.wants || value.JSON(v, false) != value.JSON(c.gives, false) {
			t.Errorf("of %q the child has %s (%v), and wants zones: %t", c.zones, value.JSON(v, false), err, child.WantsZones())
		}
		want, err := KeptZones(c.zones)
		if err != nil {
			t.Fatal(err)
		}
		for name, d := range map[string]*Definition{"parent": parent, "child": child} {
			if row, err := d.Row("i", box); err != nil || row.Zones != want {
				t.Errorf("the %s keeps %+v (%v), want %q", name, row, err, want)
			}
		}
	}
	other, err := defined(t, "heat_template_version: 2021-04-16")
	if err != nil {
		t.Fatal(err)
	}
	other.zones = []string{"west"}
	if row, err := other.Row("i", box); err != nil || row.Zones != "" || other.Outside() {
		t.Errorf("a stack that asks for none keeps %+v (%v), outside %t", row, err, other.Outside())
	}
}
