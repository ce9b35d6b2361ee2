package compute_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	computestore "holdfast.dev/internal/store/compute"
)

// gallery is a Glance that has one image, and answers nobody who asks for another.
type gallery struct{ compute.Neighbours }

func (gallery) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	switch id {
	case image:
		return &openstack.Image{ID: id, Status: "active"}, nil
	case nowhere:
		return nil, faults.New(faults.NotFound, "NotFound", "there is no such images")
	}
	return nil, faults.New(faults.Unavailable, "ServiceUnavailable", "a service that the request needs can't be reached")
}

// What is refused changes nothing; hosts that are up are to have the images.
func TestAggregateImages(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Neighbours = gallery{} })
	c.addHost()
	c.addHostNamed("0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5d02", "down")
	c.query(`UPDATE compute.hosts SET forced_down = true WHERE name = 'down' RETURNING name`)
	c.play(
		step{"root", "2.1", "POST", "/os-aggregates", `{"aggregate": {"name": "fast"}}`, 200, ""},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"add_host": {"host": "host-1"}}`, 200, ""},
		step{"root", "2.1", "POST", "/os-aggregates/1/action", `{"add_host": {"host": "down"}}`, 200, ""},
	)
	cache := func(ids ...string) string {
		return `{"cache": [{"id": "` + strings.Join(ids, `"}, {"id": "`) + `"}]}`
	}
	var many []string
	for i := range computestore.MaxWantedImages + 1 {
		many = append(many, fmt.Sprintf("70a599e0-31e7-49b7-b260-%012d", i))
	}
	tooMany := invalid("A host would have 101 images to cache, more than 100.")
	const path = "/os-aggregates/1/images"
	c.play(
		step{"root", "2.80", "POST", path, cache(image), 404, notFound("The resource could not be found.")},
		step{"alice", "2.81", "POST", path, cache(image), 403, forbidden("compute:aggregates:images")},
		step{"root", "2.81", "POST", path, `{"cache": []}`, 400, ""},
		step{"root", "2.81", "POST", path, cache("x"), 400, ""},
		step{"root", "2.81", "POST", "/os-aggregates/x/images", cache(image, image), 400, invalid("Invalid input received: id must be an integer")},
		step{"root", "2.81", "POST", "/os-aggregates/7/images", cache(image, image), 400, invalid("Duplicate images in request")},
		step{"root+", "2.81", "POST", "/os-aggregates/7/images", cache(nowhere), 404, notFound("Aggregate 7 could not be found.")},
		step{"root+", "2.81", "POST", path, cache(image, nowhere), 400, invalid("Image " + nowhere + " could not be found.")},
		step{"root+", "2.81", "POST", path, cache(image, tools), 503, ""},
		step{"root+", "2.81", "POST", path, cache(many...), 400, tooMany},
	)
	wanted := func() string {
		return c.query(`SELECT COALESCE(string_agg(h.name || ' ' || w.image_id, ', '), '') FROM compute.wanted_images w JOIN compute.hosts h ON h.id = w.host_id`)
	}
	if got := wanted(); got != "" {
		t.Errorf("after refusals %s is wanted", got)
	}
	for range 2 {
		c.play(step{"root+", "2.81", "POST", path, cache(image), 202, ""})
		if got, want := wanted(), "host-1 "+image; got != want {
			t.Errorf("%s is wanted, want %s", got, want)
		}
	}
	c.play(step{"root", "2.81", "POST", path, cache(many[1:]...), 400, tooMany})
	if got, want := wanted(), "host-1 "+image; got != want {
		t.Errorf("after one too many %s is wanted, want %s", got, want)
	}
}
