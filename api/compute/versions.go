package compute

// Version documents, which anybody may read: GET / and GET /v2.1
// (contracts/client/sdk-discovery.json, api_samples/versions).

import (
	"holdfast.dev/api/rest"
)

// version is an entry of the list of versions.
type version struct {
	ID         string      `json:"id"`
	Links      []rest.Link `json:"links"`
	Status     string      `json:"status"`
	Version    string      `json:"version"`
	MinVersion string      `json:"min_version"`
	Updated    string      `json:"updated"`
}

// versionDetail is the document of one version.
type versionDetail struct {
	version
	MediaTypes []mediaType `json:"media-types"`
}

type mediaType struct {
	Base string `json:"base"`
	Type string `json:"type"`
}

func currentVersion(r *rest.Request) version {
	return version{
		ID:         "v2.1",
		Links:      []rest.Link{{Rel: "self", Href: r.Link("")}},
		Status:     "CURRENT",
		Version:    Versions.Max.String(),
		MinVersion: Versions.Min.String(),
		Updated:    "2013-07-23T11:33:21Z",
	}
}

func listVersions(r *rest.Request) (*rest.Response, error) {
	return rest.JSON(map[string]any{"versions": []version{currentVersion(r)}}), nil
}

func showVersion(r *rest.Request) (*rest.Response, error) {
	v := versionDetail{currentVersion(r), []mediaType{{"application/json", "application/vnd.openstack.compute+json;version=2.1"}}}
	v.Links = append(v.Links, rest.Link{Rel: "describedby", Href: "http://docs.openstack.org/", Type: "text/html"})
	return rest.JSON(map[string]any{"version": v}), nil
}
