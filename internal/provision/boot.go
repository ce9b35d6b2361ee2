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

// BootFloppy is a drive that nodes have media in and don't start from.
const BootFloppy = "floppy"

// MediaDrives are the kinds of drives that virtual media are put into.
func MediaDrives() []string { return []string{BootDisk, BootCDROM, BootFloppy} }
