package boot

// The activities: what a ramdisk is booted from is made, and the node told to start from
// it; and both are taken back.

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast.dev/activities/bmc"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/netguard"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Options are what a conductor does by configuration.
type Options struct {
	// Conductor is who it is.
	Conductor string
	// Dir is where its files are, URL where BMCs and machines read them.
	Dir, URL string
	// Loaders is a folder of boot loaders for machines that are booted by the network, and
	// ByTFTP says whether anything is served by TFTP; empty is none.
	Loaders string
	ByTFTP  bool
	// API is where ramdisks find the bare metal API.
	API string
	// Usual is what nodes are booted from that don't say it themselves.
	Usual nodes.BootDefaults
	// InspectionParams is what a kernel is told beside where what is found is told.
	InspectionParams []string
	// Networks are those that kernels and ramdisks are read from; none is every one
	// but the machine's own and link-local ones.
	Networks []netip.Prefix
	// Glance has images, in the service user's name.
	Glance Glance
}

// Glance has images of nodes, and of what nodes are booted from (internal/openstack).
type Glance interface {
	ImageFile(ctx context.Context, imageID string) (openstack.ImageFile, error)
	LentImageFile(ctx context.Context, imageID string) (openstack.ImageFile, error)
}

// Drives are the drives of nodes, and what they start from, by their BMCs (activities/bmc).
type Drives interface {
	Insert(ctx context.Context, fence steps.Fence, image string) error
	Eject(ctx context.Context, fence steps.Fence, then bmc.BootFrom) error
	StartFrom(ctx context.Context, fence steps.Fence, from bmc.BootFrom) error
	PutBack(ctx context.Context, id string, due func() (due, off bool, err error)) (provision.Power, error)
}

// Activities implements steps.BootActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	box    *secrets.Box
	drives Drives
	guard  netguard.Policy
	images *images.Download
	since  time.Time // when the process has begun, or a little before: the clock that dates files lags
	Options
}

var _ steps.BootActivities = (*Activities)(nil)

// fileLag is more than the dates of files lag behind.
const fileLag = 100 * time.Millisecond

// New makes the activities.
func New(db *store.DB, e *engine.Engine, box *secrets.Box, drives Drives, o Options) *Activities {
	guard := netguard.Policy{Use: "boot image", Redirects: 3, MaxBody: maxPart, Timeout: fetchTime}.Within(o.Networks)
	return &Activities{db: db, engine: e, box: box, drives: drives, guard: guard, images: images.NewDownload(serveTime), since: time.Now().Add(-fileLag), Options: o}
}

// Ramdisk is idempotent by the node's row of files: the operation's own file and
// token are kept, and what is in the drive already stays. Errors: as in
// steps.BootActivities.
func (a *Activities) Ramdisk(ctx context.Context, in steps.BootRamdiskIn) (struct{}, error) {
	n, err := baremetal.HeldNode(ctx, a.db.Pool, a.engine, in.Fence)
	if err != nil || nodes.BootInterface(n) == nodes.BootFake {
		return struct{}{}, err
	}
	if err := nodes.MayBoot(n); err != nil {
		return struct{}{}, err
	}
	way, network := nodes.NetbootOf(n)
	switch {
	case a.URL == "" || a.API == "":
		return struct{}{}, faults.New(faults.Invalid, "InvalidParameterValue", "the conductor serves no boot images: conductor.boot_url and conductor.callback_url say where it would")
	case network && !way.IPXE && !way.HTTP && !a.ByTFTP:
		return struct{}{}, faults.New(faults.Invalid, "InvalidParameterValue", "the conductor serves nothing by TFTP: conductor.tftp_listen says where it would")
	}
	info, err := nodes.DriverInfo(a.box, n)
	if err != nil {
		return struct{}{}, err
	}
	mode := nodes.RamdiskDeploy
	if in.Rescue {
		mode = nodes.RamdiskRescue
	}
	image, err := info.Boot(mode, a.Usual)
	if err != nil {
		return struct{}{}, err
	}
	if network {
		return struct{}{}, a.byNetwork(ctx, in, n, way, image)
	}
	return struct{}{}, a.byMedium(ctx, in, n, image)
}

// byMedium has a node start from a medium in its drive.
func (a *Activities) byMedium(ctx context.Context, in steps.BootRamdiskIn, n *baremetal.Node, image nodes.BootImage) error {
	name, token, err := a.expect(ctx, in.Fence, n.UUID, nodes.MediumSuffix, image.ISO == "")
	if err != nil {
		return err
	}
	if image.ISO != "" {
		return a.drives.Insert(ctx, in.Fence, image.ISO)
	}
	told := slices.Concat(image.Append, []string{"boot_method=vmedia"}, a.told(in), []string{"ipa-agent-token=" + token})
	if err := a.make(ctx, name, image, func(work string) (string, error) { return medium(work, told) }); err != nil {
		return err
	}
	return a.drives.Insert(ctx, in.Fence, nodes.ServedAt(a.URL, name))
}

// byNetwork has a node start from what its boot loader finds in the network. Whoever is
// there may read it, so it has no token: the ramdisk asks for its own.
func (a *Activities) byNetwork(ctx context.Context, in steps.BootRamdiskIn, n *baremetal.Node, way nodes.Netboot, image nodes.BootImage) error {
	name, _, err := a.expect(ctx, in.Fence, n.UUID, nodes.NetbootSuffix, false)
	if err != nil {
		return err
	}
	told := slices.Concat([]string{"selinux=0", "troubleshoot=0", "text"}, image.Append, a.told(in))
	err = a.make(ctx, name, image, func(work string) (string, error) { return work, a.writeConfigs(work, name, way, told) })
	if err != nil {
		return err
	}
	return a.drives.StartFrom(ctx, in.Fence, bmc.OnceFromNetwork)
}

