package openstack_test

// What is asked of Glance and Cinder, of the development cloud's.

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/attachments"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const absent = "cccccccc-0000-4000-8000-000000000001"

func TestCompanions(t *testing.T) {
	t.Parallel()
	cloud := companiontest.Start(t)
	token, _, project := cloud.Login(t, "demo")
	session := openstack.NewSession(openstack.Options{AuthURL: cloud.Identity, Username: "holdfast", UserDomain: "Default",
		Password: cloud.Password("holdfast"), Project: "service", ProjectDomain: "Default", Region: companiontest.Region})
	caller := &openstack.Caller{Region: companiontest.Region, For: func(who identity.Identity) (*gophercloud.ProviderClient, error) {
		return keystone.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{IdentityEndpoint: cloud.Identity, Username: who.UserID,
			Password: cloud.Password(who.UserID), TenantName: who.UserID, DomainID: "default"})
	}}
	demo, other := identity.Identity{}, identity.Identity{}
	demo.UserID, other.UserID = "demo", "other"
	_, _, theirs := cloud.Login(t, "other")
	demo.ProjectID, other.ProjectID = project, theirs

	t.Run("image of a server", func(t *testing.T) {
		glance := cloud.At(t, cloud.Image)
		const id = "cccccccc-0000-4000-8000-000000000002"
		document := map[string]any{"id": id, "name": "i", "visibility": "shared", "disk_format": "qcow2", "container_format": "bare", "min_disk": int64(1), "image_type": "snapshot"}
		location, err := caller.CreateImage(t.Context(), demo, document, "shared-with")
		if err != nil || !strings.HasPrefix(location, cloud.Image) || !strings.HasSuffix(location, "/images/"+id) {
			t.Fatalf("%q, %v", location, err)
		}
		made := glance.Want(200, token, "GET", "/v2/images/"+id, "")
		members := glance.Want(200, token, "GET", "/v2/images/"+id+"/members", "")
		if made.TextAt("owner") != project || made.TextAt("status") != "queued" || made.TextAt("image_type") != "snapshot" || members.TextAt("members", 0, "member_id") != "shared-with" {
			t.Errorf("%s shared with %s", made.Text, members.Text)
		}
		for _, active := range []bool{false, true} {
			to, err := session.ImageUpload(t.Context(), id)
			if err != nil || to.Active != active {
				t.Fatalf("%+v, %v", to, err)
			}
			if !active {
				upload(t, to.URL, to.Token, "data")
			}
		}
		if _, err := caller.CreateImage(t.Context(), demo, map[string]any{"name": "i", "min_disk": "x"}, ""); !faults.Is(err, faults.Invalid) {
			t.Errorf("what Glance refuses: %v", err)
		}
		if err := caller.DeleteImage(t.Context(), demo, id); err != nil {
			t.Error(err)
		}
		_, gone := session.ImageUpload(t.Context(), id)
		missing(t, caller.DeleteImage(t.Context(), demo, id), gone)
	})
	t.Run("network that is made", func(t *testing.T) {
		neutron := cloud.At(t, cloud.Network)
		admin, _, _ := cloud.Login(t, "admin")
		if err := caller.CanAllocateNetwork(t.Context(), demo); !faults.Is(err, faults.Invalid) || faults.As(err).Code != "UnableToAutoAllocateNetwork" {
			t.Errorf("without a default external network: %v", err)
		}
		public := neutron.Want(201, admin, "POST", "/v2.0/networks", `{"network": {"router:external": true, "is_default": true}}`).TextAt("network", "id")
		neutron.Want(201, admin, "POST", "/v2.0/subnets", `{"subnet": {"network_id": "`+public+`", "ip_version": 4, "cidr": "192.0.2.0/24", "enable_dhcp": false}}`)
		if err := caller.CanAllocateNetwork(t.Context(), demo); err != nil {
			t.Error(err)
		}
		if err := caller.CanAllocateNetwork(t.Context(), other); err != nil {
			t.Error(err)
		}
	})
	t.Run("image", func(t *testing.T) {
		glance := cloud.At(t, cloud.Image)
		id := glance.Want(201, token, "POST", "/v2/images", `{"name": "i", "disk_format": "raw", "container_format": "bare", "min_ram": 64, "min_disk": 2, "hw_disk_bus": "scsi"}`).TextAt("id")
		upload(t, cloud.Image+"/v2/images/"+id+"/file", token, "data")
		file, err := session.ImageFile(t.Context(), id)
		if err != nil || file.DiskFormat != "raw" || file.Size != 4 || file.ContainerFormat != "bare" || file.Properties["hw_disk_bus"] != "scsi" || file.HashAlgo != "sha512" || len(file.HashValue) != 128 || len(file.Checksum) != 32 {
			t.Fatalf("%+v, %v", file, err)
		}
		if got := fetch(t, file.URL, file.Token); got != "data" {
			t.Errorf("its data is %q", got)
		}
		shown, err := caller.Image(t.Context(), demo, id)
		if err != nil || shown.Status != "active" || shown.SizeBytes != 4 || shown.MinRAMMB != 64 || shown.MinDiskGB != 2 || shown.Properties["hw_disk_bus"] != "scsi" {
			t.Errorf("%+v, %v", shown, err)
		}
		_, stranger := caller.Image(t.Context(), other, id)
		_, gone := session.ImageFile(t.Context(), absent)
		missing(t, stranger, gone)
	})
	t.Run("image that is lent", func(t *testing.T) {
		glance := cloud.At(t, cloud.Image)
		admin, _, _ := cloud.Login(t, "admin")
		_, _, service := cloud.Login(t, "holdfast")
		lent := func(token, visibility string) string {
			return glance.Want(201, token, "POST", "/v2/images", `{"name": "i", "disk_format": "raw", "container_format": "bare", "visibility": "`+visibility+`"}`).TextAt("id")
		}
		public, private, shared, unshared := lent(admin, "public"), lent(token, "private"), lent(token, "shared"), lent(token, "shared")
		glance.Want(200, token, "POST", "/v2/images/"+shared+"/members", `{"member": "`+service+`"}`)
		own := glance.Want(201, admin, "POST", "/v2/images", `{"name": "i", "disk_format": "raw", "container_format": "bare", "visibility": "private", "owner": "`+service+`"}`).TextAt("id")
		for _, id := range []string{public, shared, own} {
			if _, err := session.LentImageFile(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		_, hidden := session.LentImageFile(t.Context(), private)
		_, others := session.LentImageFile(t.Context(), unshared)
		_, gone := session.LentImageFile(t.Context(), absent)
		missing(t, hidden, others, gone)
	})
	t.Run("network", func(t *testing.T) {
		neutron := cloud.At(t, cloud.Network)
		network := neutron.Want(201, token, "POST", "/v2.0/networks", `{"network": {"name": "n"}}`).TextAt("network", "id")
		for _, cidr := range []string{"10.0.0.0/30", "10.1.0.0/30"} { // two addresses each, of which the gateway has one
			neutron.Want(201, token, "POST", "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "`+cidr+`"}}`)
		}
		port := neutron.Want(201, token, "POST", "/v2.0/ports", `{"port": {"network_id": "`+network+`", "device_id": "`+absent+`"}}`).TextAt("port", "id")
		has := func(want ...string) {
			t.Helper()
			p, err := caller.Interface(t.Context(), demo, port)
			if err != nil || p.NetworkID != network || p.DeviceID != absent || p.MAC == "" || p.Status == "" {
				t.Fatalf("%+v, %v", p, err)
			}
			var got []string
			for _, ip := range p.FixedIPs {
				got = append(got, ip.Address)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("addresses %v, want %v", got, want)
			}
		}
		has("10.0.0.2")
		if all, err := caller.Interfaces(t.Context(), demo, absent); err != nil || len(all) != 1 || all[0].ID != port {
			t.Errorf("%+v, %v", all, err)
		}
		for address, want := range map[string]int{"10.0.0.2": 1, "10.0.0.20": 0} {
			if at, err := caller.InterfacesAt(t.Context(), demo, network, address); err != nil || len(at) != want || want > 0 && at[0].DeviceID != absent {
				t.Errorf("at %s: %+v, %v", address, at, err)
			}
		}
		if err := caller.AddFixedIP(t.Context(), demo, absent, network); err != nil {
			t.Fatal(err)
		}
		has("10.0.0.2", "10.1.0.2")
		if err := caller.AddFixedIP(t.Context(), demo, absent, network); !faults.Is(err, faults.NoCapacity) {
			t.Errorf("a full network: %v", err)
		}
		if err := caller.RemoveFixedIP(t.Context(), demo, absent, "10.0.0.2"); err != nil {
			t.Fatal(err)
		}
		has("10.1.0.2")
		_, stranger := caller.Interface(t.Context(), other, port)
		missing(t, stranger, caller.RemoveFixedIP(t.Context(), demo, absent, "10.0.0.2"), caller.AddFixedIP(t.Context(), demo, absent, absent),
			caller.AddFixedIP(t.Context(), other, absent, network), caller.RemoveFixedIP(t.Context(), other, absent, "10.1.0.2"))
		has("10.1.0.2")
	})
	t.Run("security groups", func(t *testing.T) {
		neutron := cloud.At(t, cloud.Network)
		network := neutron.Want(201, token, "POST", "/v2.0/networks", `{"network": {"name": "g"}}`).TextAt("network", "id")
		made := func(name string) string {
			return neutron.Want(201, token, "POST", "/v2.0/security-groups", `{"security_group": {"name": "`+name+`"}}`).TextAt("security_group", "id")
		}
		web, server := made("web"), "44444444-4444-4444-8444-444444444444"
		made("twice")
		made("twice")
		add := func(group string) error { return caller.AddSecurityGroup(t.Context(), demo, server, group) }
		remove := func(group string) error { return caller.RemoveSecurityGroup(t.Context(), demo, server, group) }
		missing(t, add("web"), remove("web")) // no port
		port := func(body string) string {
			return neutron.Want(201, token, "POST", "/v2.0/ports", `{"port": {"network_id": "`+network+`", "device_id": "`+server+`"`+body+`}}`).TextAt("port", "id")
		}
		bare := port("")
		if err := add("web"); !faults.Is(err, faults.Invalid) {
			t.Errorf("a port without an address: %v", err)
		}
		neutron.Want(204, token, "DELETE", "/v2.0/ports/"+bare, "")
		neutron.Want(201, token, "POST", "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "10.2.0.0/24"}}`)
		port("")
		port("")
		has := func(want ...string) {
			t.Helper()
			groups, err := caller.ServerSecurityGroups(t.Context(), demo, server)
			var got []string
			for _, g := range groups[server] {
				got = append(got, g.Name)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("groups %v, %v; want %v", got, err, want)
			}
		}
		has("default")
		for _, group := range []string{"web", web} { // the second time it is there
			if err := add(group); err != nil {
				t.Fatal(err)
			}
			has("default", "web")
		}
		if err := add("twice"); !faults.Is(err, faults.Conflict) {
			t.Errorf("two of the name: %v", err)
		}
		missing(t, add("nothing"), remove("nothing"), caller.AddSecurityGroup(t.Context(), other, server, "web"),
			caller.AddSecurityGroup(t.Context(), other, server, "default"), caller.RemoveSecurityGroup(t.Context(), other, server, web))
		has("default", "web")
		if err := remove("web"); err != nil {
			t.Fatal(err)
		}
		has("default")
		missing(t, remove("web"))
	})
	t.Run("volume", func(t *testing.T) {
		cinder := cloud.At(t, cloud.Volume)
		id := cinder.Want(202, token, "POST", "/v3/volumes", `{"volume": {"size": 1}}`).TextAt("volume", "id")
		var shown *openstack.Volume
		for deadline := time.Now().Add(testenv.Patience); shown == nil || shown.Status != "available"; time.Sleep(20 * time.Millisecond) {
			var err error
			if shown, err = caller.Volume(t.Context(), demo, id); err != nil || time.Now().After(deadline) {
				t.Fatalf("%+v, %v", shown, err)
			}
		}
		if shown.SizeGB != 1 || shown.Bootable != "false" || shown.Multiattach {
			t.Errorf("%+v", shown)
		}
		_, stranger := caller.Volume(t.Context(), other, id)
		_, gone := caller.Snapshot(t.Context(), demo, absent)
		_, elsewhere := caller.Volume(t.Context(), demo, "..")
		missing(t, stranger, gone, elsewhere)
		if types, err := caller.VolumeTypes(t.Context(), demo); err != nil || len(types) == 0 {
			t.Errorf("types %v, %v", types, err)
		}
		client, err := session.Volume(t.Context(), project)
		if err != nil {
			t.Fatal(err)
		}
		at, err := attachments.Create(t.Context(), client, attachments.CreateOpts{VolumeUUID: id, InstanceUUID: absent}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := session.Attachment(t.Context(), project, at.ID); !faults.Is(err, faults.Unavailable) {
			t.Errorf("without a host: %v", err)
		}
		if err := attachments.Update(t.Context(), client, at.ID, attachments.UpdateOpts{Connector: map[string]any{"host": "h"}}).Err; err != nil {
			t.Fatal(err)
		}
		driver, data, err := session.Attachment(t.Context(), project, at.ID)
		var reached map[string]any
		if err != nil || driver != "local" || json.Unmarshal(data, &reached) != nil {
			t.Fatalf("%q, %v", driver, err)
		}
		if path, _ := reached["device_path"].(string); !strings.HasPrefix(path, "/") || reached["driver_volume_type"] != nil {
			t.Errorf("it is reached by %v", reached)
		}
	})
}

func TestServicesOutOfReach(t *testing.T) {
	t.Parallel()
	session := openstack.NewSession(openstack.Options{AuthURL: "http://127.0.0.1:1/v3", Username: "u", UserDomain: "Default", Password: "p", Project: "p", ProjectDomain: "Default"})
	_, image := session.ImageFile(t.Context(), absent)
	_, _, attachment := session.Attachment(t.Context(), "p", absent)
	for _, err := range []error{image, attachment} {
		if !faults.Is(err, faults.Unavailable) {
			t.Errorf("%v", err)
		}
	}
}

func missing(t *testing.T, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if !faults.Is(err, faults.NotFound) {
			t.Errorf("%d: %v, want NotFound", i, err)
		}
	}
}

func upload(t *testing.T, url, token, data string) {
	t.Helper()
	if status, body := do(t, http.MethodPut, url, token, strings.NewReader(data)); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
}

func fetch(t *testing.T, url, token string) string {
	t.Helper()
	_, body := do(t, http.MethodGet, url, token, nil)
	return body
}

func do(t *testing.T, method, url, token string, body io.Reader) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
