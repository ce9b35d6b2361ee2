// Package compute is the schema "compute": servers, the hosts they run on, the
// room they take there, flavors and quotas. Rows and queries, one file per noun.
//
// Callers are api (in the request's own transaction), activities/records and
// activities/placement (in an operation's), and the host link. A function that
// changes rows takes a store.Tx and never begins or ends one. What isn't there
// is faults.NotFound with the original's text; what a quota or a host has no
// room for is faults.OverLimit or false. The lock columns of a server
// (operation_id, next_operation_id, generation) belong to internal/engine, which
// finds them by Resource.
package compute
