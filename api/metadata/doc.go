// Package metadata serves servers what they are told about themselves, behind
// Neutron's metadata proxy: the proxy says which server asks and signs it
// (spec 001 section 9). By a guest's address alone nothing is served, since the
// network doesn't prove it here (DESIGN section 7).
//
// What is told is internal/metadata's matter; where it is read from, the
// Source's.
package metadata
