package image_test

// Patches, of either type.

import (
	"net/http"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/image"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	s, err := image.New(image.Config{Pool: companiontest.Pool(t, "image", image.Migrations()), Auth: companiontest.Callers{}, Log: companiontest.Log(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	client := companiontest.Serve(t, s)
	id := client.Want(201, "demo", "POST", "/v2/images", `{"name": "one"}`).TextAt("id")
	for _, c := range []struct {
		version, body string
		status        int
		distro        any // afterwards
	}{
		{"2.0", `[{"add": "/os_distro", "value": "debian"}]`, 200, "debian"},
		{"2.0", `[{"replace": "/os_distro", "value": "arch"}]`, 200, "arch"},
		{"2.1", `[{"replace": "/os_distro", "value": "debian"}]`, 400, "arch"},
		{"2.1", `[{"op": "replace", "path": "/os_distro", "value": "gentoo"}]`, 200, "gentoo"},
		{"2.0", `[{"value": "debian"}]`, 400, "gentoo"},
		{"2.0", `[{"remove": "/os_distro"}]`, 200, nil},
	} {
		client.Header = http.Header{"Content-Type": {"application/openstack-images-v" + c.version + "-json-patch"}}
		client.Want(c.status, "demo", "PATCH", "/v2/images/"+id, c.body)
		client.Header = http.Header{}
		shown := client.Want(200, "demo", "GET", "/v2/images/"+id, "").Body
		if shown["os_distro"] != c.distro {
			t.Errorf("after %s of %s it is %v, want %v", c.body, c.version, shown["os_distro"], c.distro)
		}
	}
	if tasks := client.Want(200, "demo", "GET", "/v2/images/"+id+"/tasks", "").At("tasks").([]any); len(tasks) != 0 {
		t.Errorf("tasks %v", tasks)
	}
	client.Want(404, "demo", "GET", "/v2/images/11111111-1111-4111-8111-111111111111/tasks", "")
}
