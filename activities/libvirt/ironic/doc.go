// Package ironic is the driver of a host that is a node of the bare metal service: the
// one guest that it has is the machine itself.
//
// Each node with a resource class is a host, called as the node's id, with one of that
// class and nothing else: flavors ask for the class (resources:CUSTOM_GOLD=1) and for no
// CPUs, memory or disk. It is held back whenever the node isn't there to be taken: it has
// an instance, is in maintenance, or isn't available. So a node that somebody deploys
// without Compute is never chosen, and one that is left is chosen when it is clean. Two
// who are faster than a report meet at the node: its instance_uuid is written by who
// finds it free, and a build that comes second goes on to another host.
//
// The driver speaks the bare metal API as the service user, over HTTP, as the original's
// does, and not the tables behind it: it works with any service of that API, a host needs
// no credentials of the database, and whatever is done to a node goes through the one
// place that knows who may. All that a server needs of a host (its queue, fences, debts,
// undo) is that of any other driver.
//
// Nothing of a guest is kept here but what the API can't be asked for: see note.
package ironic
