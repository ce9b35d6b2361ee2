package hosts

// Adopt: what hosts have and the database, restored from a backup, doesn't know.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Describer asks hosts what their guests were built from; hostlink.Reader is one.
type Describer interface {
	Describe(ctx context.Context, hostID, linkAddress, serverID string) (json.RawMessage, error)
}

// Adopted is what became of one server.
type Adopted struct {
	ServerID string `json:"server_id"`
	Host     string `json:"host,omitempty"`
	// Did is "adopted" (its row was made anew), "returned" (its row has its host
	// again), "caught up" (operations on it pass its host's fence again) or "left".
	Did string `json:"did"`
	// Reason says why it was left.
	Reason string `json:"reason,omitempty"`
}

// Adopt makes rows true of what hosts have, a transaction per server, and
// destroys nothing. What it can't do it says. Done twice it does nothing more.
func Adopt(ctx context.Context, db *store.DB, link Describer) ([]Adopted, error) {
	strangers, err := compute.Strangers(ctx, db.Pool)
	if err != nil {
		return nil, err
	}
	done := []Adopted{}
	for _, g := range strangers {
		a := Adopted{ServerID: g.ServerID, Host: g.HostName, Did: "left"}
		switch {
		case g.Deleted:
			a.Reason = "the server was deleted, so nobody owns the guest: remove it on the host"
		case g.Elsewhere != "":
			a.Reason = "the server is on another host, so this guest is a rest: remove it on the host"
		case g.Known:
			a.Did, err = "returned", giveBack(ctx, db, link, g)
		default:
			a.Did, err = "adopted", adopt(ctx, db, link, g)
		}
		if err != nil {
			a.Did, a.Reason, err = "left", faults.As(err).Message, nil
		}
		done = append(done, a)
	}
	var ids []string
	err = db.InTx(ctx, func(tx store.Tx) (err error) {
		ids, err = compute.CatchUp(ctx, tx)
		return err
	})
	for _, id := range ids {
		done = append(done, Adopted{ServerID: id, Did: "caught up"})
	}
	return done, err
}

// giveBack gives the server of a guest its host again. Only the host knows which
// parts of it the guest has, if it may have any.
func giveBack(ctx context.Context, db *store.DB, link Describer, g *compute.Stranger) error {
	server, err := compute.GetServer(ctx, db.Pool, "", g.ServerID)
	if err != nil {
		return err
	}
	if server.MayHaveParts() {
		spec, err := describe(ctx, link, g)
		if err != nil {
			return err
		}
		g.NUMA, g.Devices = spec.NUMA, spec.Devices
	}
	return db.InTx(ctx, func(tx store.Tx) error { return compute.ReturnServer(ctx, tx, g) })
}

// describe asks the host what the guest was built from.
func describe(ctx context.Context, link Describer, g *compute.Stranger) (spec steps.ServerSpec, err error) {
	text, err := link.Describe(ctx, g.HostID, g.LinkAddress, g.ServerID)
	if err != nil {
		return spec, err
	}
	if err := json.Unmarshal(text, &spec); err != nil || spec.ServerID != g.ServerID || spec.ProjectID == "" {
		return spec, faults.Wrap(err, faults.Invalid, "InvalidSpec", "the host doesn't know what the guest was built from")
	}
	return spec, nil
}

// adopt makes the row of a guest from what its host says it was built from.
func adopt(ctx context.Context, db *store.DB, link Describer, g *compute.Stranger) error {
	spec, err := describe(ctx, link, g)
	if err != nil {
		return err
	}
	g.NUMA, g.Devices = spec.NUMA, spec.Devices
	return db.InTx(ctx, func(tx store.Tx) error {
		return compute.AdoptServer(ctx, tx, serverOf(spec), portsOf(spec), devicesOf(spec), g)
	})
}

// serverOf is the server as it was built. Its description, metadata, tags and
// key are lost.
func serverOf(s steps.ServerSpec) *compute.Server {
	flavor := compute.Flavor{ID: s.Flavor, Name: s.Flavor, VCPUs: s.VCPUs, MemoryMB: int64(s.MemoryMB), RootGB: int64(s.RootGB),
		EphemeralGB: int64(s.EphemeralGB), SwapMB: int64(s.SwapMB), RXTXFactor: 1, ExtraSpecs: s.ExtraSpecs}
	return &compute.Server{
		ID: s.ServerID, ProjectID: s.ProjectID, UserID: s.UserID, Name: s.Name, Hostname: s.Hostname,
		Flavor: flavor, VCPUs: s.VCPUs, MemoryMB: int64(s.MemoryMB), DiskGB: flavor.DiskGB(),
		ImageID: s.ImageID, ImageProperties: s.ImageProperties, ConfigDrive: s.ConfigDrive,
	}
}

func portsOf(s steps.ServerSpec) []compute.ServerPort {
	ports := make([]compute.ServerPort, len(s.Ports))
	for i, p := range s.Ports {
		details, _ := json.Marshal(map[string]string{"bridge_name": p.Bridge}) // never fails
		ports[i] = compute.ServerPort{Ours: p.Ours && p.Network != "", NetworkID: p.Network, PortID: p.ID, Active: true,
			MAC: p.MAC, MTU: p.MTU, VIFType: p.VIFType, VIFDetails: details, VNICType: "normal"}
	}
	return ports
}

func devicesOf(s steps.ServerSpec) []compute.BlockDevice {
	devices := make([]compute.BlockDevice, len(s.Volumes))
	for i, v := range s.Volumes {
		source := "volume"
		if v.Ours {
			source = "blank"
		}
		devices[i] = compute.BlockDevice{SourceType: source, DestinationType: "volume", VolumeID: v.ID, AttachmentID: v.AttachmentID,
			DiskBus: v.Bus, DeviceName: servers.DevicePath(v.Device), DeleteOnTermination: v.DeleteOnTermination}
		if v.Boot {
			devices[i].BootIndex = new(int)
		}
	}
	return devices
}
