package provision

// Boot modes of a node.
const (
	UEFI = "uefi"
	BIOS = "bios"
)
