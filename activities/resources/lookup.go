package resources

// Names of what there is, made ids: properties may name things by either.

import (
	"context"
	"net/url"
	"regexp"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// kind is a kind of things that properties name.
type kind struct {
	service string
	// path lists them, filtered by their name; in is the key of the list.
	path, in string
	// named says that a list can be asked for a name.
	named bool
	// missing is what is said of a name that nothing has.
	missing string
	// anyID says that an id can't be told from a name by its look.
	anyID bool
}

func neutron(what, path, in string) kind {
	return kind{service: "network", path: path, in: in, named: true, missing: "Unable to find " + what + " with name or id '%s'"}
}

func entity(service, what, path, in string, named, anyID bool) kind {
	return kind{service: service, path: path, in: in, named: named, anyID: anyID, missing: "The " + what + " (%s) could not be found."}
}

// kinds are those that names are looked up of, by the names of the constraints
// that properties have.
var kinds = map[string]kind{
	"neutron.network":        neutron("network", "networks", "networks"),
	"neutron.subnet":         neutron("subnet", "subnets", "subnets"),
	"neutron.port":           neutron("port", "ports", "ports"),
	"neutron.router":         neutron("router", "routers", "routers"),
	"neutron.security_group": neutron("security_group", "security-groups", "security_groups"),
	"neutron.address_scope":  neutron("address_scope", "address-scopes", "address_scopes"),
	"neutron.subnetpool":     neutron("subnetpool", "subnetpools", "subnetpools"),
	"neutron.qos_policy":     neutron("policy", "qos/policies", "policies"),
	"neutron.segment":        neutron("segment", "segments", "segments"),
	"nova.flavor":            entity("compute", "Flavor", "flavors/detail?is_public=None", "flavors", false, true),
	"glance.image":           entity("image", "Image", "images", "images", true, false),
	"cinder.volume":          entity("block-storage", "Volume", "volumes/detail", "volumes", true, false),
	"cinder.vtype":           entity("block-storage", "VolumeType", "types", "volume_types", false, true),
	"cinder.qos_specs":       entity("block-storage", "QoS Specs", "qos-specs", "qos_specs", false, true),
	"keystone.project":       entity("identity", "KeystoneProject", "projects", "projects", true, true),
	"keystone.domain":        entity("identity", "KeystoneDomain", "domains", "domains", true, true),
	"keystone.user":          entity("identity", "KeystoneUser", "users", "users", true, true),
	"keystone.group":         entity("identity", "KeystoneGroup", "groups", "groups", true, true),
	"keystone.role":          entity("identity", "KeystoneRole", "roles", "roles", true, true),
	"keystone.service":       entity("identity", "KeystoneService", "services", "services", true, true),
}

var (
	uuidLike = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hexLike  = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// lookups looks names up for one call, each once.
type lookups struct {
	cloud Cloud
	call  *Call
	known map[string]string
}

// id is the id of what a value names, or the value if it is an id by its look.
func (l *lookups) id(ctx context.Context, name, given string) (string, error) {
	k, ok := kinds[name]
	if !ok || given == "" || uuidLike.MatchString(given) || k.service == "identity" && hexLike.MatchString(given) {
		return given, nil
	}
	key := name + " " + given
	if id := l.known[key]; id != "" {
		return id, nil
	}
	s, err := open(ctx, l.cloud, l.call, k.service, "")
	if err != nil {
		return "", err
	}
	path := k.path
	if k.named {
		path += "?" + url.Values{"name": {given}}.Encode()
	}
	all, err := s.list(ctx, path, k.in)
	if err != nil {
		return "", err
	}
	var found []string
	for _, one := range all {
		id, _ := one.Get("id")
		text := value.Str(id)
		if k.anyID && text == given {
			found = []string{text}
			break
		}
		if called, _ := one.Get("name"); called == given {
			found = append(found, text)
		}
	}
	if len(found) == 0 && k.anyID && k.named {
		if one, err := s.get(ctx, resourcetype.Scope{Item: given}.Path(k.path+"/$(item)"), ""); err == nil && one != nil {
			found = []string{given}
		} else if err != nil && !faults.Is(err, faults.NotFound) {
			return "", err
		}
	}
	switch len(found) {
	case 0:
		return "", faults.New(faults.NotFound, hot.NotFound, k.missing, value.Clip(given, maxNamed))
	case 1:
		l.known[key] = found[0]
		return found[0], nil
	}
	return "", faults.New(faults.Invalid, hot.ValidationFailed, "Multiple %s matches found for name '%s', use an ID to be more specific.", k.in, value.Clip(given, maxNamed))
}

// maxNamed is how much is told of a name.
const maxNamed = 255

// all gives properties with ids in the place of names.
func (l *lookups) all(ctx context.Context, in resourcetype.Ordered[*resourcetype.Property], given *value.Map, said map[string]string, at string) (*value.Map, error) {
	made := &value.Map{}
	for i := range given.Len() {
		key, v := given.At(i)
		name := value.Str(key)
		p, ok := in.Get(name)
		if !ok {
			made.Set(key, v)
			continue
		}
		v, err := l.one(ctx, p, v, said, at+name)
		if err != nil {
			return nil, err
		}
		made.Set(key, v)
	}
	return made, nil
}

// one is a property's value with ids.
func (l *lookups) one(ctx context.Context, p *resourcetype.Property, v any, said map[string]string, at string) (any, error) {
	switch x := v.(type) {
	case string:
		name, ok := said[at]
		if !ok {
			name = p.Custom()
		}
		id, err := l.id(ctx, name, x)
		if f := faults.As(err); err != nil && (f.Kind == faults.NotFound || f.Kind == faults.Invalid) {
			return nil, &hot.Error{Class: hot.ValidationFailed, About: "Property error", Path: hot.Join("resources", l.call.Name, "properties", at),
				Message: "Error validating value '" + value.Clip(x, maxNamed) + "': " + f.Message}
		}
		return id, err
	case *value.Map:
		return l.all(ctx, p.Schema, x, said, at+".")
	case []any:
		item, ok := p.Schema.Get("*")
		if !ok {
			item = &resourcetype.Property{}
		}
		list := make([]any, len(x))
		for i, one := range x {
			var err error
			if list[i], err = l.one(ctx, item, one, said, at); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}
