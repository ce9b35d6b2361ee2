package stacks

// Snapshots: what is kept of a resource, and what a stack is to be that is made of
// that again.

import (
	"fmt"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/orchestration"
)

// Keys of what types keep of the copies of resources: the image of a server, the
// backup of a volume.
const (
	SnapshotImage  = "snapshot_image_id"
	SnapshotBackup = "backup_id"
)

// Kept is what is kept sealed of a resource in a snapshot.
type Kept struct {
	// Data is what its type kept of the resource, Copy what it keeps of the copy.
	Data, Copy *value.Map
}

// OpenKept reads what a row keeps.
func OpenKept(r *orchestration.ResourceSnapshot, box *secrets.Box) (*Kept, error) {
	k := &Kept{Data: &value.Map{}, Copy: &value.Map{}}
	text, err := box.Open(r.State, keptOf(r))
	if err != nil {
		return nil, fmt.Errorf("snapshot of resource %s: %w", r.Name, err)
	}
	m, err := mapping(string(text))
	if err != nil {
		return nil, fmt.Errorf("snapshot of resource %s: %w", r.Name, err)
	}
	for key, into := range map[string]**value.Map{"data": &k.Data, "copy": &k.Copy} {
		if part, _ := m.Get(key); part != nil {
			of, ok := part.(*value.Map)
			if !ok {
				return nil, fmt.Errorf("snapshot of resource %s: its %s is %s", r.Name, key, value.TypeName(part))
			}
			*into = of
		}
	}
	return k, nil
}

// Seal writes it to its row.
func (k *Kept) Seal(r *orchestration.ResourceSnapshot, box *secrets.Box) error {
	text, err := value.NewMap("data", k.Data, "copy", k.Copy).MarshalJSON()
	if err != nil {
		return fmt.Errorf("snapshot of resource %s: %w", r.Name, err)
	}
	r.State = box.Seal(text, keptOf(r))
	return nil
}

// All is what users see of it.
func (k *Kept) All() *value.Map {
	all := k.Data.Copy()
	for i := range k.Copy.Len() {
		all.Set(k.Copy.At(i))
	}
	return all
}

// keptOf is the place that it is sealed for.
func keptOf(r *orchestration.ResourceSnapshot) string {
	return fmt.Sprintf("snapshot/%s/resource/%s", r.SnapshotID, r.Name)
}

// restoration says how a resource of a type is made of its copy: by a property that
// is what is kept under a key, without those that say what else it is made of.
type restoration struct {
	key, property string
	without       []any
}

var restorations = map[string]restoration{
	"OS::Nova::Server":   {SnapshotImage, "image", nil},
	"OS::Cinder::Volume": {SnapshotBackup, "backup_id", []any{"image", "imageRef", "source_volid", "snapshot_id"}},
}

// Restored is what a stack is to be by the definition that a snapshot has and by the
// what it keeps of resources, by their names. Errors: Invalid.
func (d *Definition) Restored(who hot.Identity, kept map[string]*Kept) (*Definition, error) {
	section, key := d.section("resources", "Resources"), d.section("properties", "Properties")
	all := part(d.Template.Body(), section)
	for _, r := range d.Resources() {
		t, err := d.TypeOf(r)
		if err != nil {
			return nil, err
		}
		how, is := restorations[t.Name]
		if !is || kept[r.Name] == nil {
			continue
		}
		id, made := kept[r.Name].Copy.Get(how.key)
		if !made {
			continue
		}
		def := part(all, r.Name)
		properties := part(def, key).Without(how.without...)
		properties.Set(how.property, id)
		def.Set(key, properties)
		all.Set(r.Name, def)
	}
	body := d.Template.Body().Copy()
	body.Set(section, all)
	t, err := hot.New(body)
	if err != nil {
		return nil, err
	}
	made, err := define(t, d.Environment, hot.Surroundings{Files: d.Files, Facade: d.facade}, who, d.Types, d.family.fetch)
	if err != nil {
		return nil, err
	}
	made.Depth, made.filesID = d.Depth, d.filesID
	return made, nil
}

// part is a copy of a map in another, to be changed; one that isn't there is empty.
func part(of *value.Map, key string) *value.Map {
	v, _ := of.Get(key)
	if m, is := v.(*value.Map); is {
		return m.Copy()
	}
	return &value.Map{}
}
