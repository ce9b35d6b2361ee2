// Package iso makes and reads images of ISO 9660: what machines are booted from
// by virtual media, and the config drives of nodes.
//
// It touches the files that it is told and a folder for its work beside them,
// which is gone afterwards.
package iso
