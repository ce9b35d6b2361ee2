// Package contract asks a running server every operation that the contracts
// have, in the ways that don't depend on what the operation does: as a stranger,
// at microversions that it isn't of, with bodies that nobody can take.
package contract
