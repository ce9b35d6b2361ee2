package cloud

// The services beside Holdfast.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	services "holdfast.dev/dev/companions"
	"holdfast.dev/dev/companions/identity"
	"holdfast.dev/dev/companions/service"
	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/supervise"
	holdfast "holdfast.dev/internal/identity"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/store"
)

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

	// The domain of users that stacks make, and its administrator.
	stackDomain      = "heat"
	stackDomainAdmin = "heat_domain_admin"
)

// Database makes a database that is nobody else's, with a role of its name, and
// gives its address.
func (c *Cloud) Database(name string) (dsn string) {
	c.t.Helper()
	ctx, admin := c.t.Context(), c.pair.Admin()
	err := admin.EnsureRole(ctx, name, "")
	if err == nil {
		err = admin.EnsureDatabase(ctx, name, name)
	}
	if err == nil {
		dsn, err = admin.DSN(name, name)
	}
	if err != nil {
		c.t.Fatalf("the database %s: %v", name, err)
	}
	return dsn
}

// Login is how somebody gets a token of the identity service.
type Login struct{ AuthURL, User, Password, Project, Region string }

// Administrator is the identity service's, who Holdfast asks it as.
func (c *Cloud) Administrator() Login {
	return Login{c.services.identity(), serviceUser, c.services.cfg.Password, serviceProject, region}
}

// Project is the id of the project that the user's token is good for.
func (c *Cloud) Project() string { return c.project }

// companions describes them.
func (c *Cloud) companions() *companions {
	c.t.Helper()
	s := &companions{Cloud: c, cfg: services.Config{
		DSN: c.Database(databaseRole), Dir: filepath.Join(c.dir, "companions"),
		IdentityPort: c.freePort(), ImagePort: c.freePort(), NetworkPort: c.freePort(), VolumePort: c.freePort(),
		User: serviceUser, Password: uuid.NewString(), Project: serviceProject, ComputeURL: c.compute(),
	}}
	s.cfg.Seed = identity.Seed{
		Region: region, Projects: []string{serviceProject, project, adminProject},
		Roles: []string{holdfast.StackUser}, Domains: []identity.SeedDomain{{Name: stackDomain, Admin: stackDomainAdmin, Password: uuid.NewString()}},
		Users: []identity.SeedUser{
			{Name: serviceUser, Password: s.cfg.Password, DefaultProject: serviceProject,
				Roles: map[string][]string{serviceProject: {"admin", "service"}}, Inherited: []string{"member", "service"}},
			{Name: aUser, Password: uuid.NewString(), DefaultProject: project, Roles: map[string][]string{project: {"member"}}},
			{Name: anAdmin, Password: uuid.NewString(), DefaultProject: adminProject, Roles: map[string][]string{project: {"admin"}, adminProject: {"admin"}, "": {"admin"}}},
		},
		Services: []identity.SeedService{
			{Type: "identity", Name: "keystone", URL: s.identity()},
			{Type: "compute", Name: "nova", URL: c.compute()},
			{Type: "image", Name: "glance", URL: s.images()},
			{Type: "network", Name: "neutron", URL: s.networks()},
			{Type: "block-storage", Name: "cinder", URL: s.volumes()},
			{Type: "baremetal", Name: "ironic", URL: c.url + "/baremetal"},
		},
	}
	return s
}

func (c *Cloud) compute() string { return c.url + "/v2.1" }

func (s *companions) identity() string {
	return fmt.Sprintf("http://127.0.0.1:%d/v3", s.cfg.IdentityPort)
}

func (s *companions) images() string { return fmt.Sprintf("http://127.0.0.1:%d", s.cfg.ImagePort) }

func (s *companions) networks() string { return fmt.Sprintf("http://127.0.0.1:%d", s.cfg.NetworkPort) }

func (s *companions) volumes() string { return fmt.Sprintf("http://127.0.0.1:%d/v3", s.cfg.VolumePort) }

// config is what Holdfast is told of them.
func (s *companions) config() map[string]any {
	return map[string]any{
		"openstack.auth_url": s.identity(), "openstack.username": serviceUser, "openstack.password": s.cfg.Password,
		"openstack.project": serviceProject, "openstack.region": region,
		"orchestration.stack_user_domain_name": stackDomain, "orchestration.stack_domain_admin": stackDomainAdmin,
		"orchestration.stack_domain_admin_password": s.cfg.Seed.Domains[0].Password,
	}
}

