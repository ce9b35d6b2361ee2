// Package companions runs the development cloud's identity, image, network and
// volume services in one process, over one database with a schema for each.
// Everybody reaches them over HTTP through the catalog, they each other too.
package companions
