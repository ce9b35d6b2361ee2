package domain

import (
	"strings"
	"testing"

	"holdfast.dev/internal/steps"
)

// A device by itself is written as it is in a domain, and found in one again.
func TestOneDevice(t *testing.T) {
	t.Parallel()
	const volumeID, portID = "0a6f3b1e-1111-4a4e-8b9a-0c2a47c2f6a1", "12345678-90ab-cdef"
	spec := steps.ServerSpec{ServerID: "11111111-2222-4333-8444-555555555555", VCPUs: 1, MemoryMB: 64}
	volume := Plan{Spec: spec, Disks: []Disk{{Path: "/v", Format: "raw", Name: "vdc", Serial: volumeID}}}
	port := Plan{Spec: spec}
	port.Spec.Ports = []steps.Port{{ID: portID, MAC: "fa:16:3e:00:00:01", VIFType: "bridge", Bridge: "brq1"}}
	both := Plan{Spec: port.Spec, Disks: volume.Disks}
	whole, err := XML(both)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		plan         Plan
		id, name, is string
	}{{volume, volumeID, "vdc", "<disk "}, {port, portID, "tap12345678-90", "<interface "}} {
		text, err := DeviceXML(c.plan)
		if err != nil || !strings.HasPrefix(text, c.is) {
			t.Errorf("%s, %v, want %s", text, err, c.is)
		}
		name, found, err := FindDevice(whole, c.id)
		if err != nil || name != c.name || found != text {
			t.Errorf("found %q %s, %v\nwant %q %s", name, found, err, c.name, text)
		}
	}
	if name, found, err := FindDevice(whole, "another"); name != "" || found != "" || err != nil {
		t.Errorf("found %q %s, %v", name, found, err)
	}
	if _, _, err := FindDevice("<no", volumeID); err == nil {
		t.Error("what is no XML is read")
	}
	port.Spec.Ports[0].VIFType = "ovs"
	if _, err := DeviceXML(port); err == nil {
		t.Error("a port is written that no host can plug")
	}
}
