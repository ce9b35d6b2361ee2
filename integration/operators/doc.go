// Package operators tries what an operator does to a whole cloud: restores its
// database from a backup, looks at its metrics and traces.
package operators
