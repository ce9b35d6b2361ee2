package stacks

// URLs that are signed, so that whoever has one may signal a resource by it.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
)

// Place is where a resource is.
type Place struct{ ProjectID, StackName, StackID, Resource string }

// arnPrefix is what the original's names of resources begin with.
const arnPrefix = "arn:openstack:heat::"

// ARN is the original's name of a resource, its parts escaped.
func (p Place) ARN() string {
	return arnPrefix + escaped(p.ProjectID) + ":stacks/" + escaped(p.StackName) + "/" + escaped(p.StackID) + "/resources/" + escaped(p.Resource)
}

// escaped has every byte of a text escaped that may mean something in a URL.
func escaped(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// PlaceOf is where the resource is that an ARN names, once it is unescaped as a part of
// a URL. Errors: Invalid.
func PlaceOf(arn string) (p Place, err error) {
	bad := faults.New(faults.Invalid, hot.ValueError, `"%s" is not a valid Heat ARN`, arn)
	rest, ok := strings.CutPrefix(arn, arnPrefix)
	project, path, found := strings.Cut(rest, ":stacks/")
	parts := strings.Split(path, "/")
	if !ok || !found || len(parts) != 4 || parts[2] != "resources" {
		return p, bad
	}
	for _, part := range []struct {
		text string
		into *string
	}{{project, &p.ProjectID}, {parts[0], &p.StackName}, {parts[1], &p.StackID}, {parts[3], &p.Resource}} {
		if *part.into, err = url.PathUnescape(part.text); err != nil {
			return p, bad
		}
	}
	return p, nil
}

// arnInURL is where an ARN begins in a URL, whose case may have been changed.
var arnInURL = regexp.MustCompile(`(?i)/arn%3Aopenstack%3Aheat%3A%3A`)

// PlaceOfURL is where the resource is that a signed URL signals. Errors: Invalid.
func PlaceOfURL(text string) (Place, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path == "" {
		return Place{}, faults.New(faults.Invalid, hot.ValueError, `"%s" is not a valid URL`, text)
	}
	at := arnInURL.FindStringIndex(u.EscapedPath())
	if at == nil {
		return Place{}, faults.New(faults.Invalid, hot.ValueError, `"%s" is not a valid ARN URL`, text)
	}
	arn, err := url.PathUnescape(u.EscapedPath()[at[0]+1:])
	if err != nil {
		return Place{}, faults.New(faults.Invalid, hot.ValueError, `"%s" is not a valid ARN URL`, text)
	}
	return PlaceOf(arn)
}

// The paths at which signed URLs are served, below the version of the CloudFormation
// API.
const (
	WaitConditionPath = "waitcondition"
	SignalPath        = "signal"
)

// Key is a key pair that signs requests.
type Key struct{ Access, Secret string }

// SignedURL is a URL for signals to a resource, below where guests reach the
// CloudFormation API, signed as version 2 of Amazon's signatures has it: for PUT of a
// wait condition's handle, for POST of any other. It is good for as long after a time as
// Keystone says; for the zero time it is good for as long as the key is.
func SignedURL(api, path string, p Place, k Key, at time.Time) (string, error) {
	base, err := url.Parse(strings.ToLower(strings.TrimSuffix(api, "/") + "/v1/" + path))
	if err != nil {
		return "", faults.Wrap(err, faults.Invalid, "InvalidConfiguration", "%q is no URL", api)
	}
	verb := http.MethodPost
	if path == WaitConditionPath {
		verb = http.MethodPut
	}
	given := [][2]string{{"SignatureMethod", "HmacSHA256"}, {"SignatureVersion", "2"}, {"AWSAccessKeyId", k.Access}}
	if !at.IsZero() {
		given = append(given, [2]string{"Timestamp", at.UTC().Format("2006-01-02T15:04:05Z")})
	}
	var sent, signed []string
	for _, one := range given {
		sent = append(sent, one[0]+"="+url.QueryEscape(one[1]))
		signed = append(signed, escaped(one[0])+"="+escaped(one[1]))
	}
	slices.Sort(signed)
	mac := hmac.New(sha256.New, []byte(k.Secret))
	// A hash never fails to be written to.
	mac.Write([]byte(strings.Join([]string{verb, base.Host, base.Path + "/" + p.ARN(), strings.Join(signed, "&")}, "\n")))
	sent = append(sent, "Signature="+url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil))))
	return base.String() + "/" + strings.ReplaceAll(escaped(p.ARN()), "%2F", "/") + "?" + strings.Join(sent, "&"), nil
}
