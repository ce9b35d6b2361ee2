package tftp

// Packets.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// The kinds of packets.
const (
	opRead    = 1
	opWrite   = 2
	opData    = 3
	opAck     = 4
	opError   = 5
	opOptions = 6
)

// Codes of errors.
const (
	codeOther    = 0
	codeNotFound = 1
	codeDenied   = 2
	codeIllegal  = 4
	codeUnknown  = 5 // a transfer that isn't known
)

// Options, by their names.
const (
	optBlockSize = "blksize"
	optTimeout   = "timeout"
	optSize      = "tsize"
)

// request is what a client asks for.
type request struct {
	op         uint16
	name, mode string
	options    []option // in the order in which they were asked for
}

// option is one of them, its name in small letters.
type option struct{ name, value string }

var errPacket = errors.New("the packet is no request")

// maxOptions bounds how many options of a request are looked at.
const maxOptions = 16

// readRequest reads one.
func readRequest(packet []byte) (request, error) {
	if len(packet) < 2 {
		return request{}, errPacket
	}
	r := request{op: binary.BigEndian.Uint16(packet)}
	if r.op != opRead && r.op != opWrite {
		return request{}, errPacket
	}
	fields := bytes.Split(packet[2:], []byte{0})
	if len(fields) < 3 || len(fields[len(fields)-1]) > 0 || len(fields[0]) == 0 { // each field ends with a zero
		return request{}, errPacket
	}
	r.name, r.mode = string(fields[0]), strings.ToLower(string(fields[1]))
	for rest := fields[2 : len(fields)-1]; len(rest) >= 2 && len(r.options) < maxOptions; rest = rest[2:] {
		r.options = append(r.options, option{strings.ToLower(string(rest[0])), string(rest[1])})
	}
	return r, nil
}

// acknowledged is the packet that says which options count.
func acknowledged(options []option) []byte {
	packet := binary.BigEndian.AppendUint16(nil, opOptions)
	for _, o := range options {
		packet = append(append(append(append(packet, o.name...), 0), o.value...), 0)
	}
	return packet
}

// failed is the packet that says what is wrong.
func failed(code uint16, text string) []byte {
	packet := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, opError), code)
	return append(append(packet, text...), 0)
}

// header begins a packet about a block.
func header(op, block uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, op), block)
}

// number is the value of an option within bounds.
func (o option) number(least, most int64) (n int64, ok bool) {
	n, err := strconv.ParseInt(o.value, 10, 64)
	return n, err == nil && n >= least && n <= most
}
