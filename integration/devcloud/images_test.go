package devcloud

// An aggregate's hosts get an image before a server asks for it.

import (
	"os"
	"path/filepath"
)

// cached has the hosts of an aggregate get the image, by the real client: one of the two
// hosts has it then.
func cached(s *session, dir string) {
	s.t.Helper()
	host := s.client("admin", "openstack", "compute", "service", "list", "--service", "nova-compute", "-f", "value", "-c", "Host")[0]
	s.client("admin", "openstack", "aggregate", "create", "near")
	s.client("admin", "openstack", "aggregate", "add", "host", "near", host)
	s.client("admin", "openstack", "--os-compute-api-version", "2.81", "aggregate", "cache", "image", "near", s.image)
	s.eventually(func() string {
		var found []string
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == s.image && filepath.Base(filepath.Dir(path)) == "images" {
				found = append(found, path)
			}
			return nil // files of PostgreSQL come and go meanwhile
		})
		if err != nil || len(found) != 1 {
			return "the hosts have the image in " + filepath.Join(found...)
		}
		return ""
	})
	s.client("admin", "openstack", "aggregate", "remove", "host", "near", host)
	s.client("admin", "openstack", "aggregate", "delete", "near")
}
