// Package cinder carries out steps of family "cinder": a server's volumes.
//
// One step makes and attaches them all, one says that they are in use, one takes
// the server off them. What is asked for and what was got are rows of
// compute.block_devices, read and written here under the operation's fence. The
// calls are made as the service user in the server's own project, so that the
// volumes are that project's and count in its quota.
//
// A volume that is made for a server is named by mark (its server and position)
// and looked for before it is made; an attachment carries the server's id. So a
// step that was killed anywhere finds what it made.
//
// Where the data goes next: records.ServerSpec tells the host which volumes
// there are, and the host asks over the host link how each is reached.
package cinder
