package metadata

// The config drive: the same documents as files.

import "encoding/json"

// ConfigDrive gives the files of the server's config drive by their paths: every
// version of the OpenStack tree, and of the EC2 tree the last one (the older are
// left out, as config_drive_skip_versions has it).
func (i *Instance) ConfigDrive() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range append([]string{latest}, openstackVersions...) {
		version, _ := openstackVersion(name)
		for _, f := range openstackFiles {
			if !has(version, f.since) || f.name == "password" {
				continue
			}
			content, err := f.content(i, version)
			if err != nil {
				return nil, err
			}
			if content != nil {
				files["openstack/"+name+"/"+f.name] = content
			}
		}
	}
	for n, f := range i.Files {
		files["openstack"+contentPath(n)] = f.Contents
	}
	for _, version := range []string{ec2Last, latest} {
		root, _ := ec2Tree(i, version)
		meta, err := json.Marshal(plain(root["meta-data"]))
		if err != nil {
			return nil, err
		}
		files["ec2/"+version+"/meta-data.json"] = meta
		if i.UserData != nil {
			files["ec2/"+version+"/user-data"] = i.UserData
		}
	}
	return files, nil
}

// plain makes a tree into what JSON has; a named folder keeps its name inside.
func plain(node any) any {
	switch n := node.(type) {
	case named:
		out := plain(n.tree).(map[string]any)
		out["_name"] = n.name
		return out
	case tree:
		out := map[string]any{}
		for name, child := range n {
			out[name] = plain(child)
		}
		return out
	}
	return node
}
