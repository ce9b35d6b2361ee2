// Package value holds the values a template is made of, with the semantics
// that the original's language gives them: maps keep the order of their keys,
// 1, 1.0 and True are equal, integers have any size, and text forms are
// Python's.
//
// A value is nil, bool, string, *big.Int, float64, []any or *Map. Values are
// never changed once they are read, so parts of them may be shared.
//
// The package is pure. internal/hot reads templates into values, resolves
// functions to values, and hands them to activities and the API; Of takes in
// what those have, and a Map marshals to JSON in its own order.
package value
