// Package walk goes the way of a cloud's user from end to end: `holdfast dev`
// over a real libvirt and QEMU, and the real command line client.
//
// The tests run in namespaces of their own (libvirttest.Isolated), in which no
// libvirtd, no network and no other process is: what is left there is the
// cloud's. Needed are root, the packages of dev/packages.txt, and PyPI for the
// first run, which makes .venv/clients (integration/venv).
//
// `make test` walks the short way: all of it at the newest microversion; at older
// ones a server is made, looked at and deleted; with the client in one Python
// process. `make integration-walk` (HOLDFAST_TEST_FULL=1) walks all of it at each
// microversion and starts the client anew for every command, and has what becomes of
// stacks. What needs several real hosts has a tag: `make integration-moves`.
package walk
