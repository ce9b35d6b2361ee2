// Package debian makes what dev's machines boot of Debian's packages: it fetches and
// unpacks them, knows which modules of a kernel come with which, and packs initial file
// systems.
//
// It runs tools of the packages in dev/packages.txt and writes to the folders that it is
// told; packages come from where the machine's own do.
package debian
