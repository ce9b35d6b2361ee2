package main

// holdfast api: the service APIs and the host link.

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/api/baremetal"
	"holdfast.dev/api/compute"
	"holdfast.dev/api/metadata"
	"holdfast.dev/api/orchestration"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/cli"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/hosts"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/serverdata"
	"holdfast.dev/internal/telemetry"
)

func apiCommand(env *cli.Env) *cobra.Command {
	var types string
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Serve the service APIs and the host link",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.Config()
			if err != nil {
				return err
			}
			cfg.Orchestration.ResourceTypes = cmp.Or(types, cfg.Orchestration.ResourceTypes)
			return runAPI(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&types, "resource-types", "", "folder with resource types of your own (orchestration.resource_types)")
	return cmd
}

func runAPI(ctx context.Context, cfg *config.Config) (err error) {
	key, err := hostlinkKey(cfg, hostlink.CreateKey)
	if err != nil {
		return err
	}
	p, err := newControlProcess(ctx, cfg, "api")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	tokens, probes, err := p.authenticator()
	if err != nil {
		return err
	}
	health := telemetry.NewHealth(p.log, append(probes, p.databaseProbe(), p.temporalProbe(), p.hostsProbe())...)
	services, err := p.services(tokens, health, key)
	if err != nil {
		return err
	}
	computeAlone, err := services.At("compute")
	if err != nil {
		return err
	}
	guestData, err := p.metadata()
	if err != nil {
		return err
	}
	servers, err := p.hostServers()
	if err != nil {
		return err
	}
	// The starter outlives the last request.
	defer p.runStarter(context.WithoutCancel(ctx))()
	return serve(ctx, p.log, cfg.API.ShutdownPatience,
		listener{name: "service APIs", address: cfg.API.Listen, handler: services, longest: cfg.API.RequestTimeout},
		listener{name: "compute", address: cfg.Compute.Listen, handler: computeAlone, longest: cfg.API.RequestTimeout},
		listener{name: "host link", address: cfg.Hostlink.Listen, handler: hostlink.Handler(key, hosts.New(p.db, p.engine), servers), longest: 30 * time.Second},
		listener{name: "metadata", address: cfg.Metadata.Listen, handler: guestData, longest: 30 * time.Second},
		p.telemetry(cfg.Telemetry.APIListen, health),
	)
}

// services serves every service API.
func (p *process) services(tokens rest.Authenticator, health *telemetry.Health, key hostlink.Key) (*rest.Server, error) {
	rules, err := p.policies("compute", p.cfg.Compute.PolicyFile)
	if err != nil {
		return nil, err
	}
	box, err := p.secrets()
	if err != nil {
		return nil, err
	}
	aliases, err := pci.ReadAliases(p.cfg.Compute.PCIAlias)
	if err != nil {
		return nil, err
	}
	computeAPI := &compute.API{
		DB:               p.db,
		Engine:           p.engine,
		Starter:          p.starter,
		Policy:           rules,
		Secrets:          box,
		Neighbours:       p.neighbours(tokens),
		Consoles:         hostlink.NewReader(key),
		HostDownAfter:    p.cfg.Compute.HostDownAfter,
		MaxPageSize:      p.cfg.API.MaxPageSize,
		ResizeOnSameHost: p.cfg.Compute.AllowResizeToSameHost,
		Aliases:          aliases,
		OffloadShelved:   p.cfg.Compute.ShelvedOffloadTime == 0,
		SoftDelete:       p.cfg.Compute.ReclaimInstanceInterval > 0,
	}
	orchestrationAPI, err := p.orchestration(box)
	if err != nil {
		return nil, err
	}
	baremetalAPI, err := p.baremetal(tokens, box, key)
	if err != nil {
		return nil, err
	}
	return rest.New(rest.Options{
		Authenticator:  tokens,
		AuthURI:        cmp.Or(p.cfg.Keystone.WWWAuthenticateURI, p.cfg.OpenStack.AuthURL),
		Log:            p.log,
		Registry:       p.registry,
		Health:         health,
		PublicURL:      p.cfg.API.PublicURL,
		TrustForwarded: p.cfg.API.TrustForwarded,
		CORS:           rest.CORS{Origins: p.cfg.API.CORSOrigins, Credentials: p.cfg.API.CORSCredentials, MaxAge: p.cfg.API.CORSMaxAge},
		MaxBody:        p.cfg.API.MaxBodyBytes,
		Timeout:        p.cfg.API.RequestTimeout,
	}, computeAPI.Service(), orchestrationAPI.Service(), orchestrationAPI.CloudFormation(), baremetalAPI.Service())
}

