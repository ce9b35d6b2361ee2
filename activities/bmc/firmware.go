package bmc

// Firmware: brought to other versions by a step of cleaning, of deployments and of service,
// one component after the other.

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/common"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

const (
	// updateStep is the step.
	updateStep = "firmware.update"
	// bmcSettles is how long a BMC may show the version from before once it says that it
	// has another one, and nicBegins how long one may take to begin with a network adapter
	// that doesn't wait for the machine's next start.
	bmcSettles = 5 * time.Minute
	nicBegins  = 30 * time.Second
)

// updates is the update service of a Redfish service.
type updates struct {
	*redfish
	// at is where it is told of an image, and targets the machines that it is told of, if
	// there are several.
	at      string
	targets []string
}

func (d *redfish) updates() (*updates, error) {
	var said struct {
		Actions map[string]struct {
			Target string `json:"target"`
		}
	}
	if err := d.read(common.DefaultServiceRoot+"UpdateService", &said); err != nil {
		return nil, err
	}
	u := &updates{redfish: d, at: said.Actions["#UpdateService.SimpleUpdate"].Target}
	if u.at == "" {
		return nil, faults.New(faults.Invalid, "RedfishError", redfishPrefix+"the BMC has no #UpdateService.SimpleUpdate")
	}
	systems, err := d.client.Service.Systems()
	if err != nil {
		return nil, d.fault(err)
	}
	if len(systems) > 1 {
		u.targets = []string{d.system.ODataID}
	}
	return u, nil
}

// updateFirmware has components run what the step says.
func updateFirmware(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	wanted, err := nodes.WantedFirmware(c.args["settings"])
	if err != nil {
		return steps.Effect{}, err
	}
	d, err := s.byRedfish("firmware")
	if err != nil {
		return steps.Effect{}, err
	}
	u, err := d.updates()
	if err != nil {
		return steps.Effect{}, err
	}
	for i, w := range wanted {
		effect, err := s.flash(ctx, u, c, fmt.Sprintf("%s %d", firmwareAct(c.act), i), w)
		if err != nil || effect != (steps.Effect{}) {
			return effect, err
		}
	}
	return steps.Effect{}, nil
}

// firmwareAct is how the names of the acts of a step begin that changes firmware.
func firmwareAct(step string) string { return step + " firmware" }

// flash has a component run an image, and says how far that has come. The BIOS runs it from
// the machine's next start on, a BMC when it has begun anew by itself, and a network adapter
// either at once or from the next start on.
func (s *session) flash(ctx context.Context, u *updates, c cleaning, act string, w nodes.Firmware) (steps.Effect, error) {
	before, err := s.versionBefore(ctx, u, act, w)
	if err != nil {
		return steps.Effect{}, err
	}
	payload := map[string]any{"ImageURI": w.URL}
	if u.targets != nil {
		payload["Targets"] = u.targets
	}
	t, err := s.send(ctx, u.redfish, c, act, func() (*http.Response, error) { return u.client.Post(u.at, payload) })
	if err != nil {
		return steps.Effect{}, err
	}
	started, age := t.round < c.Restarts, s.acts[act].Age
	if t.now || age < w.Wait {
		return steps.Effect{Pending: true}, nil
	}
	same := w.Component == nodes.BMCFirmware && u.bmcVersion() == before
	switch {
	case w.Component == nodes.BMCFirmware && (t.answered || !same):
		return steps.Effect{Pending: t.answered && !t.over || same && age < bmcSettles}, nil
	case !t.answered:
		return steps.Effect{Restart: !started, Pending: started}, nil
	case strings.HasPrefix(w.Component, nodes.NICFirmware) && !t.over && !started && (t.begun || age < nicBegins):
		return steps.Effect{Pending: true}, nil
	}
	return steps.Effect{Restart: !started, Pending: started && !t.over}, nil
}

// versionBefore is what a BMC has run before the act that has it run something else.
func (s *session) versionBefore(ctx context.Context, u *updates, act string, w nodes.Firmware) (string, error) {
	if w.Component != nodes.BMCFirmware {
		return "", nil
	}
	name := act + " before"
	if note, noted := s.acts[name]; noted {
		return note.About, nil
	}
	version := u.bmcVersion()
	return version, s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.NoteAct(ctx, tx, s.of, name, version) })
}

// bmcVersion is what the BMC runs; empty if it doesn't say.
func (d *redfish) bmcVersion() string {
	for _, c := range d.firmware() {
		if c.Component == nodes.BMCFirmware {
			return c.InitialVersion
		}
	}
	return ""
}

// flashing has a step be looked at again whose BMC can't be asked while it runs other
// firmware, or is about to.
func (a *Activities) flashing(ctx context.Context, in steps.CleanStepIn, act string, unreached error) (steps.Effect, error) {
	acts, err := baremetal.Acts(ctx, a.db.Pool, in.Of)
	if err != nil {
		return steps.Effect{}, err
	}
	for name, note := range acts {
		if strings.HasPrefix(name, firmwareAct(act)) && note.Answered {
			return steps.Effect{Pending: true}, nil
		}
	}
	return steps.Effect{}, unreached
}
