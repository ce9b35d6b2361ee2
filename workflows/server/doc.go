// Package server has the workflows of operations on servers, one file each.
// They touch nothing but steps; the undo of every effect is in undo.go, what a
// finished operation makes true of the row in outcome.go.
package server