// orchestration is the service of stacks.
func (p *process) orchestration(box *secrets.Box) (*orchestration.API, error) {
	rules, err := p.policies("orchestration", p.cfg.Orchestration.PolicyFile)
	if err != nil {
		return nil, err
	}
	types, err := resourcetype.Open(p.cfg.Orchestration.ResourceTypes)
	if err != nil {
		return nil, err
	}
	served := &orchestration.API{
		DB: p.db, Engine: p.engine, Starter: p.starter, Policy: rules, Secrets: box, Types: types,
		MaxStacks: p.cfg.Orchestration.MaxStacks, MaxConfigs: p.cfg.Orchestration.MaxConfigs, MaxResources: p.cfg.Orchestration.MaxResources, MaxPageSize: p.cfg.API.MaxPageSize,
		MaxSnapshots: p.cfg.Orchestration.MaxSnapshots, Abandon: p.cfg.Orchestration.Abandon, Adopt: p.cfg.Orchestration.Adopt,
		Templates:      orchestration.NewTemplates(p.cfg.Orchestration.TemplateNetworks, p.cfg.Orchestration.TemplateTimeout),
		SignedURL:      signedURL(p.cfg),
		ReportInterval: p.cfg.Host.ReportInterval,
	}
	if p.cfg.OpenStack.AuthURL == "" {
		return served, nil
	}
	keystone, err := p.keystone()
	if err != nil {
		return nil, err
	}
	served.Signers = keystone
	if len(p.cfg.Dev.StaticTokens) == 0 {
		served.Trusts = keystone
	}
	return served, nil
}

// baremetal is the bare metal service.
func (p *process) baremetal(tokens rest.Authenticator, box *secrets.Box, key hostlink.Key) (*baremetal.API, error) {
	rules, err := p.policies("baremetal", p.cfg.Baremetal.PolicyFile)
	if err != nil {
		return nil, err
	}
	enabled, err := enabledHardware(p.cfg)
	if err != nil {
		return nil, err
	}
	served := &baremetal.API{
		DB: p.db, Engine: p.engine, Starter: p.starter, Policy: rules, ServiceProject: p.cfg.Baremetal.ServiceProject, Secrets: box, Hardware: enabled, MaxPageSize: p.cfg.API.MaxPageSize,
		AgentNetworks: p.cfg.Baremetal.AgentNetworks, PlainAgents: !p.cfg.Baremetal.AgentRequireTLS,
		PowerTimeout:     p.cfg.Conductor.PowerStateChangeTimeout,
		SoftPowerTimeout: p.cfg.Conductor.SoftPowerOffTimeout,
		AutomatedClean:   p.cfg.Conductor.AutomatedClean,
		Lessees:          baremetal.LesseeSource(p.cfg.Conductor.AutomaticLesseeSource),
		LockAttempts:     p.cfg.Conductor.NodeLockedRetryAttempts,
		LockInterval:     p.cfg.Conductor.NodeLockedRetryInterval,
		Conductors:       hostlink.NewReader(key),
		Networks:         nodeNetworks(p.cfg.Conductor),
	}
	if p.cfg.OpenStack.AuthURL != "" {
		served.Neutron = openstack.NewSession(openstack.Options(p.cfg.OpenStack))
	}
	if caller := p.caller(tokens); caller != nil {
		served.Images = caller
	}
	return served, nil
}

// neighbours are the services that requests are checked with; none without Keystone.
func (p *process) neighbours(tokens rest.Authenticator) compute.Neighbours {
	if caller := p.caller(tokens); caller != nil {
		return caller
	}
	return nil
}

// caller asks the services as callers; nil without Keystone.
func (p *process) caller(tokens rest.Authenticator) *openstack.Caller {
	keystone, ok := tokens.(*identity.Keystone)
	if !ok {
		return nil
	}
	return &openstack.Caller{For: keystone.For, Region: p.cfg.OpenStack.Region}
}

// metadata is the handler of the metadata service; nil if it isn't configured.
func (p *process) metadata() (http.Handler, error) {
	if p.cfg.Metadata.Listen == "" {
		return nil, nil
	}
	source, err := p.serverData()
	if err != nil {
		return nil, err
	}
	return metadata.Handler(p.cfg.Metadata.ProxySharedSecret, source, p.log)
}

// hostServers is what hosts are told of servers; nothing without a key for the
// secrets among it.
func (p *process) hostServers() (hostlink.Servers, error) {
	if p.cfg.Secrets.KeyFile == "" {
		return nil, nil
	}
	drives, err := p.serverData()
	if err != nil {
		return nil, err
	}
	return &hosts.Servers{DB: p.db, Drives: drives, Services: openstack.NewSession(openstack.Options(p.cfg.OpenStack))}, nil
}

// serverData reads what servers are told.
func (p *process) serverData() (*serverdata.Source, error) {
	box, err := p.secrets()
	if err != nil {
		return nil, err
	}
	return &serverdata.Source{DB: p.db, Box: box, Domain: p.cfg.Metadata.DHCPDomain}, nil
}

// secrets seals what is kept at rest.
func (p *process) secrets() (*secrets.Box, error) {
	if err := config.Need("secrets.key_file", p.cfg.Secrets.KeyFile); err != nil {
		return nil, err
	}
	return secrets.LoadOrCreate(p.cfg.Secrets.KeyFile)
}

// policies are a service's rules, with an operator's file on top.
func (p *process) policies(service, file string) (*policy.Enforcer, error) {
	return policy.ForService(service, policy.Options{
		File:        file,
		AnyScope:    !p.cfg.Policy.EnforceScope,
		OldDefaults: !p.cfg.Policy.EnforceNewDefaults,
		Log:         p.log,
	})
}

// hostlinkKey gets the deployment's key by load.
func hostlinkKey(cfg *config.Config, load func(path string) (hostlink.Key, error)) (hostlink.Key, error) {
	if err := config.Need("hostlink.key_file", cfg.Hostlink.KeyFile); err != nil {
		return hostlink.Key{}, err
	}
	return load(cfg.Hostlink.KeyFile)
}
