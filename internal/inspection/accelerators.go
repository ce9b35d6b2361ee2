package inspection

// Accelerators: PCI devices of a machine that are known for what they are.

import (
	"encoding/json"

	"holdfast.dev/internal/faults"
)

// Accelerator is a PCI device that is known.
type Accelerator struct {
	Vendor string `json:"vendor_id"`
	Device string `json:"device_id"`
	Type   string `json:"type,omitempty"`
	Info   string `json:"device_info,omitempty"`
	// Address is where one is in a machine.
	Address string `json:"pci_address,omitempty"`
}

// usualAccelerators are those that are known without being named.
var usualAccelerators = []Accelerator{
	{Vendor: "10de", Device: "1eb8", Type: "GPU", Info: "NVIDIA Corporation Tesla T4"},
	{Vendor: "10de", Device: "1df6", Type: "GPU", Info: "NVIDIA Corporation GV100GL"},
	{Vendor: "10de", Device: "2236", Type: "GPU", Info: "NVIDIA Corporation A10"},
	{Vendor: "10de", Device: "2235", Type: "GPU", Info: "NVIDIA Corporation A40"},
	{Vendor: "10de", Device: "26b9", Type: "GPU", Info: "NVIDIA Corporation L40S"},
	{Vendor: "10de", Device: "26ba", Type: "GPU", Info: "NVIDIA Corporation L20"},
}

// ReadAccelerators reads those that are known, an object each; none are the usual ones.
// Errors: Invalid.
func ReadAccelerators(entries []string) ([]Accelerator, error) {
	if len(entries) == 0 {
		return usualAccelerators, nil
	}
	known := make([]Accelerator, len(entries))
	for i, entry := range entries {
		if err := json.Unmarshal([]byte(entry), &known[i]); err != nil || known[i].Vendor == "" || known[i].Device == "" {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%q is no PCI device with a vendor_id and a device_id", entry)
		}
	}
	return known, nil
}

// accelerators has the node have those of its PCI devices that are known, if it was said
// which it has.
func (w *work) accelerators() error {
	list, _ := w.Plugin["pci_devices"].([]any)
	if len(list) == 0 {
		return nil
	}
	found := []Accelerator{}
	for _, item := range list {
		device, _ := item.(map[string]any)
		for _, a := range w.Accelerators {
			if a.Vendor == text(device["vendor_id"]) && a.Device == text(device["product_id"]) {
				a.Address = text(device["bus"])
				found = append(found, a)
				break
			}
		}
	}
	w.made.Properties["accelerators"] = found
	return nil
}
