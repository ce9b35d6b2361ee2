package compute

// POST /servers: accept the build of a server.

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// createServer commits rows in BUILD together with the operations that make
// them true, and answers 202. Everything that other services know is asked
// before; what they say may have changed when the build comes to it.
func (a *API) createServer(r *rest.Request) (*rest.Response, error) {
	asked, err := readCreate(r)
	if err != nil {
		return nil, err
	}
	build, err := a.planBuild(r, asked)
	if err != nil {
		return nil, err
	}
	accepted, err := a.acceptBuilds(r, build)
	if err != nil {
		return nil, err
	}
	for _, operation := range accepted {
		a.offer(operation)
	}
	return build.answer(r), nil
}

// build is everything that is written for a request.
type build struct {
	asked    *createRequest
	flavor   *compute.Flavor
	servers  []*compute.Server // the first, until the quota has said how many
	ports    []compute.ServerPort
	devices  []compute.BlockDevice
	boot     compute.BootData
	hints    scheduler.Hints
	password string
	// properties are the image's, reservation is what several are found by.
	properties  map[string]string
	reservation string
}

// planBuild resolves what the request names, and asks the services beside.
func (a *API) planBuild(r *rest.Request, asked *createRequest) (*build, error) {
	b := &build{asked: asked, password: asked.AdminPass}
	var err error
	if b.flavor, err = a.flavorFor(r.Context(), r.Identity.ProjectID, string(asked.FlavorRef)); err != nil {
		return nil, err
	}
	if b.password == "" {
		b.password = newPassword()
	}
	if b.boot, err = asked.bootData(b.password); err != nil {
		return nil, err
	}
	if err := a.giveKey(r, b); err != nil {
		return nil, err
	}
	if err := a.checkPlacement(r.Context(), asked); err != nil {
		return nil, err
	}
	if b.hints, err = scheduler.ReadHints(asked.hints); err != nil {
		return nil, err
	}
	if b.devices, err = readDevices(r, asked); err != nil {
		return nil, err
	}
	image, err := a.imageOf(r, asked, rootVolume(b.devices))
	if err != nil {
		return nil, err
	}
	if err := checkNames(asked, b.devices); err != nil {
		return nil, err
	}
	if asked.ImageRef != "" {
		if b.devices, err = describedDevices(image, b.devices); err != nil {
			return nil, err
		}
	}
	if b.properties, err = checkImage(r, asked, image, b.flavor, rootVolume(b.devices)); err != nil {
		return nil, err
	}
	if err := a.canHave(b.flavor, b.properties); err != nil {
		return nil, err
	}
	if err := a.checkDevices(r, b); err != nil {
		return nil, err
	}
	if b.ports, err = a.ports(r, asked); err != nil {
		return nil, err
	}
	b.reservation = newReservationID()
	b.servers = []*compute.Server{newServer(r.Identity, b, 0)}
	return b, compute.NameDevices(b.servers[0], b.devices)
}

// giveKey finds the caller's keypair.
func (a *API) giveKey(r *rest.Request, b *build) error {
	if b.asked.KeyName == nil {
		return nil
	}
	key, err := a.keypairOf(r, *b.asked.KeyName)
	if err != nil {
		return err
	}
	b.boot.KeyName, b.boot.KeyType, b.boot.KeyData = key.Name, key.Type, key.PublicKey
	return nil
}

// keypairOf is the caller's keypair that a body names.
func (a *API) keypairOf(r *rest.Request, name string) (*compute.Keypair, error) {
	key, err := compute.GetKeypair(r.Context(), a.DB.Pool, r.Identity.UserID, name)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.Invalid, "KeypairNotFound", "Invalid key_name provided.")
	}
	return key, err
}

// checkPlacement refuses zones and hosts that aren't there.
func (a *API) checkPlacement(ctx context.Context, asked *createRequest) error {
	if host := cmp.Or(asked.placement.Host, asked.placement.Node); host != "" || asked.Zone == "" {
		return isHost(ctx, a.DB.Pool, host)
	}
	return isZone(ctx, a.DB.Pool, asked.Zone)
}