// Clear is idempotent: what is gone already is success. Errors: as in
// steps.BootActivities.
func (a *Activities) Clear(ctx context.Context, in steps.BootClearIn) (struct{}, error) {
	n, err := baremetal.HeldNode(ctx, a.db.Pool, a.engine, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	file, err := baremetal.BootFileOf(ctx, a.db.Pool, n.UUID)
	if err != nil {
		return struct{}{}, err
	}
	if err := a.takeBack(ctx, n, in); err != nil {
		return struct{}{}, err
	}
	if in.Runs {
		return struct{}{}, nil
	}
	err = a.write(ctx, in.Fence, func(tx store.Tx) error { return a.forget(ctx, tx, n.UUID, provision.Power(in.PowerState)) })
	if err != nil || file == nil {
		return struct{}{}, err
	}
	return struct{}{}, a.remove(file)
}

// takeBack has a node start from its disk, or as it would by itself.
func (a *Activities) takeBack(ctx context.Context, n *baremetal.Node, in steps.BootClearIn) error {
	then := bmc.AsUsual
	if in.Disk {
		then = bmc.FromDisk
	}
	switch _, network := nodes.NetbootOf(n); {
	case network:
		return a.drives.StartFrom(ctx, in.Fence, then)
	case nodes.BootInterface(n) == nodes.BootVirtualMedia:
		return a.drives.Eject(ctx, in.Fence, then)
	}
	return nil
}

// forget says that a node is booted from no file, that nothing is known of a ramdisk,
// and which power the node was found with; empty if that isn't known.
func (a *Activities) forget(ctx context.Context, tx store.Tx, id string, power provision.Power) error {
	n, err := baremetal.Nodes.Find(ctx, tx, id, false)
	if err != nil {
		return err
	}
	known, err := nodes.Expect(a.box, n, "")
	if err != nil {
		return err
	}
	if err := baremetal.DropBootFile(ctx, tx, id); err != nil {
		return err
	}
	if power != "" {
		if err := baremetal.SetPower(ctx, tx, id, power); err != nil {
			return err
		}
	}
	return baremetal.SetInternal(ctx, tx, id, known.Info, known.Secrets)
}

// Vacate is idempotent: what is gone already is success. Errors: as in
// steps.BootActivities.
func (a *Activities) Vacate(ctx context.Context, in steps.NodeIn) (struct{}, error) {
	_, id, _, _ := operations.ParseID(in.Fence.OperationID)
	return struct{}{}, a.write(ctx, in.Fence, func(tx store.Tx) error {
		n, err := baremetal.Nodes.Find(ctx, tx, id, false)
		if err != nil {
			return err
		}
		own, err := nodes.OwnSecrets(a.box, n)
		if err != nil {
			return err
		}
		return baremetal.Vacate(ctx, tx, n, own)
	})
}

// remove takes a file away; another conductor removes its own (server.go).
func (a *Activities) remove(file *baremetal.BootFile) error {
	if err := os.RemoveAll(filepath.Join(a.Dir, file.Name)); err != nil {
		return fmt.Errorf("remove a boot image: %w", err)
	}
	return nil
}

// write changes the database if the operation still has its node. Errors: Superseded.
func (a *Activities) write(ctx context.Context, fence steps.Fence, change func(store.Tx) error) error {
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.CheckFence(ctx, tx, fence); err != nil {
			return err
		}
		return change(tx)
	})
}

// expect says in the node's row that a new ramdisk is about to be booted, and from
// which file, whose name ends so; said before by the same operation, it stays so. The file
// of another conductor has another name, since either takes away what isn't its own any
// more. A ramdisk without a token asks for its own.
func (a *Activities) expect(ctx context.Context, fence steps.Fence, id, suffix string, withToken bool) (name, token string, err error) {
	err = a.write(ctx, fence, func(tx store.Tx) error {
		n, err := baremetal.Nodes.Find(ctx, tx, id, false)
		if err != nil {
			return err
		}
		file, err := baremetal.BootFileOf(ctx, tx, id)
		if err != nil {
			return err
		}
		if file != nil && file.OperationID == fence.OperationID {
			name = file.Name
			if token, err = nodes.Token(a.box, n); err != nil || file.Conductor == a.Conductor {
				return err
			}
		} else if token, err = a.expectNew(ctx, tx, n, withToken); err != nil {
			return err
		}
		name = strings.ToLower(rand.Text()) + suffix
		return baremetal.KeepBootFile(ctx, tx, baremetal.BootFile{NodeUUID: id, OperationID: fence.OperationID, Name: name, Conductor: a.Conductor, URL: a.URL})
	})
	return name, token, err
}

// expectNew says that a ramdisk is about to be booted, and that nothing is known of any.
func (a *Activities) expectNew(ctx context.Context, tx store.Tx, n *baremetal.Node, withToken bool) (token string, err error) {
	if withToken {
		if token, err = nodes.NewToken(); err != nil {
			return "", err
		}
	}
	known, err := nodes.Expect(a.box, n, token)
	if err != nil {
		return "", err
	}
	return token, baremetal.SetInternal(ctx, tx, n.UUID, known.Info, known.Secrets)
}

// told is what the ramdisk's kernel is told, however it is booted (contracts:
// agent-protocol.json, kernel_parameters).
func (a *Activities) told(in steps.BootRamdiskIn) []string {
	if !in.Inspect {
		return []string{"ipa-api-url=" + a.API}
	}
	api := strings.TrimSuffix(strings.TrimSuffix(a.API, "/"), "/v1")
	return slices.Concat(a.InspectionParams, []string{"ipa-inspection-callback-url=" + api + "/v1/continue_inspection"})
}
