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
}

// served are the ports that speak HTTP to somebody, with the path that they
// are best asked at.
var served = []struct{ name, path string }{
	{"compute", "/v2.1"},
	{"temporal-ui", ""},
}

func (c *cloud) describe() Description {
	d := Description{Directory: c.Dir, Driver: c.Driver, Hosts: c.Hosts, Config: c.path("holdfast.yaml"), Endpoints: map[string]string{}}
	for _, s := range served {
		d.Endpoints[s.name] = c.at.url(s.name) + s.path
	}
	return d
}
