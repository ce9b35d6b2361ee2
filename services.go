package main

// The services beside Holdfast, as a control worker calls them.

import (
	"context"
	"maps"
	"strings"

	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/glance"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/engine"
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
	var cloud resources.Cloud
	if p.cfg.OpenStack.AuthURL != "" {
		keystone, err := p.keystone()
		if err != nil {
			return nil, nil, err
		}
		cloud = &openstack.Owners{Keystone: keystone, Region: p.cfg.OpenStack.Region}
		beside = workers.StackTrusts{DB: p.db, End: keystone.DeleteTrust, Log: p.log}.Run
	}
	maps.Copy(types, resources.FromFiles(registry, cloud))
	return resources.New(p.db, p.engine, resources.Options{Box: box, Registry: registry, Types: types,
		MaxResources: p.cfg.Orchestration.MaxResources, MaxConfigs: p.cfg.Orchestration.MaxConfigs, GuestURL: guestURL(p.cfg), Offer: p.starter.Offer}), beside, nil
}

// guestURL is where guests reach the Orchestration API; empty is nowhere.
func guestURL(cfg *config.Config) string {
	if cfg.Orchestration.GuestURL != "" || cfg.API.PublicURL == "" {
		return cfg.Orchestration.GuestURL
	}
	return strings.TrimSuffix(cfg.API.PublicURL, "/") + "/orchestration"
}
