package hosts

// Bridges on hosts, joined with those of the machine.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"holdfast.dev/dev/netns"
)

// joinEvery is how long a guest's network may stay alone on its host.
const joinEvery = 500 * time.Millisecond

// join keeps bridges joined until ctx ends.
func (h *Hosts) join(ctx context.Context) {
	tick := time.NewTicker(joinEvery)
	defer tick.Stop()
	said := map[string]string{}
	for {
		for _, host := range h.All {
			err := h.joinHost(ctx, host)
			text := fmt.Sprint(err)
			if err != nil && ctx.Err() == nil && said[host.Name] != text {
				h.Say(fmt.Errorf("the networks of host %s: %w", host.Name, err))
			}
			said[host.Name] = text
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// link is a device as iproute2 shows it.
type link struct {
	Name   string `json:"ifname"`
	Master string `json:"master"`
	MTU    int    `json:"mtu"`
	Info   struct {
		Kind string `json:"info_kind"`
	} `json:"linkinfo"`
}

// peerName is what the veth to a bridge is called at both ends: after host and bridge.
func (h *Hosts) peerName(host *Host, bridge string) string {
	sum := sha256.Sum256([]byte(h.cloud + host.Name + bridge))
	return "hfj" + hex.EncodeToString(sum[:5])
}

// joinHost joins the host's bridges that have a guest with the machine's of the
// same name, and parts those that have none any more.
func (h *Hosts) joinHost(ctx context.Context, host *Host) error {
	links, err := linksOf(ctx, host.Namespace)
	if err != nil {
		return err
	}
	var all error
	for _, bridge := range links {
		if bridge.Info.Kind != "bridge" {
			continue
		}
		peer, guests, joined := h.peerName(host, bridge.Name), 0, false
		for _, port := range links {
			switch {
			case port.Master != bridge.Name:
			case port.Name == peer:
				joined = true
			default:
				guests++
			}
		}
		switch {
		case guests > 0 && !joined && hasDevice(bridge.Name):
			all = errors.Join(all, joinBridge(ctx, host, bridge, peer))
		case guests == 0 && joined:
			all = errors.Join(all, netns.IP(ctx, "-n", host.Namespace, "link", "delete", peer))
		}
	}
	return all
}

func joinBridge(ctx context.Context, host *Host, bridge link, peer string) error {
	if hasDevice(peer) {
		// Of a join that was killed half-way.
		if err := ips(ctx, "link delete "+peer); err != nil {
			return err
		}
	}
	mtu := strconv.Itoa(bridge.MTU)
	return ips(ctx,
		"link add "+peer+" mtu "+mtu+" type veth peer name "+peer+" mtu "+mtu+" netns "+host.Namespace,
		"link set "+peer+" addrgenmode none",
		"link set "+peer+" master "+bridge.Name+" up",
		"-n "+host.Namespace+" link set "+peer+" master "+bridge.Name+" up",
	)
}

// part takes all bridges apart.
func (h *Hosts) part(ctx context.Context) error {
	var all error
	for _, host := range h.All {
		links, err := linksOf(ctx, host.Namespace)
		all = errors.Join(all, err)
		for _, l := range links {
			if l.Master != "" && l.Name == h.peerName(host, l.Master) {
				all = errors.Join(all, netns.IP(ctx, "-n", host.Namespace, "link", "delete", l.Name))
			}
		}
	}
	return all
}

func linksOf(ctx context.Context, namespace string) (links []link, err error) {
	out, err := exec.CommandContext(ctx, "ip", "-n", namespace, "-json", "-details", "link", "show").Output()
	if err == nil {
		err = json.Unmarshal(out, &links)
	}
	if err != nil {
		return nil, fmt.Errorf("ip link show in %s: %w", namespace, err)
	}
	return links, nil
}
