package servers

// ExternalEvent is what a service says of a server (os-server-external-events),
// as it is kept in the engine's inbox.
type ExternalEvent struct {
	// Tag says which of the server's things it is about: a port's id.
	Tag string `json:"tag"`
	// Status is "completed", "failed" or "in-progress".
	Status string `json:"status"`
}

// Failed says that what was waited for will not come.
func (e ExternalEvent) Failed() bool { return e.Status == "failed" }
