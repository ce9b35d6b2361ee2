// Package provider says what a host has of resource classes and traits that nobody
// finds out by himself: an operator's file names them (Nova's provider.yaml), a
// report of the host carries them. It is pure: a file is read from what its caller
// has opened.
//
//	inventory.go  an amount of a class, and what may be promised of it
//	file.go       the file, and which of what it says is whose
//
// Classes and traits are custom ones: those of the release are said by drivers.
package provider
