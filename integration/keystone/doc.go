// Package keystone asks what Holdfast needs of an identity service of a real
// one, over HTTP: tokens, their end and revocation, scopes, roles, domains,
// application credentials, trusts, EC2 signatures, the catalog.
//
// The table (cases_test.go) runs against Keystone from PyPI, started by
// serve.sh, with the build tag "real" (make integration-keystone), and in any
// test run against the companion identity service of dev/. What the companion
// does otherwise than Keystone fails there.
package keystone
