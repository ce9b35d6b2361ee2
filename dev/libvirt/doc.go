// Package libvirt runs a libvirtd of a development cloud's own. The machine's
// libvirtd, if one runs, is neither seen nor touched, and several clouds can
// have theirs on one machine.
//
// libvirtd knows its folders by name. So virtlogd and libvirtd run in mount
// namespaces in which those names are folders of the cloud:
//
//	etc/  /etc/libvirt         lib/    /var/lib/libvirt
//	run/  /run/libvirt         log/    /var/log/libvirt
//	                           cache/  /var/cache/libvirt
//
// Guests are processes of their own, and libvirtd's children in nothing but
// name. Park saves their memory and ends them when the cloud stops; Resume has
// them go on where they were. After a SIGKILL of the cloud they have run on:
// the next libvirtd finds them, and virtlogd, which holds the pipes of their
// consoles, is taken over. That a process listens at a socket in the cloud's
// folder is what shows that it is the cloud's.
package libvirt
