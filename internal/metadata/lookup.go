package metadata

// Lookup: a path of the metadata service to what stands there.

import (
	"maps"
	"path"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
)

const (
	mimeText = "text/plain"
	mimeJSON = "application/json"
)

// Root is what "/" answers, whoever asks: the versions of the EC2 tree.
func Root() []byte { return lines(append(slices.Clone(ec2Versions), latest)) }

// IsPassword says whether a path is the one that a guest posts its password to.
func IsPassword(p string) bool {
	parts := split(p)
	if len(parts) != 3 || parts[0] != "openstack" || parts[2] != "password" {
		return false
	}
	version, ok := openstackVersion(parts[1])
	return ok && has(version, grizzly)
}

// Lookup gives what stands at a path of the service and its content type.
// Errors: NotFound.
func (i *Instance) Lookup(p string) (content []byte, mime string, err error) {
	parts := split(p)
	if len(parts) > 0 && parts[0] == "openstack" {
		return i.openstack(parts[1:])
	}
	if len(parts) > 0 && parts[0] == "ec2" {
		parts = parts[1:]
	}
	content, err = i.ec2(parts)
	return content, mimeText, err
}

// split cleans a path as the original does: no dots, no doubled slashes.
func split(p string) []string {
	p = strings.Trim(path.Clean("/"+p), "/")
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

func (i *Instance) openstack(parts []string) ([]byte, string, error) {
	if len(parts) == 0 {
		return lines(append(slices.Clone(openstackVersions), latest)), mimeText, nil
	}
	version, ok := openstackVersion(parts[0])
	if !ok || len(parts) > 2 {
		return nil, "", notFound()
	}
	if len(parts) == 1 {
		var names []string
		for _, f := range openstackFiles {
			if has(version, f.since) && (f.name != "user_data" || i.UserData != nil) {
				names = append(names, f.name)
			}
		}
		return lines(names), mimeText, nil
	}
	for _, f := range openstackFiles {
		if f.name == parts[1] && has(version, f.since) {
			content, err := f.content(i, version)
			if err == nil && content == nil {
				err = notFound()
			}
			return content, f.mime, err
		}
	}
	return nil, "", notFound()
}

func (i *Instance) ec2(parts []string) ([]byte, error) {
	if len(parts) == 0 {
		return Root(), nil
	}
	root, ok := ec2Tree(i, parts[0])
	if !ok {
		return nil, notFound()
	}
	var node any = root
	for _, part := range parts[1:] {
		folder, ok := asTree(node)
		if !ok {
			return nil, notFound()
		}
		if node, ok = folder[part]; !ok {
			return nil, notFound()
		}
	}
	return render(node), nil
}

func asTree(node any) (tree, bool) {
	switch n := node.(type) {
	case tree:
		return n, true
	case named:
		return n.tree, true
	}
	return nil, false
}

// render writes a folder as its sorted entries, folders with a slash.
func render(node any) []byte {
	switch n := node.(type) {
	case string:
		return []byte(n)
	case []string:
		return lines(n)
	}
	folder, _ := asTree(node)
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(folder)) {
		switch child := folder[name].(type) {
		case named:
			name = child.name
		case tree:
			name += "/"
		}
		entries = append(entries, name)
	}
	return lines(entries)
}

func lines(words []string) []byte { return []byte(strings.Join(words, "\n")) }

func notFound() error {
	return faults.New(faults.NotFound, "NotFound", "The resource could not be found.")
}
