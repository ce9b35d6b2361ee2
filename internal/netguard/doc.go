// Package netguard makes connections whose address somebody else has a say in:
// a user, a guest, a BMC, an agent, or a catalog.
//
// A Policy says for one use which schemes, ports and networks are allowed and
// how much may come back in what time. It is held at the connect, against the
// address that the name resolved to, so that neither a second lookup nor a
// redirect gets around it. A test of this package finds code in activities, api
// and internal that dials by other means; its list says who may, and why.
package netguard
