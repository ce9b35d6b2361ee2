package bmc

// RAID: a machine's logical disks by Redfish, read and kept with the node, and made and
// deleted by steps.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/raid"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// ref is a link of Redfish's.
type ref struct {
	At string `json:"@odata.id"`
}

// volume is a logical disk that there is.
type volume struct {
	ref
	ID    string `json:"Id"`
	Name  string
	Bytes int64  `json:"CapacityBytes"`
	Type  string `json:"RAIDType"`
	Links struct{ Drives []ref }
}

// storage is one of a machine's, with its drives and volumes.
type storage struct {
	id, volumesAt string
	// when is when its volumes are made, of what it can.
	when   string
	drives []raid.Drive
	// at is where its drives are, by their ids.
	at      map[string]string
	volumes []volume
}

// storages are the machine's.
func (d *redfish) storages() (all []*storage, err error) {
	list, err := d.system.Storage()
	if err != nil {
		return nil, d.fault(err)
	}
	for _, s := range inOrder(list, func(s *rf.Storage) string { return s.ODataID }) {
		one, err := d.storage(s)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (d *redfish) storage(s *rf.Storage) (*storage, error) {
	var said struct {
		Volumes            ref
		StorageControllers []struct{ SupportedRAIDTypes []string }
	}
	if err := d.read(s.ODataID, &said); err != nil {
		return nil, err
	}
	one := &storage{id: s.ID, volumesAt: said.Volumes.At, at: map[string]string{}}
	if c := said.StorageControllers; len(c) == 0 || c[0].SupportedRAIDTypes == nil || len(c[0].SupportedRAIDTypes) > 0 {
		drives, err := s.Drives()
		if err != nil {
			return nil, d.fault(err)
		}
		for _, drive := range inOrder(drives, func(d *rf.Drive) string { return d.ODataID }) {
			one.drives = append(one.drives, raid.Drive{ID: drive.ID, Controller: s.ID, Bytes: drive.CapacityBytes, Media: string(drive.MediaType), Protocol: string(drive.Protocol)})
			one.at[drive.ID] = drive.ODataID
		}
	}
	if one.volumesAt == "" {
		return one, nil
	}
	var collection struct {
		Members []ref
		Support struct{ SupportedValues []string } `json:"@Redfish.OperationApplyTimeSupport"`
	}
	if err := d.read(one.volumesAt, &collection); err != nil {
		return nil, err
	}
	for _, when := range []string{"OnReset", "Immediate"} {
		if slices.Contains(collection.Support.SupportedValues, when) {
			one.when = when
		}
	}
	for _, member := range collection.Members[:min(len(collection.Members), most)] {
		var v volume
		if err := d.read(member.At, &v); err != nil {
			return nil, err
		}
		v.At = member.At
		one.volumes = append(one.volumes, v)
	}
	return one, nil
}

// has says whether a logical disk is there, of those that are nobody else's.
func (s *storage) has(wanted raid.Disk, taken map[string]bool) bool {
	var drives []string
	for _, id := range wanted.Drives {
		drives = append(drives, s.at[id])
	}
	slices.Sort(drives)
	for _, v := range s.volumes {
		var of []string
		for _, drive := range v.Links.Drives {
			of = append(of, drive.At)
		}
		slices.Sort(of)
		if !taken[v.At] && v.Type == raid.Redfish(wanted.Level) && slices.Equal(of, drives) && (wanted.Name == "" || wanted.Name == v.Name) {
			taken[v.At] = true
			return true
		}
	}
	return false
}

// createRAID makes the logical disks of the node's target that aren't there.
func createRAID(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	if len(s.node.TargetRAIDConfig) == 0 || string(s.node.TargetRAIDConfig) == `{}` {
		return steps.Effect{}, faults.New(faults.Invalid, "MissingParameterValue", "Node %s has no target RAID configuration.", s.node.UUID)
	}
	return s.makeRAID(ctx, c, s.node.TargetRAIDConfig, true)
}

// applyRAID makes those that it is told, which are the node's target from then on.
func applyRAID(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	target, err := json.Marshal(c.args["raid_config"])
	if err == nil {
		_, err = raid.Read(target)
	}
	if err == nil {
		err = s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.SetTargetRAID(ctx, tx, s.node.UUID, target) })
	}
	if err != nil {
		return steps.Effect{}, err
	}
	return s.makeRAID(ctx, c, target, false)
}

// deleteRAID deletes those that there are.
func deleteRAID(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	d, err := s.byRedfish("RAID")
	if err != nil {
		return steps.Effect{}, err
	}
	effect, err := s.empty(ctx, d, c)
	if err != nil || effect != (steps.Effect{}) {
		return effect, err
	}
	return effect, s.keepRAID(ctx, d)
}

