package compute

// POST /servers: accept the build of a server.

import (
	"context"
	"crypto/rand"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// createServer commits the row in BUILD together with the operation that makes
// it true, and answers 202.
func (a *API) createServer(r *rest.Request) (*rest.Response, error) {
	asked, err := readCreate(r)
	if err != nil {
		return nil, err
	}
	flavor, err := a.flavorFor(r.Context(), r.Identity.ProjectID, asked.FlavorRef)
	if err != nil {
		return nil, err
	}
	server := newServer(r.Identity, asked, flavor)
	accepted, err := a.acceptBuild(r, server)
	if err != nil {
		return nil, err
	}
	a.offer(accepted)
	self := r.Link("servers", server.ID)
	return rest.JSON(map[string]any{"server": map[string]any{
		"id":                server.ID,
		"links":             selfLinks(r, "servers", server.ID),
		"OS-DCF:diskConfig": diskConfigManual,
		"security_groups":   []map[string]string{{"name": "default"}},
		"adminPass":         newPassword(),
	}}).WithHeader("Location", self), nil
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

func newServer(who rest.Identity, asked *createRequest, flavor *compute.Flavor) *compute.Server {
	id := uuid.NewString()
	return &compute.Server{
		ID:            id,
		ProjectID:     who.ProjectID,
		UserID:        who.UserID,
		Name:          asked.Name,
		Hostname:      hostname(asked.Name, id),
		Description:   asked.Description,
		Flavor:        *flavor,
		VCPUs:         flavor.VCPUs,
		MemoryMB:      flavor.MemoryMB,
		DiskGB:        flavor.DiskGB(),
		ImageID:       asked.ImageRef,
		Metadata:      asked.Metadata,
		ReservationID: newReservationID(),
		VMState:       servers.VMBuilding,
		TaskState:     servers.TaskScheduling,
	}
}

// acceptBuild is the promise: quota, row and operation in one transaction.
func (a *API) acceptBuild(r *rest.Request, server *compute.Server) (accepted engine.Accepted, err error) {
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		if err := compute.ChargeQuota(r.Context(), tx, server.ProjectID, server.Delta()); err != nil {
			return err
		}
		if err := compute.InsertServer(r.Context(), tx, server); err != nil {
			return err
		}
		accepted, err = a.accept(r, tx, operations.ServerBuild, server)
		return err
	})
	return accepted, err
}

// accept has the engine take an operation on a server that tx has locked.
func (a *API) accept(r *rest.Request, tx store.Tx, kind operations.Kind, server *compute.Server) (engine.Accepted, error) {
	return a.Engine.Accept(r.Context(), tx, engine.Request{
		Kind:       kind,
		ResourceID: server.ID,
		ProjectID:  server.ProjectID,
		UserID:     r.Identity.UserID,
		RequestID:  r.ID,
		Input:      struct{}{},
	})
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
