package steps

// What is plugged into a server beyond its local disks: part of a ServerSpec.

// Port is a network interface as Neutron has bound it to the host.
type Port struct {
	ID  string `json:"id"`
	MAC string `json:"mac"`
	// VIFType is binding:vif_type; a host plugs "bridge" and refuses others.
	VIFType string `json:"vif_type"`
	// Bridge is the name in binding:vif_details, up to 15 characters.
	Bridge string `json:"bridge"`
	// MTU is the network's; 0 leaves the kernel's.
	MTU int `json:"mtu,omitempty"`
	// Model overrides the image's hw_vif_model.
	Model string `json:"model,omitempty"`
	// Network is Neutron's id of it, and Ours says that the port was made for the
	// server and goes with it: both are only written down with the guest.
	Network string `json:"network,omitempty"`
	Ours    bool   `json:"ours,omitempty"`
}

// Volume is a Cinder volume that is attached. Where it is reached, with what
// secrets, the host asks for over the host link.
type Volume struct {
	ID           string `json:"id"`
	AttachmentID string `json:"attachment_id"`
	// Boot says that the server boots from it.
	Boot bool `json:"boot,omitempty"`
	// Bus overrides the image's hw_disk_bus.
	Bus string `json:"bus,omitempty"`
	// ReadOnly volumes can't be written by the guest.
	ReadOnly bool `json:"read_only,omitempty"`
	// Ours says that the volume was made for the server, DeleteOnTermination that
	// it goes with it: both are only written down with the guest.
	Ours                bool `json:"ours,omitempty"`
	DeleteOnTermination bool `json:"delete_on_termination,omitempty"`
}