// isZone refuses a zone without a host that takes servers.
func isZone(ctx context.Context, q store.Queryer, zone string) error {
	available, err := compute.HasZone(ctx, q, zone)
	if err == nil && !available {
		err = faults.New(faults.Invalid, "InvalidRequest", "The requested availability zone is not available")
	}
	return err
}

// answer shows the first of the servers, or the reservation alone.
func (b *build) answer(r *rest.Request) *rest.Response {
	server := b.servers[0]
	if b.asked.ReservationAlone {
		return rest.JSON(map[string]any{"reservation_id": server.ReservationID})
	}
	groups := []map[string]string{}
	for _, name := range b.asked.groupNames() {
		groups = append(groups, map[string]string{"name": name})
	}
	return rest.JSON(map[string]any{"server": map[string]any{
		"id":                server.ID,
		"links":             selfLinks(r, "servers", server.ID),
		"OS-DCF:diskConfig": server.DiskConfig,
		"security_groups":   groups,
		"adminPass":         b.password,
	}}).WithHeader("Location", r.Link("servers", server.ID))
}

// flavorFor looks up what the request's flavorRef names; here its absence is
// the request's fault, 400 and not 404.
func (a *API) flavorFor(ctx context.Context, projectID, id string) (*compute.Flavor, error) {
	flavor, err := compute.GetFlavor(ctx, a.DB.Pool, projectID, id)
	if err == nil && flavor.Disabled || faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.Invalid, "FlavorNotFound", "Flavor %s could not be found.", id)
	}
	return flavor, err
}

// newServer is the row of the request's server number index. Of several, each
// name tells which it is.
func newServer(who rest.Identity, b *build, index int) *compute.Server {
	id, asked := uuid.NewString(), b.asked
	name := asked.Name
	if asked.count.most > 1 {
		name = fmt.Sprintf("%s-%d", name, index+1)
	}
	host := asked.Hostname
	if host == "" {
		host = hostname(name, id)
	}
	server := &compute.Server{
		ID:                  id,
		ProjectID:           who.ProjectID,
		UserID:              who.UserID,
		Name:                name,
		Hostname:            host,
		Description:         asked.Description,
		Flavor:              *b.flavor,
		VCPUs:               b.flavor.VCPUs,
		MemoryMB:            b.flavor.MemoryMB,
		DiskGB:              b.flavor.DiskGB(),
		ImageID:             string(asked.ImageRef),
		ImageProperties:     b.properties,
		ReservationID:       b.reservation,
		Metadata:            asked.Metadata,
		SystemMetadata:      map[string]string{},
		KeyName:             asked.KeyName,
		ConfigDrive:         bool(asked.ConfigDrive),
		DiskConfig:          asked.DiskConfig,
		TrustedCertificates: asked.Certificates,
		AvailabilityZone:    asked.Zone,
		Placement:           asked.placement,
		LaunchIndex:         index,
		AccessIPv4:          asked.AccessIPv4,
		AccessIPv6:          asked.AccessIPv6,
		VMState:             servers.VMBuilding,
		TaskState:           servers.TaskScheduling,
	}
	if bootsFromVolume(b.devices) {
		// The root disk is Cinder's and takes no room on the host.
		server.DiskGB -= b.flavor.RootGB
	}
	return server
}

// acceptBuilds is the promise: quota, rows and operations in one transaction.
// As many servers are made as the quota has room for, if at least as many as
// were asked for.
func (a *API) acceptBuilds(r *rest.Request, b *build) (accepted []engine.Accepted, err error) {
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		limits, err := compute.Limits(r.Context(), tx, r.Identity.ProjectID)
		if err != nil {
			return err
		}
		if err := fewEnough(b.asked.Metadata, limits["metadata_items"]); err != nil {
			return err
		}
		if err := b.asked.checkFiles(limits); err != nil {
			return err
		}
		n, err := compute.ChargeServers(r.Context(), tx, r.Identity.ProjectID, r.Identity.UserID, b.servers[0].Delta(), b.asked.count.least, b.asked.count.most)
		if err != nil {
			return err
		}
		for i := len(b.servers); i < n; i++ {
			b.servers = append(b.servers, newServer(r.Identity, b, i))
		}
		b.servers, accepted = b.servers[:n], nil
		if err := compute.InsertServers(r.Context(), tx, b.servers); err != nil {
			return err
		}
		if err := joinGroup(r, tx, b, limits["server_group_members"]); err != nil {
			return err
		}
		for _, server := range b.servers {
			if err := a.insertParts(r.Context(), tx, server.ID, b); err != nil {
				return err
			}
			request := operationRequest(r, operations.ServerBuild, server, nil)
			request.New = true
			operation, err := a.Engine.Accept(r.Context(), tx, request)
			if err != nil {
				return err
			}
			accepted = append(accepted, operation)
		}
		return nil
	})
	return accepted, err
}

