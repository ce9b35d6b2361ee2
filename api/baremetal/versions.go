package baremetal

// Microversions, and the documents about them that anybody may read: GET / and
// GET /v1.

import (
	"net/http"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
)

// prefix is the version in paths.
const prefix = "/v1"

// Versions are the microversions served (contracts: microversions.json).
var Versions = microversion.Scheme{
	Service:   "baremetal",
	Legacy:    "X-OpenStack-Ironic-API-Version",
	Min:       v(1),
	Max:       v(115),
	Default:   v(1),
	MinHeader: "X-OpenStack-Ironic-API-Minimum-Version",
	MaxHeader: "X-OpenStack-Ironic-API-Maximum-Version",
	Refusal: "Version %[1]s was requested but the minor version is not supported by this service. " +
		"The supported version range is: [%[2]s, %[3]s].",
	Malformed: "Invalid value for X-OpenStack-Ironic-API-Version header",
}

// v is a version of this API.
func v(minor int) microversion.Version { return microversion.V(1, minor) }

// from is the range that begins at 1.minor.
func from(minor int) microversion.Range { return microversion.Range{Min: v(minor)} }

// version is what the documents say of the one version there is.
func version(r *rest.Request) map[string]any {
	return map[string]any{
		"id": "v1", "status": "CURRENT", "min_version": Versions.Min.String(), "version": Versions.Max.String(),
		"links": []rest.Link{{Rel: "self", Href: r.Link("")}},
	}
}

// dotJSON is what paths may end in without meaning anything by it, and plainSince the
// version from which on it does mean something.
const (
	dotJSON    = ".json"
	plainSince = 91
)

// canonical reads paths as the original does: those without the version are the same
// with it, as "bookmark" links have them, and older versions ignore an ending.
func canonical(h http.Header, path string) (meant, lost string) {
	if short, ok := strings.CutSuffix(path, dotJSON); ok && !strings.HasSuffix(short, "/") {
		if asked, err := Versions.Negotiate(h.Values); err == nil && asked.Less(v(plainSince)) {
			path, lost = short, dotJSON
		}
	}
	if path != "/" && path != prefix && !strings.HasPrefix(path, prefix+"/") {
		path = prefix + path
	}
	return path, lost
}

// sought looks for what the path names by a parameter, and where there is no such
// thing, for one whose name has the ending that was ignored.
func sought[T any](r *rest.Request, param string, find func(ident string) (*T, error)) (*T, error) {
	row, err := find(r.Param(param))
	if faults.Is(err, faults.NotFound) && r.Written(param) != r.Param(param) {
		return find(r.Written(param))
	}
	return row, err
}

func showRoot(r *rest.Request) (*rest.Response, error) {
	return rest.JSON(map[string]any{
		"name":            "OpenStack Ironic API",
		"description":     "Ironic is an OpenStack project which enables the provision and management of baremetal machines.",
		"default_version": version(r),
		"versions":        []any{version(r)},
	}), nil
}

// collections are what the document of the version leads to, since when.
var collections = []struct {
	name  string
	since int
}{{"chassis", 1}, {"nodes", 1}, {"ports", 1}, {"drivers", 1}, {"lookup", 22}, {"heartbeat", 22}, {"portgroups", 23}, {"volume", 32}, {"conductors", 49}, {"allocations", 52}, {"deploy_templates", 55}, {"shards", 82}, {"continue_inspection", 84},
	{"runbooks", 92}, {"inspection_rules", 96}}

func showVersion(r *rest.Request) (*rest.Response, error) {
	document := map[string]any{
		"id": "v1",
		"links": []rest.Link{{Rel: "self", Href: r.Link("")},
			{Rel: "describedby", Href: "https://docs.openstack.org/ironic/latest/contributor/webapi.html", Type: "text/html"}},
		"media_types": map[string]string{"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"},
		"version":     version(r),
	}
	for _, c := range collections {
		if r.At(v(c.since)) {
			document[c.name] = links(r, c.name, "")
		}
	}
	return rest.JSON(document), nil
}

// links are the two to a path: with the version in it, and without.
func links(r *rest.Request, parts ...string) []rest.Link {
	return []rest.Link{{Rel: "self", Href: r.Link(parts...)}, {Rel: "bookmark", Href: r.Bookmark(parts...)}}
}
