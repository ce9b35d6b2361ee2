// Package statedir keeps small files in a process's own folder so that a crash
// at any moment leaves the old content or the new one, never half of it, and so
// that two processes never share a folder.
//
// Callers are what runs beside a hypervisor: the host's identity, its fences,
// the simulated driver. Nothing here knows what the files mean.
package statedir
