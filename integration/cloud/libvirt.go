package cloud

// A cloud whose one host runs real guests: the services that such a host needs,
// an image to boot from, and what libvirt has.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	"github.com/google/uuid"

	"holdfast.dev/activities/libvirt/libvirttest"
	services "holdfast.dev/dev/companions"
	"holdfast.dev/dev/companions/identity"
	"holdfast.dev/dev/companions/service"
	"holdfast.dev/dev/image"
	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/statedir"
)

// ImageVariable names the environment variable that BuildImage sets.
const ImageVariable = "HOLDFAST_TEST_IMAGE"

// BuildImage makes the bootable test image, or finds it made, for a package two
// folders below the module's own. It needs the machine's network once.
func BuildImage() error {
	dir, err := filepath.Abs(filepath.Join("..", "..", ".dev", "image"))
	if err != nil {
		return err
	}
	path, err := image.Build(context.Background(), dir)
	if err != nil {
		return err
	}
	return os.Setenv(ImageVariable, path)
}

// companions are the services beside Holdfast.
type companions struct {
	*Cloud
	cfg services.Config
}

const (
	serviceUser    = "holdfast"
	serviceProject = "service"
	region         = "RegionOne"
	databaseRole   = "companions"
)

// companions describes them.
func (c *Cloud) companions() *companions {
	c.t.Helper()
	ctx, admin := c.t.Context(), c.pair.Admin()
	err := admin.EnsureRole(ctx, databaseRole, "")
	if err == nil {
		err = admin.EnsureDatabase(ctx, databaseRole, databaseRole)
	}
	var dsn string
	if err == nil {
		dsn, err = admin.DSN(databaseRole, databaseRole)
	}
	if err != nil {
		c.t.Fatalf("the companions' database: %v", err)
	}
	s := &companions{Cloud: c, cfg: services.Config{
		DSN: dsn, Dir: filepath.Join(c.dir, "companions"),
		IdentityPort: c.freePort(), ImagePort: c.freePort(), NetworkPort: c.freePort(), VolumePort: c.freePort(),
		User: serviceUser, Password: uuid.NewString(), Project: serviceProject,
	}}
	s.cfg.Seed = identity.Seed{
		Region: region, Projects: []string{serviceProject},
		Users: []identity.SeedUser{{Name: serviceUser, Password: s.cfg.Password, DefaultProject: serviceProject,
			Roles: map[string][]string{serviceProject: {"admin", "service"}}}},
		Services: []identity.SeedService{
			{Type: "identity", Name: "keystone", URL: s.identity()},
			{Type: "image", Name: "glance", URL: s.images()},
		},
	}
	return s
}

func (s *companions) identity() string {
	return fmt.Sprintf("http://127.0.0.1:%d/v3", s.cfg.IdentityPort)
}

func (s *companions) images() string { return fmt.Sprintf("http://127.0.0.1:%d", s.cfg.ImagePort) }

// config is what Holdfast is told of them and of its host.
func (s *companions) config() map[string]any {
	return map[string]any{
		"openstack.auth_url": s.identity(), "openstack.username": serviceUser, "openstack.password": s.cfg.Password,
		"openstack.project": serviceProject, "openstack.region": region,
		"host.driver": "libvirt", "host.libvirt_socket": libvirttest.Socket,
		// There is no other host to go to: this one is waited for as by default.
		"compute.host_down_after": "60s",
	}
}

// start runs them and uploads the image that servers are made from.
func (s *companions) start(bootImage string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "companions.json")
	text, err := json.Marshal(s.cfg)
	if err == nil {
		err = statedir.Write(file, text)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	p := &supervise.Process{Name: "companions", Args: []string{s.binary, "dev", "companions", file},
		LogFile: filepath.Join(s.dir, "companions.log"), Ready: launch.Answers(s.identity())}
	s.processes["companions"] = p
	if err := p.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if s.image, err = s.upload(bootImage); err != nil {
		s.t.Fatalf("upload the image: %v", err)
	}
}

// crowd lets the host have many more servers than it has CPUs.
func (s *companions) crowd() {
	s.t.Helper()
	if _, err := s.DB.Pool.Exec(s.t.Context(), `UPDATE compute.hosts SET cpu_allocation_ratio = 64`); err != nil {
		s.t.Fatal(err)
	}
}

// upload makes a public image of a qcow2 file and gives its id.
func (s *companions) upload(path string) (id string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	login := service.NewLogin(s.identity(), serviceUser, s.cfg.Password, serviceProject)
	document, err := json.Marshal(map[string]string{"name": "boot", "visibility": "public", "disk_format": "qcow2", "container_format": "bare"})
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	if err := s.send(login, http.MethodPost, "/v2/images", "application/json", bytes.NewReader(document), &made); err != nil {
		return "", err
	}
	return made.ID, s.send(login, http.MethodPut, "/v2/images/"+made.ID+"/file", "application/octet-stream", file, nil)
}

func (s *companions) send(login *service.Login, method, path, kind string, body io.Reader, out any) error {
	token, err := login.Token(s.t.Context())
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.images()+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("Content-Type", kind)
	answer, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = &StatusError{answer.StatusCode, string(text)}
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
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
