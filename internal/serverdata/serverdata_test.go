package serverdata

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestWhatAServerIsTold(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	source := &Source{DB: db, Box: box, Domain: "novalocal"}
	server := computetest.AddServer(t, db, "p", func(s *compute.Server) {
		s.Name, s.Hostname, s.Metadata = "vm1", "vm1", map[string]string{"role": "web"}
	})
	port := compute.ServerPort{ServerID: server.ID, Ours: true, NetworkID: "net", SecurityGroups: []string{"default"}, Tag: "front"}
	computetest.InTx(t, db, func(tx store.Tx) error {
		err := compute.InsertBootData(t.Context(), tx, box, server.ID, compute.BootData{
			UserData: []byte("hello"), AdminPassword: "pw", KeyName: "k", KeyType: "ssh", KeyData: "ssh-rsa A"})
		if err != nil {
			return err
		}
		return compute.InsertServerPorts(t.Context(), tx, server.ID, []compute.ServerPort{port})
	})
	port.PortID, port.MAC, port.VIFType, port.MTU = "0123456789abcdef", "fa:16:3e:00:00:01", "bridge", 1450
	port.FixedIPs = []compute.FixedIP{{SubnetID: "sub", Address: "10.0.0.5"}}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.BindPort(t.Context(), tx, &port) })

	i, err := source.Instance(t.Context(), server.ID)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/latest/meta-data/hostname":          "vm1.novalocal",
		"/latest/meta-data/local-ipv4":        "10.0.0.5",
		"/latest/meta-data/security-groups":   "default",
		"/latest/meta-data/public-keys/":      "0=k",
		"/openstack/latest/user_data":         "hello",
		"/openstack/latest/network_data.json": `{"links":[{"id":"tap0123456789a","vif_id":"0123456789abcdef","type":"bridge","mtu":1450,"ethernet_mac_address":"fa:16:3e:00:00:01"}],"networks":[{"id":"network0","type":"ipv4_dhcp","link":"tap0123456789a","network_id":"net"}],"services":[]}`,
	} {
		if got, _, err := i.Lookup(path); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
	if text, err := json.Marshal(i); err != nil || strings.Contains(string(text), `"pw"`) {
		t.Errorf("the metadata service knows the admin password: %v", err)
	}
	drive, err := source.ConfigDrive(t.Context(), server.ID)
	if err != nil || !strings.Contains(string(drive["openstack/latest/meta_data.json"]), `"admin_pass":"pw"`) {
		t.Errorf("the config drive lacks the admin password: %v", err)
	}
	if _, err := source.Instance(t.Context(), "00000000-0000-0000-0000-000000000000"); !faults.Is(err, faults.NotFound) {
		t.Errorf("of no server: %v; want NotFound", err)
	}
}
