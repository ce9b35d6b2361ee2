// Package identity is the identity companion: the part of Keystone v3 that the
// clients, Holdfast and the other companions use (contracts/client/companions.json).
//
// Things that are merely kept (domains, projects, users, groups, roles, regions,
// services, endpoints) are rows of one table, collections.go, served by one
// engine. Grants, tokens, application credentials, trusts and EC2 credentials
// have rules of their own and a file each. Everything is in the schema
// "identity" of the companions' database. Passwords, secrets of application
// credentials and tokens are kept as hashes; an EC2 secret has to be known to
// check a signature, so it stands there as it is.
package identity
