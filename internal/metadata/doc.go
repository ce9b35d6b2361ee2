// Package metadata is what a server is told about itself: the OpenStack and the
// EC2 tree of the metadata service, and the same as files on a config drive
// (spec 001 section 9).
//
// It is pure: an Instance in, bytes out. api/metadata serves it to guests,
// internal/hosts gives it to hosts for config drives.
package metadata
