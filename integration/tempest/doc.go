// Package tempest runs tempest, OpenStack's own test suite, from PyPI against
// `holdfast dev` with two simulated hosts and the companions: hence its build tag.
//
//	make suites                       everything that tests.yaml lists, to docs/results/suites.md
//	make suites TESTS=test_live_mig   those of them that a regular expression finds, to the terminal
//
// tempest makes the users and projects of its tests itself. Nobody logs into
// simulated guests, so tempest is told not to.
package tempest
