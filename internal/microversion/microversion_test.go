package microversion

import (
	"net/http"
	"testing"
)

var compute = Scheme{Service: "compute", Legacy: "X-OpenStack-Nova-API-Version",
	Min: V(2, 1), Max: V(2, 104), Default: V(2, 1)}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		header http.Header
		want   string
		err    string
	}{
		{name: "no header", want: "2.1"},
		{name: "standard", header: http.Header{"Openstack-Api-Version": {"compute 2.69"}}, want: "2.69"},
		{name: "latest", header: http.Header{"Openstack-Api-Version": {"compute latest"}}, want: "2.104"},
		{name: "another service's", header: http.Header{"Openstack-Api-Version": {"volume 3.1"}}, want: "2.1"},
		{name: "several, last one counts", header: http.Header{"Openstack-Api-Version": {"compute 2.3, volume 3.1", "compute 2.5"}}, want: "2.5"},
		{name: "legacy", header: http.Header{"X-Openstack-Nova-Api-Version": {"2.10"}}, want: "2.10"},
		{name: "standard goes before legacy", header: http.Header{"Openstack-Api-Version": {"compute 2.4"}, "X-Openstack-Nova-Api-Version": {"2.10"}}, want: "2.4"},
		{name: "too new", header: http.Header{"X-Openstack-Nova-Api-Version": {"2.105"}}, err: "Version 2.105 is not supported by the API. Minimum is 2.1 and maximum is 2.104."},
		{name: "too old", header: http.Header{"X-Openstack-Nova-Api-Version": {"2.0"}}, err: "Version 2.0 is not supported by the API. Minimum is 2.1 and maximum is 2.104."},
		{name: "no number", header: http.Header{"X-Openstack-Nova-Api-Version": {"new"}}, err: "API Version String new is of invalid format. Must be of format MajorNum.MinorNum."},
		{name: "leading zero", header: http.Header{"X-Openstack-Nova-Api-Version": {"2.01"}}, err: "API Version String 2.01 is of invalid format. Must be of format MajorNum.MinorNum."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := compute.Negotiate(c.header.Values)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Fatalf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestRangeHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    Range
		v    Version
		want bool
	}{
		{Range{}, V(2, 1), true},
		{From(9), V(2, 8), false},
		{From(9), V(2, 9), true},
		{From(9), V(2, 10), true},
		{Until(46), V(2, 46), true},
		{Until(46), V(2, 47), false},
		{Between(3, 5), V(2, 4), true},
	} {
		if got := c.r.Has(c.v); got != c.want {
			t.Errorf("%v.Has(%s) = %v", c.r, c.v, got)
		}
	}
}
