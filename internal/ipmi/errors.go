package ipmi

// What can go wrong, as callers tell it apart.

import (
	"errors"
	"fmt"
)

var (
	// ErrSilent says that no answer came in time.
	ErrSilent = errors.New("the BMC does not answer")
	// ErrKey says that the BMC knows another password, or another key of its own.
	ErrKey = errors.New("the BMC has another user, password or Kg key")
	// ErrSuite says that the BMC has none of the cipher suites that it may be talked to with.
	ErrSuite = errors.New("the BMC has none of the cipher suites that are asked for")
)

// Code is what a BMC says of a command that it doesn't do.
type Code byte

// codes are the words for those that are common to all commands (IPMI 2.0, table 5-2).
var codes = map[Code]string{
	0xc0: "node busy", 0xc1: "invalid command", 0xc2: "command invalid for the LUN", 0xc3: "timeout", 0xc4: "out of space",
	0xc5: "reservation cancelled or invalid", 0xc6: "request data truncated", 0xc7: "request data length invalid", 0xc8: "request data length limit exceeded",
	0xc9: "parameter out of range", 0xca: "cannot return the number of requested bytes", 0xcb: "requested sensor, data or record not present",
	0xcc: "invalid data field in request", 0xcd: "command illegal for the sensor or record", 0xce: "response not provided", 0xcf: "duplicated request",
	0xd0: "SDR repository in update mode", 0xd1: "device in firmware update mode", 0xd2: "BMC initialization in progress", 0xd3: "destination unavailable",
	0xd4: "insufficient privilege level", 0xd5: "command not supported in the present state", 0xd6: "sub-function disabled", 0xff: "unspecified error",
}

func (c Code) Error() string {
	if text := codes[c]; text != "" {
		return fmt.Sprintf("the BMC says: %s (0x%02x)", text, byte(c))
	}
	return fmt.Sprintf("the BMC says: 0x%02x", byte(c))
}

// Temporary says whether the same command may be done later.
func (c Code) Temporary() bool {
	switch c {
	case 0xc0, 0xc3, 0xc4, 0xce, 0xd1, 0xd2:
		return true
	}
	return false
}

// Status is what a BMC says to who wants a session and gets none.
type Status byte

// statuses are the words for them (IPMI 2.0, table 13-15).
var statuses = map[Status]string{
	0x01: "insufficient resources for a session", 0x02: "invalid session ID", 0x03: "invalid payload type", 0x04: "invalid authentication algorithm",
	0x05: "invalid integrity algorithm", 0x06: "no matching authentication payload", 0x07: "no matching integrity payload", 0x08: "inactive session ID",
	0x09: "invalid role", 0x0a: "unauthorized role or privilege level requested", 0x0b: "insufficient resources for a session at the role requested",
	0x0c: "invalid name length", 0x0d: "unauthorized name", 0x0e: "unauthorized GUID", 0x0f: "invalid integrity check value",
	0x10: "invalid confidentiality algorithm", 0x11: "no cipher suite match", 0x12: "illegal or unrecognized parameter",
}

func (s Status) Error() string {
	if text := statuses[s]; text != "" {
		return fmt.Sprintf("the BMC gives no session: %s (0x%02x)", text, byte(s))
	}
	return fmt.Sprintf("the BMC gives no session: 0x%02x", byte(s))
}

// Temporary says whether there may be a session later.
func (s Status) Temporary() bool {
	switch s {
	case 0x01, 0x02, 0x08, 0x0b:
		return true
	}
	return false
}

// ofTheSuite says whether another cipher suite may do.
func (s Status) ofTheSuite() bool {
	switch s {
	case 0x04, 0x05, 0x09, 0x10, 0x11:
		return true
	}
	return false
}
