// Test of the ports of the inner services.

package main

import "testing"

// No port is given twice, though nobody listens at it yet.
func TestFreePort(t *testing.T) {
	given := map[int]bool{}
	for range 300 {
		port, err := freePort("127.0.0.1")
		if err != nil || given[port] {
			t.Fatalf("port %d: %v, given before: %t", port, err, given[port])
		}
		given[port] = true
	}
}