// joinGroup makes the servers members of the group that the hint names.
func joinGroup(r *rest.Request, tx store.Tx, b *build, most int64) error {
	if b.hints.Group == "" {
		return nil
	}
	group, err := compute.LockServerGroup(r.Context(), tx, b.hints.Group)
	if faults.Is(err, faults.NotFound) || err == nil && group.ProjectID != r.Identity.ProjectID && !r.Identity.IsAdmin {
		return faults.New(faults.Invalid, "InstanceGroupNotFound", "Instance group %s could not be found.", b.hints.Group)
	}
	if err != nil {
		return err
	}
	ids := make([]string, len(b.servers))
	for i, server := range b.servers {
		ids[i] = server.ID
	}
	return compute.JoinServerGroup(r.Context(), tx, group, most, ids...)
}

// insertParts writes what a server's request asks for beside its row.
func (a *API) insertParts(ctx context.Context, tx store.Tx, serverID string, b *build) error {
	if err := compute.InsertServerPorts(ctx, tx, serverID, b.ports); err != nil {
		return err
	}
	if err := compute.InsertBlockDevices(ctx, tx, serverID, b.devices); err != nil {
		return err
	}
	if err := compute.InsertBootData(ctx, tx, a.Secrets, serverID, b.boot); err != nil {
		return err
	}
	if len(b.asked.Tags) == 0 {
		return nil
	}
	return compute.SetTags(ctx, tx, serverID, b.asked.tags())
}

// accept has the engine take an operation on a server that tx has locked. Input
// is what the request asked for beyond that, without secrets; nil is nothing.
// Effects are what the request has had already (engine.Request.Effects).
func (a *API) accept(r *rest.Request, tx store.Tx, kind operations.Kind, server *compute.Server, input any, effects ...operations.Effect) (engine.Accepted, error) {
	return a.Engine.Accept(r.Context(), tx, operationRequest(r, kind, server, input, effects...))
}

func operationRequest(r *rest.Request, kind operations.Kind, server *compute.Server, input any, effects ...operations.Effect) engine.Request {
	return engine.Request{
		Kind:       kind,
		ResourceID: server.ID,
		ProjectID:  server.ProjectID,
		UserID:     r.Identity.UserID,
		RequestID:  r.ID,
		Input:      input,
		Effects:    effects,
	}
}

// Alphabets of generated words, without letters that are taken for others.
const (
	digits   = "23456789"
	capitals = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	smalls   = "abcdefghijkmnopqrstuvwxyz"
)

// newPassword is the adminPass that the answer has: 12 characters, one at least
// of each alphabet. It is kept nowhere.
func newPassword() string {
	word := []byte{pick(digits), pick(capitals), pick(smalls)}
	for len(word) < 12 {
		word = append(word, pick(digits+capitals+smalls))
	}
	for i := range word {
		j := i + below(len(word)-i)
		word[i], word[j] = word[j], word[i]
	}
	return string(word)
}

// newReservationID is "r-" and 8 characters, as the original's.
func newReservationID() string {
	word := []byte("r-")
	for range 8 {
		word = append(word, pick("abcdefghijklmnopqrstuvwxyz0123456789"))
	}
	return string(word)
}

func pick(alphabet string) byte { return alphabet[below(len(alphabet))] }

// below is a random number from 0 to n-1, n at most 256; bytes that would favour
// some of them are thrown again.
func below(n int) int {
	var b [1]byte
	for {
		_, _ = rand.Read(b[:]) // it never returns an error
		if i := int(b[0]); i < 256-256%n {
			return i % n
		}
	}
}
