// Package provision compares the state machine of internal/provision with that
// of ironic 39.0.0, installed beside it from PyPI: every state with every event,
// where it leads, what its target becomes by default and with each target that
// can be asked for, and which states are stable. machine.py asks the original's
// own code; no database or conductor is needed.
//
// The tag "real" makes it run (make integration-provision), since it installs
// packages; the figures go to docs/results.
package provision
