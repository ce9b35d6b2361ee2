package operations

// The ledger's vocabulary: what an operation may do to the outside world, each
// with exactly one undo.

// EffectKind names a kind of outside effect.
type EffectKind string

const (
	// EffectClaim: room taken on a host for a consumer. Ref is the consumer's
	// id: the server's, or of a migration that keeps what the server had.
	EffectClaim EffectKind = "claim"
	// EffectHandover: the claim that a server had where it runs is a migration's,
	// for as long as the move lasts. Ref is the migration's UUID.
	EffectHandover EffectKind = "handover"
	// EffectPorts: the Neutron ports of a server, made by us or a user's own
	// that are bound to it. Ref is the server id; which they are is in its rows.
	EffectPorts EffectKind = "ports"
	// EffectVolumes: the Cinder volumes of a server, made by us or a user's
	// own, and their attachments. Ref is as for ports.
	EffectVolumes EffectKind = "volumes"
	// EffectBindings: the bindings of a server's ports to its host, EffectConnections
	// those of its volumes' attachments. Ports and attachments stay with the
	// server without them. Ref is the server id.
	EffectBindings    EffectKind = "bindings"
	EffectConnections EffectKind = "connections"
	// EffectOldBindings: bindings of a server's ports to the host that its guest
	// has left, EffectOldConnections those of its volumes' attachments. Undone,
	// they are to the host that it is on. Ref is the server id.
	EffectOldBindings    EffectKind = "old-bindings"
	EffectOldConnections EffectKind = "old-connections"
	// EffectVolume: the attachment of one volume that came while the server
	// was there. Ref is the volume's id.
	EffectVolume EffectKind = "volume"
	// EffectNewVolume: the attachment of a volume that is to take another's place.
	// EffectSwapped: a guest that writes to that one, or is about to. EffectOldVolume:
	// the attachment of the volume that the guest has left for it; undone, Cinder
	// knows which one the guest has. Ref is the id of the new one.
	EffectNewVolume EffectKind = "new-volume"
	EffectSwapped   EffectKind = "swapped"
	EffectOldVolume EffectKind = "old-volume"
	// EffectPort: the port of one interface that came while the server was
	// there. Ref is its position among them.
	EffectPort EffectKind = "port"
	// EffectDevice: a volume or a port in a guest that was there without it.
	// Ref is the volume's or the port's id.
	EffectDevice EffectKind = "device"
	// EffectImage: an image in Glance that is made of a server. Ref is the
	// image's id.
	EffectImage EffectKind = "image"
	// EffectSnapshots: the Cinder snapshots of a server's volumes that an image
	// stands on. Ref is as for images.
	EffectSnapshots EffectKind = "snapshots"
	// EffectSnapshotFile: the copy of a server's disk on its host, until it is in
	// Glance. Ref is the server id.
	EffectSnapshotFile EffectKind = "snapshot-file"
	// EffectGuest: a domain and its disks on a host. Ref is the server id. What
	// an unconfirmed move has left on the old host is one too.
	EffectGuest EffectKind = "guest"
	// EffectMovedPorts and EffectMovedVolumes: the server's ports and volumes are
	// at another host than its row has it on. Ref is the server id.
	EffectMovedPorts   EffectKind = "moved-ports"
	EffectMovedVolumes EffectKind = "moved-volumes"
	// EffectHalt: a guest that ran is off, or frozen. Ref is the server id.
	EffectHalt EffectKind = "halt"
	// EffectStarted: a guest that stood still on the host that a move had left has
	// been started. Ref is the server id.
	EffectStarted EffectKind = "started"
	// EffectResized: a guest that has another size on the host where it was, what
	// it was made of set aside; EffectAside: what is set aside there once the
	// resize is over. Ref is the server id.
	EffectResized EffectKind = "resized"
	EffectAside   EffectKind = "aside"
	// EffectRescue: a guest on a host that runs from a rescue image, or is about
	// to. Ref is the server id.
	EffectRescue EffectKind = "rescue"
	// EffectRamdisk: a node's ramdisk, the medium in its drive that it is booted from,
	// and what the machine is told to start from. Ref is the node's id.
	EffectRamdisk EffectKind = "ramdisk"
	// EffectNetwork: the networks of Neutron that a node is on for the sake of its
	// ramdisk, by ports that were made for it or by those of its instance. Ref is the
	// node's id.
	EffectNetwork EffectKind = "network"
)

// EffectState is how far an effect has come.
type EffectState string

const (
	// Intended: written before the act; it may or may not have happened.
	Intended EffectState = "intended"
	// Done: it happened.
	Done EffectState = "done"
	// Undone: it happened or may have, and is no more.
	Undone EffectState = "undone"
	// Owed: its undo waits for a host, a service or a node's BMC that is down. A host
	// pays before any other work; what services owe, control workers try again, and
	// what BMCs owe, their conductors.
	Owed EffectState = "owed"
	// Passed: the operation succeeded and the resource's own rows have it now.
	Passed EffectState = "passed"
)

// Effect is one line of an operation's ledger.
type Effect struct {
	// Seq orders the ledger; undo goes from the highest down.
	Seq  int        `json:"seq"`
	Kind EffectKind `json:"kind"`
	Ref  string     `json:"ref"`
	// Host has it: a host's id, or the queue of the conductors of a node's group.
	Host string `json:"host,omitempty"`
	// Attempt is the try of the operation that made it, from 1.
	Attempt int         `json:"attempt"`
	State   EffectState `json:"state"`
}

// Open says whether something may exist outside because of the effect.
func (e Effect) Open() bool { return e.State == Intended || e.State == Done }

// AtService says whether an OpenStack service has the effect, and no host.
func (e Effect) AtService() bool {
	switch e.Kind {
	case EffectPorts, EffectPort, EffectVolumes, EffectVolume, EffectBindings, EffectConnections,
		EffectOldBindings, EffectOldConnections, EffectMovedPorts, EffectMovedVolumes, EffectNewVolume, EffectOldVolume, EffectImage, EffectSnapshots:
		return true
	}
	return false
}

// Result is how an operation ended.
type Result string

const (
	ResultDone       Result = "done"
	ResultFailed     Result = "failed"
	ResultCancelled  Result = "cancelled"
	ResultSuperseded Result = "superseded"
)
