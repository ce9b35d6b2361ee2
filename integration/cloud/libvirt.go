package cloud

// A cloud whose one host runs real guests: an image to boot from, and what libvirt
// has.

import (
	"context"
	"os"
	"path/filepath"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	"github.com/google/uuid"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/dev/image"
	"holdfast.dev/internal/repotest"
)

// ImageVariable names the environment variable that BuildImage sets.
const ImageVariable = "HOLDFAST_TEST_IMAGE"

// BuildImage makes the bootable test image, or finds it made. It needs the machine's
// network once.
func BuildImage() error {
	root, err := repotest.Root()
	if err != nil {
		return err
	}
	path, err := image.Build(context.Background(), filepath.Join(root, ".dev", "image"))
	if err != nil {
		return err
	}
	return os.Setenv(ImageVariable, path)
}

// overLibvirt is what Holdfast is told of a host with real guests.
func overLibvirt() map[string]any {
	return map[string]any{
		"host.driver": "libvirt", "host.libvirt_socket": libvirttest.Socket,
		// There is no other host to go to: this one is waited for as by default.
		"compute.host_down_after": "60s",
	}
}

// crowd lets the host have many more servers than it has CPUs.
func (c *Cloud) crowd() {
	c.t.Helper()
	if _, err := c.DB.Pool.Exec(c.t.Context(), `UPDATE compute.hosts SET cpu_allocation_ratio = 64`); err != nil {
		c.t.Fatal(err)
	}
}

// LibvirtDomains are the domains that libvirt has, by UUID, and whether each runs.
func (c *Cloud) LibvirtDomains() map[string]bool {
	c.t.Helper()
	l := golibvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(libvirttest.Socket), dialers.WithLocalTimeout(10*time.Second)))
	if err := l.ConnectToURI(golibvirt.QEMUSystem); err != nil {
		c.t.Fatalf("libvirt: %v", err)
	}
	defer func() {
		if err := l.Disconnect(); err != nil {
			c.t.Errorf("libvirt: %v", err)
		}
	}()
	domains, _, err := l.ConnectListAllDomains(1, 0)
	if err != nil {
		c.t.Fatalf("libvirt: %v", err)
	}
	all := map[string]bool{}
	for _, d := range domains {
		active, err := l.DomainIsActive(d)
		if err != nil {
			c.t.Fatalf("libvirt: %v", err)
		}
		all[uuid.UUID(d.UUID).String()] = active == 1
	}
	return all
}

// LibvirtFolders are the servers that the host has files of.
func (c *Cloud) LibvirtFolders() (servers []string) {
	c.t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.dir, "hosts", "guests"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		servers = append(servers, e.Name())
	}
	return servers
}
