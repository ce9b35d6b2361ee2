package steps

// What a request for an image of a server asked for, as its operation's input
// has it.

// ImageInput is read by the workflow that makes the image, and by whoever tells
// a host where to bring it.
type ImageInput struct {
	// ImageID is the image in Glance, which the request has made. Name is what it
	// is called.
	ImageID string `json:"image_id"`
	Name    string `json:"name"`
	// Owner is the project that the image belongs to.
	Owner string `json:"owner"`
	// OfVolumes says that the server boots from a volume: the image has no data
	// of its own and stands on snapshots of the server's volumes.
	OfVolumes bool `json:"of_volumes,omitempty"`
	// BackupType and Rotation are a backup's: of its type as many are kept.
	BackupType string `json:"backup_type,omitempty"`
	Rotation   int    `json:"rotation,omitempty"`
}
