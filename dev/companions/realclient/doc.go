// Package realclient tries the network and volume companions with the real
// command line client. Its test makes the client's virtual environment from
// PyPI if it isn't there, so it has a build tag:
//
//	go run ./dev/testservices -- go test -tags real ./dev/companions/realclient
package realclient