// makeRAID makes a target; others says whether those are made that the instance doesn't
// start from, unless the step says it.
func (s *session) makeRAID(ctx context.Context, c cleaning, target json.RawMessage, others bool) (effect steps.Effect, err error) {
	root, deletes := true, false
	for name, to := range map[string]*bool{"create_root_volume": &root, "create_nonroot_volumes": &others, "delete_existing": &deletes} {
		if value := c.args[name]; value != nil {
			var ok bool
			if *to, ok = pyjson.Truth(value); !ok {
				return effect, faults.New(faults.Invalid, "InvalidParameterValue", "%s: true or false is expected", name)
			}
		}
	}
	wanted, err := raid.Read(target)
	if err != nil {
		return effect, err
	}
	d, err := s.byRedfish("RAID")
	if err != nil {
		return effect, err
	}
	if emptied := c.act + " emptied"; deletes && !s.acts[emptied].Answered {
		if effect, err = s.empty(ctx, d, c); err != nil || effect != (steps.Effect{}) {
			return effect, err
		}
		if err := errors.Join(s.note(ctx, emptied), s.answered(ctx, emptied)); err != nil {
			return effect, err
		}
	}
	all, err := d.storages()
	if err != nil {
		return effect, err
	}
	var drives []raid.Drive
	for _, st := range all {
		drives = append(drives, st.drives...)
	}
	made, err := raid.Plan(wanted, drives)
	if err != nil {
		return effect, err
	}
	made = slices.DeleteFunc(made, func(disk raid.Disk) bool { return disk.Root && !root || !disk.Root && !others })
	if effect, err = s.make(ctx, d, c, all, made); err != nil || effect != (steps.Effect{}) {
		return effect, err
	}
	return effect, s.keepRAID(ctx, d)
}

// make asks for the logical disks that aren't there; of each storage for one more only once
// the one before is.
func (s *session) make(ctx context.Context, d *redfish, c cleaning, all []*storage, wanted []raid.Disk) (effect steps.Effect, err error) {
	taken, busy := map[string]bool{}, map[string]bool{}
	for i, disk := range wanted {
		st := all[slices.IndexFunc(all, func(st *storage) bool { return st.id == disk.Controller })]
		if st.has(disk, taken) || busy[st.id] {
			continue
		}
		payload := map[string]any{"RAIDType": raid.Redfish(disk.Level)}
		var drives []ref
		for _, id := range disk.Drives {
			drives = append(drives, ref{st.at[id]})
		}
		payload["Links"] = map[string]any{"Drives": drives}
		if disk.Bytes > 0 {
			payload["CapacityBytes"] = disk.Bytes
		}
		if disk.Name != "" {
			payload["Name"] = disk.Name
		}
		if st.when != "" {
			payload["@Redfish.OperationApplyTime"] = st.when
		}
		one, err := s.ask(ctx, d, c, fmt.Sprintf("%s volume %d", c.act, i), func() (*http.Response, error) { return d.client.Post(st.volumesAt, payload) })
		if err != nil {
			return effect, err
		}
		busy[st.id] = one != steps.Effect{}
		effect.Restart, effect.Pending = effect.Restart || one.Restart, effect.Pending || one.Pending
	}
	return effect, nil
}

// empty has the machine's logical disks be deleted, as make has them be made.
func (s *session) empty(ctx context.Context, d *redfish, c cleaning) (effect steps.Effect, err error) {
	all, err := d.storages()
	if err != nil {
		return effect, err
	}
	for _, st := range all {
		for _, v := range st.volumes {
			if v.Type == "" {
				continue
			}
			one, err := s.ask(ctx, d, c, c.act+" delete "+v.At, func() (*http.Response, error) { return d.client.Delete(v.At) })
			if err != nil {
				return effect, err
			}
			effect.Restart, effect.Pending = effect.Restart || one.Restart, effect.Pending || one.Pending
			if one != (steps.Effect{}) {
				break
			}
		}
	}
	return effect, nil
}

// keepRAID makes the logical disks that there are the node's.
func (s *session) keepRAID(ctx context.Context, d *redfish) error {
	all, err := d.storages()
	if err != nil {
		return err
	}
	disks := []any{}
	for _, st := range all {
		for _, v := range st.volumes {
			if level := raid.Level(v.Type); level != "" {
				disks = append(disks, map[string]any{"id": bounded(v.ID), "name": bounded(v.Name), "controller": bounded(st.id), "size_gb": v.Bytes >> 30, "raid_level": level})
			}
		}
	}
	made := map[string]any{"logical_disks": disks}
	raid.Stamp(made)
	return s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.KeepRAID(ctx, tx, s.node.UUID, made) })
}
