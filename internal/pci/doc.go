// Package pci knows which devices of a host its guests may have: what an operator
// lets be passed through, what flavors call them, and which of them a guest gets.
// Pure, as internal/numa is.
//
//	settings.go  aliases (pci/alias) and what a host lends (pci/device_spec)
//	request.go   what a flavor asks for
//	assign.go    which devices a guest gets
package pci
