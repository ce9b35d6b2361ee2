package steps

// ResetState is the input of operations.ServerResetState.
type ResetState struct {
	// VMState is what the server is to be: active or error.
	VMState string `json:"vm_state"`
}
