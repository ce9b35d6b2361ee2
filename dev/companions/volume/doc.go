// Package volume is the volume companion: the part of Cinder's v3 API that the
// clients and Holdfast use, with volumes that are sparse raw files in one
// folder.
//
// A request only writes down what is to come (status creating, extending,
// deleting); work.go does it, and starts again after a stop with what it finds
// so, because every such step can be done twice. Volumes are reached by the
// hosts of the same machine: connection_info is of type "local" and names the
// file.
package volume
