// Package libvirt carries out steps of family "libvirt": what is done to guests
// on the host that this process runs beside.
//
// Activities stands between Temporal and a Driver. It fences every step by its
// token (fence.go), keeps one step at a time per server and few builds per
// host, sends heartbeats while the driver works (beat.go), and pays what the
// host owes. A Driver does the work: driver.go says what one promises, folder
// simulated has the one whose guests are files. Nothing here has database
// credentials; what a host knows beyond a step's input comes over
// internal/hostlink.
//
// Every step observes before it acts. It may be run twice, and killed at any
// moment and run again.
package libvirt
