// Package ipmi talks IPMI 2.0 to management controllers: sessions by RMCP+, which are
// authenticated and encrypted, with cipher suite 17 or 3.
//
// A connection is given to it, so that others decide whom it may reach. What comes back is
// believed only if it is signed with the session's key and answers what was asked; anything
// else is passed over, whatever it holds. A request without an answer is sent again, but for
// those that must not happen twice.
//
// Where it is used: activities/bmc.
package ipmi
