package provision

// How a node boots: modes and devices.

// Boot modes of a node.
const (
	UEFI = "uefi"
	BIOS = "bios"
)

// What a node can be told to start from.
const (
	BootPXE      = "pxe"
	BootDisk     = "disk"
	BootCDROM    = "cdrom"
	BootBIOS     = "bios"
	BootSafe     = "safe"
	BootUEFIHTTP = "uefihttp"
)
