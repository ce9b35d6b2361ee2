// Package agent implements steps.AgentActivities: what is asked of and told to the
// ramdisks of nodes (ironic-python-agent), in a conductor worker.
//
// Where a node's ramdisk is, the token that both share and the certificate that it
// shows are in the node's row, as its heartbeat has said (api/baremetal); no other
// certificate is believed. Nothing of them goes through a workflow.
//
// A ramdisk keeps a list of what it was told while it runs. Before it is told
// something, the place in that list is noted, with the ramdisk that has the list:
// run again, a step looks there, and tells it again only if it isn't.
//
// Connections are made by internal/netguard, and answers are bounded.
package agent
