// Package tftp serves files by TFTP (RFC 1350) to machines that have no system yet: it is
// read from, and never written to. Of the options (RFC 2347) it knows the size of blocks
// (RFC 2348), the time until something is sent again, and the size of the file (RFC 2349).
//
// Nobody says who they are in this protocol, and a packet may say that it comes from
// somebody else; so each read is bounded: in its packets, in how often one is sent again,
// and with the others in number, for each client and for all. A request beyond that gets no
// answer, and whoever has sent it sends it again.
//
// What a name stands for is the caller's to say.
//
// Where it is used: activities/boot.
package tftp
