// Package rest is the engine that every service API shares. A service is a
// table of Operation rows and a way to word its faults; the engine does the
// rest, in the order of the originals' pipelines, which decides what a client is
// told of several things wrong: origin of the page, request id, body limit,
// authentication, route, microversion, content type, action, JSON, the project
// in the path, the row that serves the microversion, what is gone, schemas of
// query and body, policy, the handler, the answer or the fault.
//
// All services share one port, each below its mount ("/compute/v2.1/..."); the
// first, or on a traditional port its own, is at the root as well.
//
// Handlers have the form func(*Request) (*Response, error): they read as the
// story of what happens and don't know net/http. Errors they return are faults of
// internal/faults, or a Fault where only HTTP knows the rule; they become the
// service's body at one place, faults.go.
//
// From here the data goes to api/<service>, which writes to internal/store and
// hands operations to internal/engine.
package rest
