// Package glance carries out the steps of family "glance": what is done to the
// images that are made of servers, in the name of the service user.
//
// Requests make the images (api/compute) and hosts bring their data
// (activities/libvirt); here images without data are described, old backups
// deleted, and images of operations that were undone. Every step checks its fence
// first and finds by the image's id what an earlier call has done.
package glance
