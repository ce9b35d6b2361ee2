package cloud

// The companions: their database, what the identity service has from its start,
// and the files that clients log in with.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/dev/companions"
	"holdfast.dev/dev/companions/identity"
	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/supervise"
	holdfast "holdfast.dev/internal/identity"
	"holdfast.dev/internal/statedir"
)

const companionsRole = "companions"

func (c *cloud) startCompanions(ctx context.Context) error {
	admin := c.postgres.Admin
	if err := admin.EnsureRole(ctx, companionsRole, ""); err != nil {
		return err
	}
	if err := admin.EnsureDatabase(ctx, companionsRole, companionsRole); err != nil {
		return err
	}
	cfg, err := c.companions()
	if err != nil {
		return err
	}
	text, err := json.Marshal(cfg)
	if err == nil {
		err = statedir.Write(c.path("companions.json"), text)
	}
	if err == nil {
		err = c.writeLogins()
	}
	if err != nil {
		return err
	}
	return c.run(ctx, &supervise.Process{
		Name:    "companions",
		Args:    []string{c.Program, "dev", "companions", c.path("companions.json")},
		LogFile: c.log("companions"),
		Ready:   launch.Answers(c.at.url("identity") + "/v3"),
	})
}

func (c *cloud) companions() (companions.Config, error) {
	cfg := companions.Config{
		Dir:          c.path("companions"),
		IdentityPort: c.at["identity"], ImagePort: c.at["image"], NetworkPort: c.at["network"], VolumePort: c.at["volume"],
		User: serviceUser, Project: serviceProject,
		ComputeURL:  c.at.url("compute") + "/v2.1",
		DataPlane:   c.Driver == DriverLibvirt && os.Geteuid() == 0,
		MetadataURL: c.at.url("metadata"),
		Seed: identity.Seed{
			Region:   region,
			Projects: []string{"admin", "demo", serviceProject},
			Roles:    []string{holdfast.StackUser},
			Services: []identity.SeedService{
				{Type: "identity", Name: "keystone", URL: c.at.url("identity") + "/v3"},
				{Type: "compute", Name: "nova", URL: c.at.url("compute") + "/v2.1"},
				{Type: "orchestration", Name: "heat", URL: c.at.url("compute") + "/orchestration/v1/$(project_id)s"},
				{Type: "cloudformation", Name: "heat-cfn", URL: c.at.url("compute") + "/cloudformation/v1"},
				{Type: "baremetal", Name: "ironic", URL: c.at.url("compute") + "/baremetal"},
				{Type: "image", Name: "glance", URL: c.at.url("image")},
				{Type: "network", Name: "neutron", URL: c.at.url("network")},
				{Type: "block-storage", Name: "cinder", URL: c.at.url("volume") + "/v3"},
			},
		},
	}
	var err error
	if cfg.DSN, err = c.postgres.DSN(companionsRole, companionsRole); err != nil {
		return cfg, err
	}
	if cfg.Password, err = c.password(serviceUser); err != nil {
		return cfg, err
	}
	heat := identity.SeedDomain{Name: stackDomain, Admin: stackDomainAdmin}
	if heat.Password, err = c.password(stackDomainAdmin); err != nil {
		return cfg, err
	}
	cfg.Seed.Domains = append(cfg.Seed.Domains, heat)
	if cfg.MetadataSecret, err = c.password(metadataSecret); err != nil {
		return cfg, err
	}
	// Volumes are made as the service user in their owner's project.
	owners := map[string][]string{serviceUser: {"member", "service"}}
	for _, u := range append([]user{{serviceUser, serviceProject, []string{"admin", "service"}}}, users...) {
		password, err := c.password(u.Name)
		if err != nil {
			return cfg, err
		}
		roles := map[string][]string{u.Project: u.Roles}
		if u.Name == "admin" {
			roles[""] = u.Roles
		}
		cfg.Seed.Users = append(cfg.Seed.Users, identity.SeedUser{Name: u.Name, Password: password, DefaultProject: u.Project, Roles: roles, Inherited: owners[u.Name]})
	}
	return cfg, nil
}

// writeLogins writes clouds.yaml, with a cloud for each user, and openrc, which
// is demo's.
func (c *cloud) writeLogins() error {
	clouds := map[string]any{}
	for _, u := range users {
		password, err := c.password(u.Name)
		if err != nil {
			return err
		}
		clouds[u.Name] = map[string]any{
			"region_name": region,
			"auth": map[string]any{"auth_url": c.at.url("identity") + "/v3", "username": u.Name, "password": password,
				"project_name": u.Project, "user_domain_name": "Default", "project_domain_name": "Default"},
		}
	}
	text, err := yaml.Marshal(map[string]any{"clouds": clouds})
	if err == nil {
		err = statedir.Write(c.path("clouds.yaml"), text)
	}
	if err != nil {
		return fmt.Errorf("clouds.yaml: %w", err)
	}
	password, err := c.password("demo")
	if err != nil {
		return err
	}
	var rc bytes.Buffer
	for _, line := range [][2]string{
		{"AUTH_URL", c.at.url("identity") + "/v3"}, {"USERNAME", "demo"}, {"PASSWORD", password}, {"PROJECT_NAME", "demo"},
		{"USER_DOMAIN_NAME", "Default"}, {"PROJECT_DOMAIN_NAME", "Default"}, {"REGION_NAME", region}, {"IDENTITY_API_VERSION", "3"},
	} {
		fmt.Fprintf(&rc, "export OS_%s=%s\n", line[0], line[1])
	}
	return statedir.Write(c.path("openrc"), rc.Bytes())
}
