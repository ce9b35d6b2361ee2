package metadata

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
)

func example() *Instance {
	return &Instance{
		ID: "5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1", ProjectID: "p1", Name: "vm1", Hostname: "vm1.novalocal",
		AvailabilityZone: "nova", LaunchIndex: 2, ReservationID: "r-abcdefgh", FlavorName: "m1.tiny", ImageID: "img",
		Meta: map[string]string{"role": "web"}, Key: &Key{Name: "k", Type: "ssh", Data: "ssh-ed25519 AAAA k"},
		UserData: []byte("#!/bin/sh\n"), SecurityGroups: []string{"default", "web"}, RandomSeed: []byte("seed"),
		Mappings: map[string]string{"ami": "vda", "root": "/dev/vda"},
		Links: []Link{{PortID: "port1", NetworkID: "net1", Device: "tapport1", VIFType: "bridge", MAC: "fa:16:3e:00:00:01", MTU: 1450,
			FloatingIPs: []string{"203.0.113.9"},
			Addresses: []Address{
				{IP: "10.0.0.5", CIDR: "10.0.0.0/24", Gateway: "10.0.0.1", DNS: []string{"10.0.0.2"}, DHCP: true},
				{IP: "fd00::5", CIDR: "fd00::/64", Gateway: "fd00::1", DNS: []string{"fd00::2"}},
			}}},
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/":                               "1.0\n2007-01-19\n2007-03-01\n2007-08-29\n2007-10-10\n2007-12-15\n2008-02-01\n2008-09-01\n2009-04-04\nlatest",
		"/openstack":                      "2012-08-10\n2013-04-04\n2013-10-17\n2015-10-15\n2016-06-30\n2016-10-06\n2017-02-22\n2018-08-27\n2020-10-14\nlatest",
		"/openstack/2012-08-10/":          "meta_data.json\nuser_data",
		"/openstack/latest":               "meta_data.json\nuser_data\npassword\nvendor_data.json\nnetwork_data.json\nvendor_data2.json",
		"/openstack/latest/user_data":     "#!/bin/sh\n",
		"/openstack/latest/password":      "",
		"/latest":                         "meta-data/\nuser-data",
		"/latest/user-data":               "#!/bin/sh\n",
		"/1.0/meta-data":                  "ami-id\nami-launch-index\nami-manifest-path\nhostname\ninstance-id\nlocal-ipv4\npublic-keys/\nreservation-id\nsecurity-groups",
		"/latest/meta-data/":              "ami-id\nami-launch-index\nami-manifest-path\nblock-device-mapping/\nhostname\ninstance-action\ninstance-id\ninstance-type\nlocal-hostname\nlocal-ipv4\nplacement/\npublic-hostname\npublic-ipv4\npublic-keys/\nreservation-id\nsecurity-groups",
		"/latest/meta-data/public-keys":   "0=k",
		"/latest/meta-data/public-keys/0": "openssh-key",
		"/latest/meta-data/public-keys/0/openssh-key":     "ssh-ed25519 AAAA k",
		"/latest/meta-data/local-ipv4":                    "10.0.0.5",
		"/latest/meta-data/public-ipv4":                   "203.0.113.9",
		"/latest/meta-data/security-groups":               "default\nweb",
		"/latest/meta-data/placement/availability-zone":   "nova",
		"/latest/meta-data/block-device-mapping/root":     "/dev/vda",
		"//latest/./meta-data/../meta-data/instance-type": "m1.tiny",
		"/ec2/2009-04-04/meta-data/ami-launch-index":      "2",
		"/openstack/2013-10-17/vendor_data.json":          "{}",
	} {
		got, _, err := example().Lookup(path)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"/nothing", "/2006-01-01", "/latest/meta-data/hostname/more", "/openstack/2012-08-10/password",
		"/openstack/2013-04-04/network_data.json", "/openstack/2020-10-15/meta_data.json", "/openstack/latest/user_data/x"} {
		if got, _, err := example().Lookup(path); !faults.Is(err, faults.NotFound) {
			t.Errorf("%s: %q, %v; want NotFound", path, got, err)
		}
	}
	bare := &Instance{ID: "x"}
	for _, path := range []string{"/latest/user-data", "/openstack/latest/user_data", "/latest/meta-data/public-keys"} {
		if got, _, err := bare.Lookup(path); !faults.Is(err, faults.NotFound) {
			t.Errorf("%s of a server without: %q, %v; want NotFound", path, got, err)
		}
	}
}

