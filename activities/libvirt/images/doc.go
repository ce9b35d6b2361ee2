// Package images keeps the images that a host's guests start from.
//
// An image is downloaded once, checked against the hash that Glance knows, and
// its header is read here before any other program sees it (format.go): one
// that names another file, or isn't what its disk_format says, is refused. What
// is no raw image is converted to one by qemu-img within limits of time, memory
// and processor (qemuimg.go). The result is the image's base, a file under the
// cache's folder named by the image's id and hash (cache.go).
//
// A guest takes a hard link to its base into its own folder, so a base may be
// dropped from the cache at any time, and one that guests use is known by its
// count of links: dropping it would free no room.
//
// Where an image comes from is a Source: the host link says, and the bytes come
// from Glance (download.go).
package images
