package metadata

// What is known of a server.

// Instance is a server as its guest may know it.
type Instance struct {
	ID        string
	ProjectID string
	Name      string
	// Hostname is with its domain, if there is one.
	Hostname         string
	AvailabilityZone string
	LaunchIndex      int
	ReservationID    string
	FlavorName       string
	ImageID          string
	// Meta are the key and value pairs of the server's own metadata.
	Meta map[string]string
	// Key is the keypair as it was at boot; nil if none was asked for.
	Key *Key
	// UserData is decoded; nil if there is none.
	UserData       []byte
	SecurityGroups []string
	Links          []Link
	Devices        []Device
	// Mappings are the EC2 names of block devices: "root" to "/dev/vda".
	Mappings map[string]string
	// RandomSeed is 512 bytes for the guest's own generator.
	RandomSeed []byte
	// AdminPassword is on the config drive of the first boot, and nowhere else.
	AdminPassword string
	// Files are on the config drive alone.
	Files []InjectedFile
	// Password is what the guest has posted for its user, encrypted by the guest.
	Password string
	// VendorData is the static JSON document of the deployment; nil is {}.
	VendorData []byte
}

// InjectedFile is a file that the guest is to put at Path.
type InjectedFile struct {
	Path     string
	Contents []byte
}

// Key is a public key.
type Key struct {
	Name string `json:"name"`
	// Type is ssh or x509.
	Type string `json:"type"`
	Data string `json:"data"`
}

// Link is a network interface with its addresses.
type Link struct {
	PortID    string
	NetworkID string
	// Device is the interface's name on the host, "tap...".
	Device  string
	VIFType string
	MAC     string
	MTU     int
	// Addresses are in the order of the port's fixed IPs.
	Addresses []Address
	// FloatingIPs that lead to them.
	FloatingIPs []string
}

// Address is one of a link's.
type Address struct {
	IP string
	// CIDR, Gateway and DNS are the subnet's; Gateway may be empty.
	CIDR    string
	Gateway string
	DNS     []string
	// DHCP says that the guest gets the address by asking.
	DHCP bool
}

// Device is a tagged device.
type Device struct {
	// Type is nic or disk.
	Type    string   `json:"type"`
	Bus     string   `json:"bus"`
	Address string   `json:"address"`
	Tags    []string `json:"tags"`
	MAC     string   `json:"mac,omitempty"`
	Serial  string   `json:"serial,omitempty"`
}
