package nodes

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// What bears a VIF: the best of what is free and on one of its physical networks.
func TestChoose(t *testing.T) {
	t.Parallel()
	port := func(id, group, physical string, boots bool, vif string) *baremetal.Port {
		p := &baremetal.Port{UUID: id, Address: id, PXEEnabled: boots, LocalLinkConnection: json.RawMessage(`{"switch_id": "s"}`), Extra: json.RawMessage(`{}`), InternalInfo: json.RawMessage(`{}`)}
		if group != "" {
			p.PortgroupUUID = &group
		}
		if physical != "" {
			p.PhysicalNetwork = &physical
		}
		if vif != "" {
			p.InternalInfo = json.RawMessage(`{"tenant_vif_port_id": "` + vif + `"}`)
		}
		return p
	}
	group := func(id, vif string) *baremetal.Portgroup {
		g := &baremetal.Portgroup{UUID: id, InternalInfo: json.RawMessage(`{}`)}
		if vif != "" {
			g.InternalInfo = json.RawMessage(`{"tenant_vif_port_id": "` + vif + `"}`)
		}
		return g
	}
	unwired := port("unwired", "", "", true, "")
	unwired.LocalLinkConnection = json.RawMessage(`{}`)
	band := port("band", "", "", true, "")
	band.LocalLinkConnection, band.Extra = json.RawMessage(`{}`), json.RawMessage(`{"client-id": "ff:00"}`)
	for name, c := range map[string]struct {
		ports    []*baremetal.Port
		groups   []*baremetal.Portgroup
		ask      steps.NodeCommandInput
		physical []string
		want     string
	}{
		"one that boots before one that doesn't":            {[]*baremetal.Port{port("slow", "", "", false, ""), port("boot", "", "", true, "")}, nil, steps.NodeCommandInput{}, nil, "boot"},
		"the first of two":                                  {[]*baremetal.Port{port("a", "", "", true, ""), port("b", "", "", true, "")}, nil, steps.NodeCommandInput{}, nil, "a"},
		"a group before a port":                             {[]*baremetal.Port{port("boot", "", "", true, ""), port("in", "g", "", false, "")}, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{}, nil, "g"},
		"its physical network before all":                   {[]*baremetal.Port{port("on", "", "p1", false, ""), port("in", "g", "", false, "")}, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{}, []string{"p1"}, "on"},
		"not another physical network":                      {[]*baremetal.Port{port("on", "", "p2", true, "")}, nil, steps.NodeCommandInput{}, []string{"p1"}, "NoFreePhysicalPorts"},
		"any for what is on none":                           {[]*baremetal.Port{port("on", "", "p2", true, "")}, nil, steps.NodeCommandInput{}, nil, "on"},
		"the other port of a group that one of them bears":  {[]*baremetal.Port{port("in", "g", "", false, "x"), port("too", "g", "", false, "")}, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{}, nil, "too"},
		"no port of a group that bears something":           {[]*baremetal.Port{port("in", "g", "", false, "")}, []*baremetal.Portgroup{group("g", "x")}, steps.NodeCommandInput{}, nil, "NoFreePhysicalPorts"},
		"no group without ports":                            {nil, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{}, nil, "NoFreePhysicalPorts"},
		"the port that is asked for":                        {[]*baremetal.Port{port("boot", "", "", true, ""), port("slow", "", "", false, "")}, nil, steps.NodeCommandInput{Port: "slow"}, nil, "slow"},
		"no port of a group that is asked for":              {[]*baremetal.Port{port("in", "g", "", false, "")}, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{Port: "in"}, nil, "NoFreePhysicalPorts"},
		"the group that is asked for":                       {[]*baremetal.Port{port("in", "g", "", false, ""), port("of", "h", "", false, "")}, []*baremetal.Portgroup{group("g", ""), group("h", "")}, steps.NodeCommandInput{Portgroup: "h"}, nil, "h"},
		"no port where a group is asked for":                {[]*baremetal.Port{port("boot", "", "", true, "")}, nil, steps.NodeCommandInput{Portgroup: "g"}, nil, "NoFreePhysicalPorts"},
		"what bears it already":                             {[]*baremetal.Port{port("boot", "", "", true, "vif"), port("b", "", "", true, "")}, nil, steps.NodeCommandInput{}, nil, "VifAlreadyAttached"},
		"none that is wired to nothing":                     {[]*baremetal.Port{unwired}, nil, steps.NodeCommandInput{}, nil, "NoFreePhysicalPorts"},
		"one of InfiniBand, which has no need of that":      {[]*baremetal.Port{band}, nil, steps.NodeCommandInput{}, nil, "band"},
		"a group whose ports are on several physical nets":  {[]*baremetal.Port{port("in", "g", "p1", false, ""), port("of", "g", "p2", false, "")}, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{}, nil, "PortgroupPhysnetInconsistent"},
		"a port that is free beside a group without a wire": {[]*baremetal.Port{port("free", "", "", false, "")}, []*baremetal.Portgroup{group("g", "")}, steps.NodeCommandInput{}, nil, "free"},
	} {
		neutron := NetworkNeutron
		w := &Wiring{Node: &baremetal.Node{UUID: "n", NetworkInterface: &neutron}, Ports: c.ports, Groups: c.groups}
		c.ask.VIF = "vif"
		got, err := w.Choose(c.ask, c.physical)
		is := ""
		if err != nil {
			is = faults.As(err).Code
		} else {
			is = got.UUID()
		}
		if is != c.want {
			t.Errorf("%s: %s, not %s", name, is, c.want)
		}
	}
}

// What a network interface has to have, and what a node says itself.
func TestNeededNetworks(t *testing.T) {
	t.Parallel()
	all := []steps.NodeNetwork{steps.NetworkCleaning, steps.NetworkProvisioning}
	for _, c := range []struct {
		name  string
		never bool
		usual Networks
		work  steps.NodeNetwork
		want  []steps.NodeNetwork
		code  string
	}{
		{NetworkNoop, true, Networks{}, steps.NetworkRescuing, nil, ""},
		{NetworkFlat, true, Networks{}, steps.NetworkRescuing, all[:1], ""},
		{NetworkNeutron, false, Networks{}, steps.NetworkNone, all, ""},
		{NetworkNeutron, false, Networks{}, steps.NetworkRescuing, []steps.NodeNetwork{steps.NetworkRescuing, all[0], all[1]}, ""},
		{NetworkNeutron, true, Networks{}, steps.NetworkNone, nil, "InvalidParameterValue"},
		{NetworkNeutron, true, Networks{NeverOff: true}, steps.NetworkNone, all, ""},
		{"ironic-networking", false, Networks{}, steps.NetworkNone, nil, "InvalidParameterValue"},
	} {
		got, err := NeededNetworks(&baremetal.Node{NetworkInterface: &c.name, DisablePowerOff: c.never}, c.usual, c.work)
		code := ""
		if err != nil {
			code = faults.As(err).Code
		}
		if len(got) != len(c.want) || code != c.code {
			t.Errorf("%+v: %v, %v", c, got, err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: %v", c, got)
			}
		}
	}
}
