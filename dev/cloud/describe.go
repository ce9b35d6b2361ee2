package cloud

// What a cloud tells about itself.

// Description is what a script has to know of a running cloud.
type Description struct {
	// Directory keeps everything.
	Directory string `json:"directory"`
	Driver    string `json:"driver"`
	Hosts     int    `json:"hosts"`
	// Config is the configuration file that holdfast's commands take.
	Config string `json:"config"`
	// Endpoints are URLs by the port's name.
	Endpoints map[string]string `json:"endpoints"`
	Users     []Login           `json:"users"`
	// Clouds is the clients' clouds.yaml, with a cloud of each user's name.
	Clouds string `json:"clouds_yaml"`
	// Libvirt is what virsh connects to, by host; empty with simulated hosts.
	Libvirt []string `json:"libvirt,omitempty"`
	// Nodes is what `openstack baremetal create` enrolls the simulated machines by;
	// empty without any.
	Nodes string `json:"nodes,omitempty"`
	// Instance is an instance_info that they can be deployed by.
	Instance map[string]string `json:"instance,omitempty"`
}

// Login is how a user asks for a token; all domains are Default.
type Login struct {
	Name     string `json:"name"`
	Project  string `json:"project"`
	Password string `json:"password"`
}

// served are the ports that speak HTTP to somebody, with the path that they
// are best asked at.
var served = []struct{ name, path string }{
	{"identity", "/v3"},
	{"compute", "/v2.1"},
	{"image", ""},
	{"network", ""},
	{"volume", "/v3"},
	{"temporal-ui", ""},
}

func (c *cloud) describe() (Description, error) {
	d := Description{Directory: c.Dir, Driver: c.Driver, Hosts: c.Hosts, Config: c.path("holdfast.yaml"), Clouds: c.path("clouds.yaml"), Endpoints: map[string]string{}}
	for _, l := range c.libvirts() {
		d.Libvirt = append(d.Libvirt, l.URI())
	}
	if c.Machines > 0 {
		d.Nodes, d.Instance = c.path(nodesFile), c.instance()
		d.Endpoints["redfish"] = "https://" + c.at.host("redfish")
	}
	for _, s := range served {
		d.Endpoints[s.name] = c.at.url(s.name) + s.path
	}
	for _, u := range users {
		password, err := c.password(u.Name)
		if err != nil {
			return Description{}, err
		}
		d.Users = append(d.Users, Login{Name: u.Name, Project: u.Project, Password: password})
	}
	return d, nil
}
