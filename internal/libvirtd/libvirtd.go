// Package libvirtd is how a libvirtd is started that may have been killed.
//
// libvirtd notes of a guest in /run/libvirt/qemu that it is starting before the
// guest's process is there. Killed at that moment, the next libvirtd takes the
// guest for one that is starting still, under a job that nobody ends: it can be
// neither started nor ended, for as long as the note is there (libvirt 9.0). QEMU
// is executed only after the note has its process id, so a note without one is of
// a guest that has never run, and to forget it loses nothing.
//
// The package has no I/O of its own: it gives a command line.
package libvirtd

// forget removes the notes of guests that never had a process.
const forget = `grep -ls "<domstatus [^>]*pid='0'" /run/libvirt/qemu/*.xml | while read -r note; do rm -f -- "$note"; done`

// Command is a command line that forgets them and becomes libvirtd with args.
func Command(args ...string) []string {
	return append([]string{"sh", "-c", forget + `; exec libvirtd "$@"`, "sh"}, args...)
}
