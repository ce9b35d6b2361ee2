package main

// The services beside Holdfast, as a control worker calls them.

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/glance"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/workers"
)

type services struct {
	neutron *neutron.Activities
	cinder  *cinder.Activities
	glance  *glance.Activities
	debts   workers.Debts
}

// newServices calls nobody yet.
func newServices(p *process) services {
	session := openstack.NewSession(openstack.Options(p.cfg.OpenStack))
	s := services{
		neutron: neutron.New(p.db, p.engine, neutron.Options{
			Client: session.Network, PlugPatience: p.cfg.Compute.VIFPluggingTimeout, PlugFatal: p.cfg.Compute.VIFPluggingIsFatal,
			RefreshAfter: p.cfg.Compute.HealInstanceInfoCacheInterval,
		}),
		cinder: cinder.New(p.db, p.engine, cinder.Options{Client: session.Volume, Patience: p.cfg.Compute.VolumePatience, Log: p.log}),
		glance: glance.New(p.db, p.engine, glance.Options{Client: session.Image, Log: p.log}),
	}
	s.debts = workers.Debts{DB: p.db, Engine: p.engine, Log: p.log,
		Pay: map[operations.EffectKind]func(context.Context, engine.Debt) error{
			operations.EffectPorts: s.neutron.Pay, operations.EffectVolumes: s.cinder.Pay,
			operations.EffectPort: s.neutron.Pay, operations.EffectVolume: s.cinder.Pay,
			operations.EffectNewVolume: s.cinder.PaySwap, operations.EffectOldVolume: s.cinder.PaySwap,
			operations.EffectBindings: s.neutron.PayBindings, operations.EffectConnections: s.cinder.PayConnections,
			operations.EffectOldBindings: s.neutron.PayFollow, operations.EffectOldConnections: s.cinder.PayFollow,
			operations.EffectMovedPorts: s.neutron.PayFollow, operations.EffectMovedVolumes: s.cinder.PayFollow,
			operations.EffectImage: s.glance.Pay, operations.EffectSnapshots: s.cinder.PaySnapshots,
		}}
	return s
}

// stackResources are the steps on resources of stacks, and what runs beside them.
func (p *process) stackResources() (*resources.Activities, func(context.Context), error) {
	box, err := p.secrets()
	if err != nil {
		return nil, nil, err
	}
	registry, err := resourcetype.Open(p.cfg.Orchestration.ResourceTypes)
	if err != nil {
		return nil, nil, err
	}
	types, beside := resources.Builtin(), func(context.Context) {}
	o := resources.Options{Box: box, Registry: registry, MaxResources: p.cfg.Orchestration.MaxResources, MaxConfigs: p.cfg.Orchestration.MaxConfigs,
		GuestURL: guestURL(p.cfg), SignedURL: signedURL(p.cfg), Offer: p.starter.Offer, Region: p.cfg.OpenStack.Region,
		AuthURL: cmp.Or(p.cfg.Keystone.WWWAuthenticateURI, p.cfg.OpenStack.AuthURL)}
	if p.cfg.OpenStack.AuthURL != "" {
		keystone, err := p.keystone()
		if err != nil {
			return nil, nil, err
		}
		o.Cloud = &openstack.Owners{Keystone: keystone, Region: p.cfg.OpenStack.Region}
		ends := workers.StackIdentities{DB: p.db, EndTrust: keystone.DeleteTrust, EndTrustUntil: keystone.DeleteTrustUntil, Unborn: 2 * p.cfg.API.RequestTimeout, Log: p.log}
		if users := p.stackUsers(keystone); users != nil {
			o.Users, ends.EndProject = users, users.EndProject
		}
		beside = ends.Run
	}
	maps.Copy(types, resources.FromFiles(registry, o.Cloud))
	o.Types = types
	return resources.New(p.db, p.engine, o), beside, nil
}

// stackUsers makes users for stacks; nil if nobody may.
func (p *process) stackUsers(keystone *identity.Keystone) *identity.StackUsers {
	o := p.cfg.Orchestration
	if o.StackDomainAdmin == "" {
		return nil
	}
	return keystone.StackUsers(identity.StackDomain{ID: o.StackDomainID, Name: o.StackDomainName, Admin: o.StackDomainAdmin, Password: o.StackDomainPassword})
}

// guestURL is where guests reach the Orchestration API, signedURL where they reach that
// of CloudFormation; empty is nowhere.
func guestURL(cfg *config.Config) string {
	return below(cfg, cfg.Orchestration.GuestURL, "/orchestration")
}

func signedURL(cfg *config.Config) string {
	return below(cfg, cfg.Orchestration.CFNGuestURL, "/cloudformation")
}

// below is where a service is that isn't elsewhere.
func below(cfg *config.Config, elsewhere, mount string) string {
	if elsewhere != "" || cfg.API.PublicURL == "" {
		return elsewhere
	}
	return strings.TrimSuffix(cfg.API.PublicURL, "/") + mount
}
