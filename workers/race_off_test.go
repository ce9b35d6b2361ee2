//go:build !race

package workers_test

const racing = false
