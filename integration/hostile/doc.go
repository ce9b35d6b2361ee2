// Package hostile asks a running cloud what nobody should: requests that are
// malformed in every way we know of, questions of strangers and of those who may
// not, many creates at once against a quota, and it looks for secrets where they
// must not be.
//
// testdata/malformed.jsonl and malformed_baremetal.jsonl are the tables of requests with
// what Nova 34.0.0 and Ironic 39.0.0 themselves answered to each; original.py and
// original_baremetal.py write those answers.
package hostile
