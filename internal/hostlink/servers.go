package hostlink

// What a host asks about the servers on it, and the images that it is to have: what must not go through a
// workflow's history, since it is large or secret.

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"holdfast.dev/internal/faults"
)

// Servers is what the control plane tells a host of the servers that are on it
// or claimed for it. Errors: NotFound, there is no such server on that host;
// Unavailable, a service is out of reach.
type Servers interface {
	Image(ctx context.Context, hostID, serverID string) (Image, error)
	// WantedImage tells of an image that the host is to have before a server starts
	// from it. Errors: NotFound, it isn't to have that.
	WantedImage(ctx context.Context, hostID, imageID string) (Image, error)
	// ConfigDrive gives the files of the server's config drive by their paths,
	// "openstack/latest/meta_data.json". They hold secrets.
	ConfigDrive(ctx context.Context, hostID, serverID string) (ConfigDrive, error)
	// Volumes gives the connections of the server's attachments. They hold
	// secrets.
	Volumes(ctx context.Context, hostID, serverID string) (Volumes, error)
	// Upload tells where the image belongs that is being made of the server.
	// Errors: NotFound, none is.
	Upload(ctx context.Context, hostID, serverID string) (Upload, error)
}

// Image is what a host has to know of an image to get it.
type Image struct {
	ID string `json:"id"`
	// DiskFormat is Glance's.
	DiskFormat string `json:"disk_format"`
	// Size is the file's, in bytes; 0 if it isn't known.
	Size int64 `json:"size"`
	// HashAlgo and HashValue are os_hash_algo and os_hash_value; Checksum is the
	// older MD5 and counts where they are empty.
	HashAlgo  string `json:"os_hash_algo,omitempty"`
	HashValue string `json:"os_hash_value,omitempty"`
	Checksum  string `json:"checksum,omitempty"`
	// URL is where the bytes are; Token is sent with the request and is a secret.
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
}

// Upload is where an image's data belongs.
type Upload struct {
	ImageID string `json:"image_id"`
	// Active says that the image has its data.
	Active bool `json:"active,omitempty"`
	// URL takes the bytes; Token is sent with them and is a secret.
	URL   string `json:"url"`
	Token string `json:"token"`
}

// ConfigDrive is the content of one.
type ConfigDrive struct {
	Files map[string][]byte `json:"files"`
}

// Volumes are the connections of a server's attachments.
type Volumes struct {
	Connections []Connection `json:"connections"`
}

// Connection is what Cinder says of how a volume is reached.
type Connection struct {
	VolumeID string `json:"volume_id"`
	// DriverType is connection_info's driver_volume_type, Data its data.
	DriverType string          `json:"driver_volume_type"`
	Data       json.RawMessage `json:"data"`
}

// serverReads are the paths below servers/{server}.
var serverReads = map[string]func(ctx context.Context, s Servers, hostID, serverID string) (any, error){
	"image": func(ctx context.Context, s Servers, hostID, serverID string) (any, error) {
		return s.Image(ctx, hostID, serverID)
	},
	"metadata": func(ctx context.Context, s Servers, hostID, serverID string) (any, error) {
		return s.ConfigDrive(ctx, hostID, serverID)
	},
	"upload": func(ctx context.Context, s Servers, hostID, serverID string) (any, error) {
		return s.Upload(ctx, hostID, serverID)
	},
	"volumes": func(ctx context.Context, s Servers, hostID, serverID string) (any, error) {
		return s.Volumes(ctx, hostID, serverID)
	},
}

// serverRead serves one of them. The host is the pass's caller.
func (h handler) serverRead(read func(context.Context, Servers, string, string) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), handlerTime)
		defer cancel()
		answer, err := func() (any, error) {
			pass, err := h.key.Check(r, r.URL.EscapedPath())
			if err != nil {
				return nil, err
			}
			hostID, ok := pass.host()
			if !ok {
				return nil, faults.New(faults.Forbidden, "Forbidden", "only hosts ask for this")
			}
			return read(ctx, h.servers, hostID, r.PathValue("server"))
		}()
		if err != nil {
			writeFault(w, err)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}
}

// Image asks for the image that a server on this host starts from.
func (c *Client) Image(ctx context.Context, serverID string) (Image, error) {
	return get[Image](ctx, c, ofServer(serverID, "image"))
}

// WantedImage asks for an image that this host is to have.
func (c *Client) WantedImage(ctx context.Context, imageID string) (Image, error) {
	return get[Image](ctx, c, "hosts/"+c.hostID+"/images/"+url.PathEscape(imageID))
}

// ConfigDrive asks for the files of a server's config drive.
func (c *Client) ConfigDrive(ctx context.Context, serverID string) (ConfigDrive, error) {
	return get[ConfigDrive](ctx, c, ofServer(serverID, "metadata"))
}

// Upload asks where the image belongs that is being made of a server on this host.
func (c *Client) Upload(ctx context.Context, serverID string) (Upload, error) {
	return get[Upload](ctx, c, ofServer(serverID, "upload"))
}

// Volumes asks how a server's volumes are reached.
func (c *Client) Volumes(ctx context.Context, serverID string) (Volumes, error) {
	return get[Volumes](ctx, c, ofServer(serverID, "volumes"))
}

func ofServer(serverID, what string) string {
	return "servers/" + url.PathEscape(serverID) + "/" + what
}

func get[T any](ctx context.Context, c *Client, path string) (answer T, err error) {
	resp, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	return answer, readJSON(resp.Body, maxAnswer, &answer)
}
