// Package image is the image companion: the part of Glance's v2 API that the
// clients and Holdfast use to make, describe, upload, download and delete images.
//
// An image is a row of image.images, its properties flat in one document; its
// data is a file of its id in one folder. The file appears whole, with its
// hashes in the row, or not at all: an upload that was cut short leaves the
// image queued. Import, members, tasks and stores aren't offered.
package image
