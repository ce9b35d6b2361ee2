package steps

// What requests to shelve and to unshelve asked for, as the operation's input has
// it, and what becomes of the row.

// ShelveInput is what a server was shelved with. Of one that boots from a volume
// there is no image.
type ShelveInput struct {
	ImageInput
	// Offload says that the server leaves its host at once.
	Offload bool `json:"offload,omitempty"`
}

// UnshelveInput is where a server is to run again.
type UnshelveInput struct {
	Destination Destination `json:"destination,omitzero"`
}

// EvacuateInput is where a server is to be made anew whose host is down, and how.
type EvacuateInput struct {
	// Host is a name; empty is any.
	Host string `json:"host,omitempty"`
	// Stopped leaves the guest off, unless the server is in ERROR.
	Stopped bool `json:"stopped,omitempty"`
	// OnSharedStorage says whether the disks are there already; nil leaves it to
	// what there is.
	OnSharedStorage *bool `json:"on_shared_storage,omitempty"`
}

// ShelvedOutcome is a server that is shelved from now on, or no more.
type ShelvedOutcome struct {
	On bool `json:"on,omitempty"`
	// ImageID is the image that it starts from then, if it isn't a volume.
	ImageID string `json:"image_id,omitempty"`
}
