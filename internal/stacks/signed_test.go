package stacks

import (
	"testing"
	"time"
)

// URLs are signed as by the original; the expected ones were made by its own words.
func TestSignedURL(t *testing.T) {
	t.Parallel()
	const id = "6f1d4c1e-9a53-4d0b-8c43-0a7f1b6c2d5e"
	for _, row := range []struct {
		path  string
		place Place
		at    time.Time
		want  string
	}{
		{WaitConditionPath, Place{"p1", "stack-1.a", id, "my wäit:x&y"}, time.Date(2026, 11, 30, 15, 0, 0, 5, time.UTC),
			"http://cloud:8000/cloudformation/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3Ap1%3Astacks/stack-1.a/" + id + "/resources/my%2520w%25C3%25A4it%253Ax%2526y" +
				"?SignatureMethod=HmacSHA256&SignatureVersion=2&AWSAccessKeyId=acc&Timestamp=2026-11-30T15%3A00%3A00Z&Signature=f6D8MS%2BhIs%2Fa%2FGrOe3GCHUQwWBBYaeDojRi1KsF%2Bl8s%3D"},
		{SignalPath, Place{"p1", "s", id, "policy"}, time.Time{},
			"http://cloud:8000/cloudformation/v1/signal/arn%3Aopenstack%3Aheat%3A%3Ap1%3Astacks/s/" + id + "/resources/policy" +
				"?SignatureMethod=HmacSHA256&SignatureVersion=2&AWSAccessKeyId=acc&Signature=6r7T%2ByHuElj1Eh%2FcblWxrQzpgnl7Prqy4tDc4vgWs1A%3D"},
	} {
		got, err := SignedURL("http://Cloud:8000/cloudformation/", row.path, row.place, Key{"acc", "s3cret"}, row.at)
		if err != nil || got != row.want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, row.want)
		}
		if place, err := PlaceOfURL(got); err != nil || place != row.place {
			t.Errorf("%+v, %v, want %+v", place, err, row.place)
		}
	}
	for text, want := range map[string]string{
		"here": `"here" is not a valid URL`, "http://x/y": `"http://x/y" is not a valid ARN URL`,
		"http://x/arn%3Aopenstack%3Aheat%3A%3Ap": `"arn:openstack:heat::p" is not a valid Heat ARN`,
	} {
		if _, err := PlaceOfURL(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
