// Package yaql evaluates the part of the query language YAQL that templates
// use, within a budget of its own: so many steps, so many elements of a
// collection, so many bytes of a value.
//
// Covered: literals, lists, maps and sets, variables, attributes and indexes, all
// operators, let, with and ->, lambdas, keyword arguments, and the functions
// that the tables in functions_*.go list. Not covered: definitions of
// functions (def), calls by name (call), dates and times, random numbers, and
// yaqlized objects; each of those is the error "Unknown function". Regular
// expressions are those without lookaround and back references. A set keeps the
// order in which its elements came, which the original's has not, and is given
// back as a list.
//
// The package is pure and takes values of package value. internal/hot calls it
// for the function yaql of a template.
package yaql
