package provision

// Deployments: what the steps of one are, and how those that a node's interfaces have go
// together with those that a request or a deploy template gives.

import (
	"fmt"
	"slices"
	"strings"
)

// Steps of a deployment by the agent.
const (
	// StepDeploy is the core of every deployment: it boots the ramdisk.
	StepDeploy = "deploy.deploy"
	// StepWriteImage has the ramdisk write the image.
	StepWriteImage = "deploy.write_image"
	// StepPrepareBoot has the node start from its disk the next time.
	StepPrepareBoot = "deploy.prepare_instance_boot"
	// StepTearDownAgent ends the ramdisk.
	StepTearDownAgent = "deploy.tear_down_agent"
	// StepTenantNetwork brings the node into the networks of its instance.
	StepTenantNetwork = "deploy.switch_to_tenant_network"
	// StepBootInstance turns the node on.
	StepBootInstance = "deploy.boot_instance"
)

// byAgent are the steps of the deploy interface whose agent writes the image.
var byAgent = []Step{{Name: "deploy", Priority: 100}, {Name: "write_image", Priority: 80}, {Name: "prepare_instance_boot", Priority: 60},
	{Name: "tear_down_agent", Priority: 40}, {Name: "switch_to_tenant_network", Priority: 30}, {Name: "boot_instance", Priority: 20}}

// Deployment are the steps of a deployment, in their order: those that the node has and
// that are done without being asked for, and those that are given, each at its priority,
// which takes the place of one that the node has, as one of the request's does of one of a
// template's.
func Deployment(has, templates, request []Step) []Step {
	given := slices.Clone(request)
	for _, s := range templates {
		if place(request, s.ID()) < 0 {
			given = append(given, s)
		}
	}
	all := slices.DeleteFunc(Automated(has), func(s Step) bool { return place(given, s.ID()) >= 0 })
	all = append(all, Automated(given)...)
	InOrder(all)
	return all
}

// place is where among steps one is; -1 if it isn't.
func place(all []Step, id string) int {
	return slices.IndexFunc(all, func(s Step) bool { return s.ID() == id })
}

// Core is where among the steps of a deployment its core is; -1 if that is left out.
func Core(all []Step) int { return place(all, StepDeploy) }

// Misplaced are the ramdisk's among the steps of a deployment that would be done when it
// doesn't run.
func Misplaced(all []Step) (wrong []string) {
	core, end := place(all, StepDeploy), len(all)
	for _, last := range []string{StepTearDownAgent, StepBootInstance} {
		if i := place(all, last); i >= 0 {
			end = min(end, i)
		}
	}
	for i, s := range all {
		if (s.Ramdisk || s.ID() == StepWriteImage) && (i < core || i > end) {
			wrong = append(wrong, fmt.Sprintf("deploy step %s with priority %d would be done while the ramdisk does not run", s.ID(), s.Priority))
		}
	}
	return wrong
}

// twice refuses steps of which one is given more than once.
func twice(all []Step) []string {
	var ids []string
	seen := map[string]int{}
	for _, s := range all {
		if seen[s.ID()]++; !Reserved(s.Name) && seen[s.ID()] == 2 {
			ids = append(ids, s.ID())
		}
	}
	if ids == nil {
		return nil
	}
	return []string{"deploy steps from all deploy templates matching this node's instance traits cannot have the same interface and step. " +
		"Duplicate deploy steps for " + strings.Join(ids, ", ")}
}
