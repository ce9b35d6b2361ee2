package scheduler

import (
	"reflect"
	"testing"
)

func TestHints(t *testing.T) {
	t.Parallel()
	h, err := ReadHints(map[string]any{"group": []any{"g1"}, "same_host": "s1", "different_host": []any{"s2", "s3"},
		"build_near_host_ip": "10.1.2.3", "cidr": "/16", "query": `["=", 1, 1]`, "mine": 7.0})
	if err != nil || h.Group != "g1" || !reflect.DeepEqual(h.SameHost, []string{"s1"}) || !reflect.DeepEqual(h.DifferentHost, []string{"s2", "s3"}) ||
		h.Near.String() != "10.1.0.0/16" || h.Query == nil {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := ReadHints(map[string]any{"group": "g1", "build_near_host_ip": "10.1.2.3"}); err != nil || h.Group != "g1" || h.Near.String() != "10.1.2.0/24" || h.SameHost != nil {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := ReadHints(nil); err != nil || !reflect.DeepEqual(h, Hints{}) {
		t.Errorf("no hints: %+v, %v", h, err)
	}
	for _, bad := range []map[string]any{
		{"query": map[string]any{"=": 1}},
		{"query": "nonsense"},
		{"build_near_host_ip": "10.1.2.3", "cidr": "/33"},
		{"build_near_host_ip": "10.1.2.3", "cidr": "/x"},
	} {
		if _, err := ReadHints(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
