package baremetal

// Virtual media: what is in a node's drives, below /nodes/{node}/vmedia.

import (
	"net/url"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// mediaSchemes are those of the addresses that media are at.
var mediaSchemes = []string{"http", "https", "nfs", "cifs", "smb"}

// listMedia answers GET .../vmedia.
func (a *API) listMedia(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:vmedia:get")
	if err == nil {
		err = nodes.MayManage(a.Secrets, n)
	}
	if err == nil {
		err = nodes.HasDrives(n, nodes.GetMedia)
	}
	if err != nil {
		return nil, err
	}
	var found []struct {
		Types    []string `json:"media_types"`
		Inserted bool     `json:"inserted"`
		Image    *string  `json:"image"`
	}
	if err := a.question(r, n, "vmedia", nil, &found); err != nil {
		return nil, err
	}
	return rest.JSON(found), nil
}

// attachMedia answers POST .../vmedia. Where a medium is may have a password, so the
// operation has it sealed.
func (a *API) attachMedia(r *rest.Request) (*rest.Response, error) {
	const rule = "baremetal:node:vmedia:attach"
	body, err := object(r, "vmedia_attach", "vmedia")
	if err != nil {
		return nil, err
	}
	word := func(name string) string {
		value, _ := body.Get(name)
		text, _ := value.(string)
		return text
	}
	image, scheme := word("image_url"), ""
	if at, err := url.Parse(image); err == nil {
		scheme = at.Scheme
	}
	if !slices.Contains(mediaSchemes, scheme) {
		return nil, faults.New(faults.Invalid, "Invalid", "Unsupported or missing URL scheme: %s", scheme)
	}
	n, err := a.node(r, a.DB.Pool, rule)
	if err != nil {
		return nil, err
	}
	ask := steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{word("device_type")}, Secret: a.Secrets.Seal([]byte(image), nodes.CommandPlace(n))}
	_, err = a.command(r, rule, ask, mediaCanBe("attach", nodes.AttachMedia))
	return nil, err
}

// detachMedia answers DELETE .../vmedia.
func (a *API) detachMedia(r *rest.Request) (*rest.Response, error) {
	if err := nodeResource.expected(r, []filter{{name: "device_types", since: 89}}); err != nil {
		return nil, err
	}
	var kinds, wrong []string
	for word := range strings.SplitSeq(r.Query.Get("device_types"), ",") {
		kind := strings.ToLower(strings.TrimSpace(word))
		switch {
		case kind == "" || slices.Contains(kinds, kind):
		case slices.Contains(provision.MediaDrives(), kind):
			kinds = append(kinds, kind)
		case !slices.Contains(wrong, kind):
			wrong = append(wrong, kind)
		}
	}
	if len(wrong) > 0 {
		return nil, faults.New(faults.Invalid, "Invalid", "Invalid device type(s) %s (valid are %s)", strings.Join(wrong, ", "), strings.Join(provision.MediaDrives(), ", "))
	}
	ask := steps.NodeCommandInput{Command: steps.DetachMedia, Media: kinds}
	_, err := a.command(r, "baremetal:node:vmedia:detach", ask, mediaCanBe("detach", nodes.DetachMedia))
	return nil, err
}

// mediaCanBe says whether virtual media of a node can be changed.
func mediaCanBe(changed, what string) func(*baremetal.Node) error {
	return func(n *baremetal.Node) error {
		if n.Maintenance && n.Fault != nil && *n.Fault == provision.PowerFailure {
			return faults.New(faults.Unavailable, "TemporaryFailure", "Unable to %s virtual media for node %s due to power failure state", changed, n.UUID)
		}
		return nodes.HasDrives(n, what)
	}
}
