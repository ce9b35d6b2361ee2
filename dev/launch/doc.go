// Package launch says how each program of a development cloud is run: its
// command line, its secrets, and how one knows that it is ready. What it
// returns is a supervise.Process, not yet started.
package launch
