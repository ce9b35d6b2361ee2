package identity

// The version documents, which anybody may read.

import (
	"net/http"

	"holdfast.dev/dev/companions/service"
)

func (s *Service) discoveryRoutes(rt *service.Router) {
	rt.Public("GET /{$}", func(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
		return service.JSON(w, http.StatusMultipleChoices, document{"versions": document{"values": []document{version(r)}}})
	})
	rt.Public("GET /v3", func(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
		return service.JSON(w, http.StatusOK, document{"version": version(r)})
	})
}

func version(r *http.Request) document {
	return document{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []document{{"rel": "self", "href": service.BaseURL(r) + "/v3/"}},
		"media-types": []document{{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
}
