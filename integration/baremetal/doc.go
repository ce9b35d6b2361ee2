// Package baremetal tries the bare metal service with the real client,
// python-ironicclient, whose virtual environment the test makes from PyPI: hence
// its build tag. Every command that the service has rows for is used as a person
// would: made, shown, listed, changed, taken away, and refused.
//
//	make integration-ironicclient
//
// Client is that client, for the tests with real BMCs' software too (real).
package baremetal