func document(t *testing.T, i *Instance, path string) map[string]any {
	t.Helper()
	content, mime, err := i.Lookup(path)
	if err != nil || mime != mimeJSON {
		t.Fatalf("%s: %q, %v; want a JSON document", path, mime, err)
	}
	var doc map[string]any
	if err := json.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestMetaDataByVersion(t *testing.T) {
	t.Parallel()
	keys := []string{"availability_zone", "hostname", "keys", "launch_index", "meta", "name", "public_keys", "uuid"}
	for _, step := range []struct {
		version string
		more    []string
	}{
		{folsom, nil}, {grizzly, []string{"random_seed"}}, {havana, nil}, {liberty, []string{"project_id"}},
		{newtonOne, []string{"devices"}}, {newtonTwo, nil}, {ocata, nil}, {rocky, nil}, {victoria, []string{"dedicated_cpus"}},
	} {
		keys = slices.Sorted(slices.Values(append(keys, step.more...)))
		got := slices.Sorted(maps.Keys(document(t, example(), "/openstack/"+step.version+"/meta_data.json")))
		if !slices.Equal(got, keys) {
			t.Errorf("%s has %v; want %v", step.version, got, keys)
		}
	}
	doc := document(t, example(), "/openstack/latest/meta_data.json")
	if doc["uuid"] != example().ID || doc["random_seed"] != "c2VlZA==" || doc["public_keys"].(map[string]any)["k"] != "ssh-ed25519 AAAA k" {
		t.Errorf("meta_data.json is %v", doc)
	}
}

func TestNetworkData(t *testing.T) {
	t.Parallel()
	var want map[string]any
	err := json.Unmarshal([]byte(`{
		"links": [{"id": "tapport1", "vif_id": "port1", "type": "bridge", "mtu": 1450, "ethernet_mac_address": "fa:16:3e:00:00:01"}],
		"networks": [
			{"id": "network0", "type": "ipv4_dhcp", "link": "tapport1", "network_id": "net1"},
			{"id": "network1", "type": "ipv6", "link": "tapport1", "network_id": "net1", "ip_address": "fd00::5",
			 "netmask": "ffff:ffff:ffff:ffff::", "routes": [{"network": "::", "netmask": "::", "gateway": "fd00::1"}],
			 "services": [{"type": "dns", "address": "fd00::2"}]}],
		"services": [{"type": "dns", "address": "fd00::2"}]}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if got := document(t, example(), "/openstack/latest/network_data.json"); !reflect.DeepEqual(got, want) {
		t.Errorf("network_data.json is\n%v; want\n%v", got, want)
	}
	if mask := netmask("10.0.0.0/20"); mask != "255.255.240.0" {
		t.Errorf("the mask of a /20 is %q", mask)
	}
}

func TestConfigDrive(t *testing.T) {
	t.Parallel()
	i := example()
	i.AdminPassword = "secret"
	files, err := i.ConfigDrive()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.Contains(name, "latest") || strings.Contains(name, folsom) {
			got = append(got, name)
		}
	}
	want := []string{"ec2/latest/meta-data.json", "ec2/latest/user-data",
		"openstack/2012-08-10/meta_data.json", "openstack/2012-08-10/user_data",
		"openstack/latest/meta_data.json", "openstack/latest/network_data.json", "openstack/latest/user_data",
		"openstack/latest/vendor_data.json", "openstack/latest/vendor_data2.json"}
	if !slices.Equal(got, want) {
		t.Errorf("the drive has %v; want %v", got, want)
	}
	if !strings.Contains(string(files["openstack/latest/meta_data.json"]), `"admin_pass":"secret"`) {
		t.Error("the password is not on the drive")
	}
	if !strings.Contains(string(files["ec2/latest/meta-data.json"]), `"public-keys":{"0":{"_name":"0=k","openssh-key":"ssh-ed25519 AAAA k"}}`) {
		t.Errorf("the EC2 document is %s", files["ec2/latest/meta-data.json"])
	}
}
