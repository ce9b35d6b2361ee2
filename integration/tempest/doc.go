// Package tempest runs tempest, OpenStack's own test suite, and its plugin for bare
// metal from PyPI against `holdfast dev` with two simulated hosts, a conductor and the
// companions: hence its build tag.
//
//	make suites                       everything that tests.yaml lists, to docs/results/suites.md
//	make suites TESTS=test_live_mig   those of them that a regular expression finds, to the terminal
//
// tempest makes the users and projects of its tests itself. Nobody logs into
// simulated guests, so tempest is told not to. The plugin's nodes are of the hardware
// type fake-hardware, and nothing is deployed on them.
package tempest
