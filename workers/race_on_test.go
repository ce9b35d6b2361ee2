//go:build race

package workers_test

// racing: the race detector's own memory is several times that of a host.
const racing = true
