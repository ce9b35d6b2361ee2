package ironic

// The config drive that the service writes beside the image.

import (
	"context"
	"path"

	"holdfast.dev/internal/iso"
	"holdfast.dev/internal/steps"
)

// configDrive is the server's, as the service takes it; nil if it is to have none.
func (d *Driver) configDrive(ctx context.Context, spec steps.ServerSpec) (any, error) {
	if !spec.ConfigDrive {
		return nil, nil
	}
	content, err := d.servers.ConfigDrive(ctx, spec.ServerID)
	if err != nil {
		return nil, err
	}
	bearers, err := d.bearers(ctx)
	if err != nil {
		return nil, err
	}
	files := make(map[string]iso.Source, len(content.Files))
	for name, text := range content.Files {
		if path.Base(name) == "network_data.json" {
			if text, err = bearers.told(text); err != nil {
				return nil, err
			}
		}
		files[name] = iso.Source{Content: text}
	}
	return iso.Packed(iso.Image{Label: iso.ConfigDrive, Files: files})
}
