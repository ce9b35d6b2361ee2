package orchestration

// /stacks/{stack_name}/{stack_id}/snapshots.

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// snapshotView is a snapshot as the API shows it.
type snapshotView struct {
	ID      string    `json:"id"`
	Name    *string   `json:"name"`
	Action  string    `json:"action"`
	Status  string    `json:"status"`
	Reason  *string   `json:"status_reason"`
	Data    *exported `json:"data"`
	Created string    `json:"creation_time"`
}

// snapshotViews are snapshots of a stack with all that they have.
func (a *API) snapshotViews(ctx context.Context, q store.Queryer, s *orchestration.Stack, snapshots ...*orchestration.Snapshot) ([]snapshotView, error) {
	ids, by := make([]string, len(snapshots)), make([]int64, len(snapshots))
	for i, n := range snapshots {
		ids[i], by[i] = n.ID, n.TemplateID
	}
	templates, err := orchestration.Templates(ctx, q, by)
	if err != nil {
		return nil, err
	}
	rows, err := orchestration.ResourceSnapshots(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	resources := map[string]map[string]any{}
	for _, row := range rows {
		kept, err := stacks.OpenKept(row, a.Secrets)
		if err != nil {
			return nil, err
		}
		if resources[row.SnapshotID] == nil {
			resources[row.SnapshotID] = map[string]any{}
		}
		resources[row.SnapshotID][row.Name] = exportedResource{Name: row.Name, PhysicalID: orNull(row.PhysicalID), Type: row.Type, Action: row.Action, Status: row.Status,
			Metadata: json.RawMessage(row.Metadata), Data: kept.All()}
	}
	views := []snapshotView{}
	for _, n := range snapshots {
		template := templates[n.TemplateID]
		d, err := stacks.Load(s, template, a.Secrets, a.Types)
		if err != nil {
			return nil, err
		}
		data := &exported{Name: s.Name, ID: s.ID, Action: orchestration.ActionSnapshot, Status: n.Status, Environment: d.Environment.User(), Files: json.RawMessage(template.Files),
			Template: json.RawMessage(template.Template), Resources: resources[n.ID], ProjectID: s.ProjectID, UserProject: s.UserProjectID}
		if data.Resources == nil {
			data.Resources = map[string]any{}
		}
		if len(n.Tags) > 0 {
			data.Tags = n.Tags
		}
		views = append(views, snapshotView{ID: n.ID, Name: n.Name, Action: n.Action, Status: n.Status, Reason: n.Reason, Data: data, Created: stamp(n.CreatedAt)})
	}
	return views, nil
}

// maxSnapshotName is how long the name of a snapshot may be.
const maxSnapshotName = 255

// snapshotName is the name that a body gives; nil is none.
func snapshotName(body *value.Map) (*string, error) {
	given, _ := body.Get("name")
	switch given.(type) {
	case nil:
		return nil, nil
	case *value.Map, []any:
		return nil, invalid("The name of a snapshot is a text.")
	}
	name := value.Str(given)
	if len([]rune(name)) > maxSnapshotName {
		return nil, invalid("The name of a snapshot has at most %d characters.", maxSnapshotName)
	}
	return &name, nil
}

// createSnapshot has a snapshot be taken of a stack with which nothing else is done.
func (a *API) createSnapshot(r *rest.Request) (*rest.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	name, err := snapshotName(body)
	if err != nil {
		return nil, err
	}
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	var views []snapshotView
	err = a.begin(r, s, func(tx store.Tx, locked *orchestration.Stack) (accepted engine.Accepted, err error) {
		if locked.Status == orchestration.InProgress {
			return accepted, inProgress(locked)
		}
		if err := a.admitSnapshot(r, tx, locked); err != nil {
			return accepted, err
		}
		n := &orchestration.Snapshot{ID: uuid.NewString(), StackID: s.ID, Name: name, TemplateID: locked.TemplateID, Tags: locked.Tags}
		if err := orchestration.InsertSnapshot(r.Context(), tx, n); err != nil {
			return accepted, err
		}
		if views, err = a.snapshotViews(r.Context(), tx, locked, n); err != nil {
			return accepted, err
		}
		return a.start(r, tx, locked, operations.StackSnapshot, steps.TraversalInput{Template: locked.TemplateID, Snapshot: n.ID}, orchestration.ActionSnapshot)
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(views[0]), nil
}

// admitSnapshot refuses one snapshot too many; administrators have no limit.
func (a *API) admitSnapshot(r *rest.Request, tx store.Tx, s *orchestration.Stack) error {
	if a.MaxSnapshots < 0 || r.Identity.IsAdmin {
		return nil
	}
	n, err := orchestration.CountSnapshots(r.Context(), tx, s.ID)
	if err == nil && n >= a.MaxSnapshots {
		err = limit("You have reached the maximum snapshots per stack, %d. Please delete some snapshots.", a.MaxSnapshots)
	}
	return err
}

func (a *API) listSnapshots(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	all, err := orchestration.Snapshots(r.Context(), a.DB.Pool, s.ID)
	if err != nil {
		return nil, err
	}
	views, err := a.snapshotViews(r.Context(), a.DB.Pool, s, all...)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"snapshots": views}), nil
}

func (a *API) showSnapshot(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	n, err := orchestration.GetSnapshot(r.Context(), a.DB.Pool, s, r.Param("snapshot_id"))
	if err != nil {
		return nil, err
	}
	views, err := a.snapshotViews(r.Context(), a.DB.Pool, s, n)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"snapshot": views[0]}), nil
}