// start runs them and uploads the image that servers are made from: a qcow2 file's,
// or of none one that nobody could boot from.
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
	p := &supervise.Process{Name: string(Companions), Args: []string{s.binary, "dev", "companions", file},
		LogFile: filepath.Join(s.dir, "companions.log"), Ready: launch.Answers(s.identity())}
	s.processes[Companions] = p
	if err := p.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	format, content := "raw", io.Reader(strings.NewReader("nothing to boot from"))
	if bootImage != "" {
		file, err := os.Open(bootImage)
		if err != nil {
			s.t.Fatal(err)
		}
		defer file.Close()
		format, content = "qcow2", file
	}
	if s.image, err = s.upload(format, content); err != nil {
		s.t.Fatalf("upload the image: %v", err)
	}
}

// admit has the fixed tokens stand for users that the identity service knows, and
// lifts the limits of their project.
func (s *companions) admit() {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), s.cfg.DSN, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for token, of := range map[string][2]string{UserToken: {aUser, project}, HelperToken: {anAdmin, project}, AdminToken: {anAdmin, adminProject}, SystemToken: {anAdmin, ""}} {
		_, err := db.Pool.Exec(s.t.Context(), `INSERT INTO identity.tokens (hash, user_id, project_id, system, methods, audit_ids, issued_at, expires_at)
			SELECT sha256(convert_to($1, 'UTF8')), u.id, p.id, p.id IS NULL, '{password}', '{fixed}', now(), now() + interval '1 day'
			FROM identity.users u LEFT JOIN identity.projects p ON p.name = $3 WHERE u.name = $2`, token, of[0], of[1])
		if err != nil {
			s.t.Fatal(err)
		}
	}
	err = db.Pool.QueryRow(s.t.Context(), `SELECT id FROM identity.projects WHERE name = $1`, project).Scan(&s.project)
	if err == nil {
		err = s.ask(s.t.Context(), AdminToken, http.MethodPut, s.volumes()+"/os-quota-sets/"+s.project,
			map[string]any{"quota_set": map[string]int{"volumes": -1, "gigabytes": -1}}, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// upload makes a public image and gives its id.
func (s *companions) upload(format string, content io.Reader) (id string, err error) {
	token, err := service.NewLogin(s.identity(), serviceUser, s.cfg.Password, serviceProject).Token(s.t.Context())
	if err != nil {
		return "", err
	}
	document, err := json.Marshal(map[string]string{"name": "boot", "visibility": "public", "disk_format": format, "container_format": "bare"})
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	if err := s.send(s.t.Context(), token, http.MethodPost, s.images()+"/v2/images", "application/json", bytes.NewReader(document), &made); err != nil {
		return "", err
	}
	return made.ID, s.send(s.t.Context(), token, http.MethodPut, s.images()+"/v2/images/"+made.ID+"/file", "application/octet-stream", content, nil)
}

// Images asks the image service for something as the user and decodes the answer
// into out, if that isn't nil; Networks and Volumes ask the others.
func (c *Cloud) Images(ctx context.Context, method, path string, in, out any) error {
	return c.services.ask(ctx, UserToken, method, c.services.images()+"/v2"+path, in, out)
}

// Networks is like Images.
func (c *Cloud) Networks(ctx context.Context, method, path string, in, out any) error {
	return c.services.ask(ctx, UserToken, method, c.services.networks()+"/v2.0"+path, in, out)
}

// Volumes is like Images.
func (c *Cloud) Volumes(ctx context.Context, method, path string, in, out any) error {
	return c.services.ask(ctx, UserToken, method, c.services.volumes()+path, in, out)
}

// NetworksOfAll is like Networks, as an administrator.
func (c *Cloud) NetworksOfAll(ctx context.Context, method, path string, in, out any) error {
	return c.services.ask(ctx, AdminToken, method, c.services.networks()+"/v2.0"+path, in, out)
}

// VolumesOfAll is like Volumes, as an administrator.
func (c *Cloud) VolumesOfAll(ctx context.Context, method, path string, in, out any) error {
	return c.services.ask(ctx, HelperToken, method, c.services.volumes()+path, in, out)
}

// Identity is like NetworksOfAll.
func (c *Cloud) Identity(ctx context.Context, method, path string, in, out any) error {
	return c.services.ask(ctx, AdminToken, method, c.services.identity()+path, in, out)
}

func (s *companions) ask(ctx context.Context, token, method, url string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	return s.send(ctx, token, method, url, "application/json", body, out)
}

func (s *companions) send(ctx context.Context, token, method, url, kind string, body io.Reader, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
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
