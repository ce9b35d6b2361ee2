package main

// holdfast worker --role conductor: what is done to nodes.

import (
	"cmp"
	"context"
	"errors"

	"holdfast.dev/activities/agent"
	"holdfast.dev/activities/bmc"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/telemetry"
	"holdfast.dev/workers"
)

// runConductor serves the queue of a group of nodes.
func runConductor(ctx context.Context, cfg *config.Config) (err error) {
	p, err := newControlProcess(ctx, cfg, "conductor")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	box, err := p.secrets()
	if err != nil {
		return err
	}
	enabled, err := hardware.Enable(cfg.Baremetal.EnabledHardwareTypes)
	if err != nil {
		return err
	}
	machine, err := machineName(cfg)
	if err != nil {
		return err
	}
	name := cmp.Or(cfg.Conductor.Name, machine)
	return p.beside(ctx, cfg.Telemetry.ConductorListen, telemetry.NewHealth(p.log, p.databaseProbe(), p.temporalProbe()), func(ctx context.Context) error {
		return workers.RunConductor(ctx, workers.ConductorConfig{
			Client: p.temporal, DB: p.db, Heartbeat: cfg.Conductor.HeartbeatInterval,
			Conductor: baremetal.Conductor{Hostname: name, Group: cfg.Conductor.Group, Drivers: enabled.Types()},
			BMC:       bmc.New(p.db, p.engine, box, bmc.Options{Networks: cfg.Conductor.Networks}),
			Agent:     agent.New(p.db, p.engine, box, agent.Options{Networks: cfg.Baremetal.AgentNetworks, Plain: !cfg.Baremetal.AgentRequireTLS}),
			Steps:     workers.NewStepMetrics(p.registry), Log: p.log,
		})
	})
}