// deleteSnapshot has a snapshot go, whatever is done with its stack but a restore from
// it.
func (a *API) deleteSnapshot(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	return nil, a.begin(r, s, func(tx store.Tx, locked *orchestration.Stack) (accepted engine.Accepted, err error) {
		n, err := orchestration.LockSnapshot(r.Context(), tx, locked, r.Param("snapshot_id"))
		if err != nil {
			return accepted, err
		}
		if n.Action == orchestration.ActionCreate && n.Status == orchestration.InProgress {
			return accepted, faults.New(faults.Invalid, "NotSupported", "Deleting in-progress snapshot is not supported.")
		}
		if err := a.unused(r, tx, locked, n); err != nil {
			return accepted, err
		}
		accepted, err = a.Engine.Accept(r.Context(), tx, engine.Request{Kind: operations.SnapshotDelete, ResourceID: n.ID, ProjectID: s.ProjectID,
			UserID: r.Identity.UserID, RequestID: r.ID, Input: steps.TraversalInput{Snapshot: n.ID}})
		if err != nil || accepted.Meeting == operations.Join {
			return accepted, err
		}
		return accepted, orchestration.StartSnapshotDelete(r.Context(), tx, n.ID)
	})
}

// unused refuses a snapshot of whose copies the stack is being made.
func (a *API) unused(r *rest.Request, tx store.Tx, s *orchestration.Stack, n *orchestration.Snapshot) error {
	if s.Action != orchestration.ActionRestore || s.Status != orchestration.InProgress {
		return nil
	}
	in, err := a.inputOf(r, tx, s)
	if err == nil && in.Snapshot == n.ID {
		err = inProgress(s)
	}
	return err
}

// restorable refuses a snapshot that isn't whole, or is being deleted.
func restorable(n *orchestration.Snapshot) error {
	if n.Status != orchestration.Complete {
		return faults.New(faults.Invalid, "NotSupported", "Restoring incomplete snapshot is not supported.")
	}
	return nil
}

// restoreSnapshot has a stack be what a snapshot has of it.
func (a *API) restoreSnapshot(r *rest.Request) (*rest.Response, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, err
	}
	n, err := orchestration.GetSnapshot(r.Context(), a.DB.Pool, s, r.Param("snapshot_id"))
	if err == nil {
		err = restorable(n)
	}
	if err != nil {
		return nil, err
	}
	next, err := a.restored(r.Context(), s, n)
	if err != nil {
		return nil, err
	}
	if err := a.mayUseAll(r, next); err != nil {
		return nil, err
	}
	template, err := next.Row(s.ID, a.Secrets)
	if err != nil {
		return nil, err
	}
	err = a.beginTrusted(r, s, next.Outside(), func(tx store.Tx, locked *orchestration.Stack) (accepted engine.Accepted, err error) {
		// It may have been deleted meanwhile.
		if n, err = orchestration.LockSnapshot(r.Context(), tx, locked, n.ID); err == nil {
			err = restorable(n)
		}
		if err != nil {
			return accepted, err
		}
		before := locked.TemplateID
		locked.Description, locked.Size = descriptionOf(next), len(next.Resources())
		if err := orchestration.PutUpdate(r.Context(), tx, locked, template); err != nil {
			return accepted, err
		}
		return a.start(r, tx, locked, operations.StackRestore, steps.TraversalInput{Template: template.ID, Previous: before, Snapshot: n.ID}, orchestration.ActionRestore)
	})
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusAccepted, Body: accepted202}, nil
}

// restored is what a stack is to be by a snapshot.
func (a *API) restored(ctx context.Context, s *orchestration.Stack, n *orchestration.Snapshot) (*stacks.Definition, error) {
	template, err := orchestration.GetTemplate(ctx, a.DB.Pool, n.TemplateID)
	if err != nil {
		return nil, err
	}
	d, err := stacks.Load(s, template, a.Secrets, a.Types)
	if err != nil {
		return nil, err
	}
	rows, err := orchestration.ResourceSnapshots(ctx, a.DB.Pool, []string{n.ID})
	if err != nil {
		return nil, err
	}
	kept := map[string]*stacks.Kept{}
	for _, row := range rows {
		if kept[row.Name], err = stacks.OpenKept(row, a.Secrets); err != nil {
			return nil, err
		}
	}
	return d.Restored(hot.Identity{Project: s.ProjectID, Name: s.Name, ID: s.ID}, kept)
}
