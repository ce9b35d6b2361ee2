// Package neutron carries out steps of family "neutron": a server's ports.
//
// One step gives a server all its ports, one takes it off all of them. What is
// asked for and what was got are rows of compute.server_ports, read and written
// here under the operation's fence; the calls are made as the service user.
//
// A port that is made for a server is named by mark (its server and position),
// and no port is made before one of that name was looked for on the server. So
// a step that was killed anywhere finds what it made.
//
// Where the data goes next: records.ServerSpec tells the host what to plug, the
// API shows the rows as a server's addresses.
package neutron
