package agent

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/iso/isotest"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// instance has the node's row have an image and a config drive, which is a secret.
func (w *world) instance(info map[string]any, drive any) {
	w.Helper()
	kept := map[string]any{"driver_internal_info": map[string]any{"/agent_secret_token": "a-token-of-more-than-thirty-two-characters"}}
	if drive != nil {
		info["configdrive"] = "******"
		kept["instance_info"] = map[string]any{"/configdrive": drive}
	}
	text, err := json.Marshal(info)
	if err != nil {
		w.Fatal(err)
	}
	sealed, err := json.Marshal(kept)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.DB.Pool.Exec(w.Context(), `UPDATE baremetal.nodes SET name = 'node-1', instance_info = $1::jsonb, secrets = $2`, text, w.Box.Seal(sealed, nodes.Place(w.Node))); err != nil {
		w.Fatal(err)
	}
}

func (w *world) write() steps.AgentCommandIn {
	return steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "deploy/write_image", Phase: steps.AgentDeploy,
		Step: &steps.NodeStep{Interface: "deploy", Step: "write_image", Priority: 80}}
}

// Images that Glance has.
const (
	anImage    = "11111111-2222-4333-8444-555555555501"
	aPartition = "11111111-2222-4333-8444-555555555502"
)

// The ramdisk writes the image that the row names, once it has been checked, and the
// config drive that is made of what the row has.
func TestAnImage(t *testing.T) {
	t.Parallel()
	disk := []byte(strings.Repeat("disk", 1000))
	sum := sha256.Sum256(disk)
	files := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".img") && r.URL.Path != "/served.iso.img" {
			http.NotFound(out, r)
			return
		}
		if r.URL.Path == "/SUMS" {
			_, _ = fmt.Fprintf(out, "%x *other\nSHA256 (image.raw) = %x\n", sha256.Sum256(nil), sum)
			return
		}
		_, _ = out.Write(disk)
	}))
	t.Cleanup(files.Close)
	for name, c := range map[string]struct {
		info  map[string]any
		drive any
		code  string
		files map[string]string
	}{
		"with a drive of parts": {info: map[string]any{"image_os_hash_algo": "sha256", "image_os_hash_value": hex.EncodeToString(sum[:])},
			drive: map[string]any{"meta_data": map[string]any{"hostname": "h"}, "user_data": "#cloud-config", "network_data": map[string]any{"links": []any{}}},
			files: map[string]string{"meta_data.json": `{"hostname":"h","uuid":"5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d11","name":"node-1"}`, "user_data": "#cloud-config", "network_data.json": `{"links":[]}`}},
		"without one":              {info: map[string]any{"image_checksum": hex.EncodeToString(sum[:])}},
		"that is another":          {info: map[string]any{"image_checksum": strings.Repeat("0", 64)}, code: "AgentCommandFailed"},
		"by an old sum":            {info: map[string]any{"image_checksum": fmt.Sprintf("%x", md5.Sum(disk))}},
		"by a file of sums":        {info: map[string]any{"image_checksum": files.URL + "/SUMS"}},
		"by a file without it":     {info: map[string]any{"image_checksum": files.URL + "/other"}, code: "AgentCommandFailed"},
		"of Glance":                {info: map[string]any{"image_source": "glance://" + anImage, "image_checksum": strings.Repeat("0", 64)}},
		"of Glance, that is gone":  {info: map[string]any{"image_source": "11111111-2222-4333-8444-555555555509"}, code: "ImageNotFound"},
		"of Glance, a partition's": {info: map[string]any{"image_source": aPartition}, code: "MissingParameterValue"},
		"that isn't named":         {info: map[string]any{"image_source": "", "image_checksum": strings.Repeat("0", 64)}, code: "MissingParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.images, w.glance = files.URL, bmctest.StartGlance(t, map[string]bmctest.Image{anImage: {Data: string(disk), DiskFormat: "raw"},
				aPartition: {Properties: map[string]any{"kernel_id": anImage}}})
			computetest.InTx(t, w.DB, func(tx store.Tx) error {
				return baremetal.KeepBootFile(t.Context(), tx, baremetal.BootFile{NodeUUID: w.Node.UUID, OperationID: w.Fence.OperationID, Name: "served.iso", Conductor: "conductor-1"})
			})
			if _, given := c.info["image_source"]; !given {
				c.info["image_source"] = files.URL + "/image.raw"
			}
			w.instance(c.info, c.drive)
			out, err := w.command(w.write())
			if c.code != "" {
				if err == nil || faults.As(err).Code != c.code || w.Machine.Content().SHA256 != "" {
					t.Errorf("%+v, %v", out, err)
				}
				return
			}
			content := w.Machine.Content()
			if err != nil || out.State != steps.AgentDone || content.SHA256 != hex.EncodeToString(sum[:]) || (content.ConfigDrive != nil) != (c.drive != nil) {
				t.Fatalf("%+v, %v, %d bytes", out, err, content.Size)
			}
			if c.drive == nil {
				return
			}
			if got := isotest.Drive(t, content.ConfigDrive, slices.Collect(maps.Keys(c.files))...); !maps.Equal(got, c.files) {
				t.Errorf("the config drive has %v, want %v", got, c.files)
			}
		})
	}
}

// An image of a partition is written to one, whose node starts from it by what the ramdisk
// installs; the row remembers how the disk is laid out. A disk that starts by itself has
// nothing installed.
func TestABootLoader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info      map[string]any
		installed bool
		known     string
	}{
		"of a partition":                  {info: map[string]any{"image_type": "partition", "root_gb": 1, "swap_mb": 5, "ephemeral_gb": 1}, installed: true, known: `"instance": {"root_gb": 1, "swap_mb": 5, "ephemeral_gb": 1}`},
		"of a disk":                       {info: map[string]any{}, installed: true, known: `"is_whole_disk_image": true`},
		"of a disk that starts by itself": {info: map[string]any{"capabilities": map[string]any{"boot_mode": "bios"}}, known: `"is_whole_disk_image": true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.images, w.glance = "http://192.0.2.9", nil
			files := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write([]byte("disk")) }))
			t.Cleanup(files.Close)
			c.info["image_source"], c.info["image_os_hash_algo"], c.info["image_os_hash_value"] = files.URL+"/i", "sha256", bmctest.Sum("disk")
			w.instance(c.info, nil)
			if out, err := w.command(w.write()); err != nil || out.State != steps.AgentDone {
				t.Fatalf("%+v, %v", out, err)
			}
			disk, err := w.command(steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "partitions", Command: steps.PartitionUUIDs})
			if err != nil {
				t.Fatal(err)
			}
			in := steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "boot loader", Command: steps.InstallBootLoader, Params: disk.Result}
			for range 2 {
				if out, err := w.command(in); err != nil || out.State != steps.AgentDone {
					t.Fatalf("%+v, %v", out, err)
				}
			}
			content, known := w.Machine.Content(), string(w.Row().DriverInternalInfo)
			told := slices.DeleteFunc(w.Machine.Agent().Commands(), func(name string) bool { return name != steps.InstallBootLoader })
			if content.Installed != c.installed || len(told) == 1 != c.installed || !strings.Contains(known, c.known) {
				t.Errorf("%+v, told %v, %s", content, told, known)
			}
			if of := content.Partitions; of != nil && (of.Label != "gpt" || of.EFI == "" || of.EphemeralFormat != "ext4" || !strings.Contains(known, `"root_uuid_or_disk_id": "`+of.Root+`"`)) {
				t.Errorf("%+v, %s", of, known)
			}
		})
	}
}
