package ipmi

// Packets: RMCP, the session's frame in it, and the message in that.

import (
	"crypto/hmac"
	"encoding/binary"
)

// payload is what a packet carries.
type payload byte

const (
	message      payload = 0x00
	openRequest  payload = 0x10
	openResponse payload = 0x11
	rakp1        payload = 0x12
	rakp2        payload = 0x13
	rakp3        payload = 0x14
	rakp4        payload = 0x15
	// secured says of a payload that it is encrypted and signed.
	secured payload = 0xc0
)

// rmcp begins every packet: version 6, no acknowledgement, class IPMI, RMCP+.
var rmcp = []byte{0x06, 0x00, 0xff, 0x07, 0x06}

// frame is the length of what is before the payload, and rmcpLength that of what is before
// what a code signs.
const (
	frame      = 16
	rmcpLength = 4
	// nextHeader ends what a code signs.
	nextHeader = 0x07
)

func packet(kind payload, session, sequence uint32, body []byte) []byte {
	p := append(append([]byte(nil), rmcp...), byte(kind))
	p = binary.LittleEndian.AppendUint32(p, session)
	p = binary.LittleEndian.AppendUint32(p, sequence)
	p = binary.LittleEndian.AppendUint16(p, uint16(len(body)))
	return append(p, body...)
}

// unpacked is a packet's payload, and all that comes after it; not ok if it is none of the
// session's.
func unpacked(p []byte, kind payload, session uint32) (body, rest []byte, ok bool) {
	if len(p) < frame || p[0] != rmcp[0] || p[3]&0x1f != rmcp[3] || p[4] != rmcp[4] || payload(p[5]) != kind ||
		binary.LittleEndian.Uint32(p[6:]) != session {
		return nil, nil, false
	}
	end := frame + int(binary.LittleEndian.Uint16(p[14:]))
	if end > len(p) {
		return nil, nil, false
	}
	return p[frame:end], p[end:], true
}

// sealed is a packet of a session, signed.
func (k keys) sealed(session, sequence uint32, plain []byte) ([]byte, error) {
	body, err := k.encrypted(plain)
	if err != nil {
		return nil, err
	}
	p := packet(message|secured, session, sequence, body)
	n := byte(0)
	for ; (len(p)-rmcpLength+2)%4 != 0; n++ {
		p = append(p, 0xff)
	}
	p = append(p, n, nextHeader)
	return append(p, k.mac(k.integrity, p[rmcpLength:])[:k.code]...), nil
}

// opened is the payload of a packet that sealed made for a session.
func (k keys) opened(p []byte, session uint32) (plain []byte, ok bool) {
	body, rest, ok := unpacked(p, message|secured, session)
	if !ok || len(rest) < 2+k.code {
		return nil, false
	}
	signed := len(p) - k.code
	if !hmac.Equal(p[signed:], k.mac(k.integrity, p[rmcpLength:signed])[:k.code]) {
		return nil, false
	}
	return k.decrypted(body)
}

// Addresses on the bus: the BMC's, and that of software far from it.
const (
	bmcAddress    = 0x20
	remoteAddress = 0x81
)

// request is a command as a message.
func request(c Command, sequence byte) []byte {
	m := []byte{bmcAddress, byte(c.NetFn) << 2}
	m = append(m, checksum(m))
	body := append([]byte{remoteAddress, sequence << 2, c.Code}, c.Data...)
	return append(append(m, body...), checksum(body))
}

// answer reads the message that answers a command.
func answer(m []byte, c Command, sequence byte) (code Code, data []byte, ok bool) {
	if len(m) < 8 || m[1]>>2 != byte(c.NetFn)|1 || m[4]>>2 != sequence || m[5] != c.Code ||
		checksum(m[:2]) != m[2] || checksum(m[3:len(m)-1]) != m[len(m)-1] {
		return 0, nil, false
	}
	return Code(m[6]), m[7 : len(m)-1], true
}

// checksum makes the sum of the bytes and itself a multiple of 256.
func checksum(all []byte) (sum byte) {
	for _, b := range all {
		sum -= b
	}
	return sum
}
