// Package nodebench measures what clients read of 10,000 nodes with a port each: pages
// of 1,000 in brief and in full, by filters and by fields, and one at a time.
//
// `make bench-nodes` measures Holdfast and then ironic-api 39.0.0 from PyPI, and leaves
// the figures in docs/results/bench-nodes.md. Holdfast alone takes two minutes:
//
//	go test -run '^$' -bench Nodes -benchtime 1x ./integration/nodebench
//
// Both have the same nodes in the same PostgreSQL, copies of one that each has made of
// the same description itself, and are asked by one client at a time, which follows the
// links to the next page through all pages, again and again. Holdfast is asked with a
// token, and its rules are evaluated; the original asks for none
// (auth_strategy=noauth). The original runs as its command does, with one worker: its
// second one finds the port taken. The conductor that it has nodes belong to is a row
// of its database.
//
// They are figures, never assertions; what fails or is wrong in Holdfast fails the run.
package nodebench
