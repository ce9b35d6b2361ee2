// Package hostile asks a running cloud what nobody should: requests that are
// malformed in every way we know of, questions of strangers and of those who may
// not, many creates at once against a quota, and it looks for secrets where they
// must not be.
//
// testdata/malformed.jsonl is the table of requests with what Nova 34.0.0 itself
// answered to each; original.py writes those answers.
package hostile
