// Package pyjson reads JSON and prints values as Python does. Clients match on
// messages in which the originals quote what was sent, so a value keeps the
// order of its keys, the difference between 1 and 1.0, and integers of any size.
//
// A value is nil, bool, string, *big.Int, float64, []any or *Object. It is pure
// and bounded: Parse refuses what nests deeper than MaxDepth or holds an integer
// that Python would refuse.
//
// From here a body goes to internal/validation, and then to a handler.
package pyjson
