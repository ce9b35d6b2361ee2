// Package rest is the engine that every service API shares. A service is a
// table of Operation rows and a way to word its faults; the engine does the
// rest, in this order: request id, body limit, authentication, route,
// microversion, the row that serves it and its policy, the handler, the answer
// or the fault.
//
// Handlers have the form func(*Request) (*Response, error): they read as the
// story of what happens and know neither gin nor net/http. Errors they return
// are faults of internal/faults, or a Fault where only HTTP knows the rule;
// they become the service's body at one place, faults.go. gin is known in this
// package only.
//
// From here the data goes to api/<service>, which writes to internal/store and
// hands operations to internal/engine.
package rest
