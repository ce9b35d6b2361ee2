// Package identity knows Keystone: it says whom a token belongs to, and lets
// Holdfast act as its own service user, or for a user by a trust, an
// application credential or an EC2 signature.
//
// Tokens are checked against Keystone v3 and remembered by their hash, within a
// bound and a time. The package holds tokens and passwords in memory only. Its
// Identity goes to api/rest, whose handlers ask internal/policy with it.
package identity
