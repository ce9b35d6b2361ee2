package tftp

// A transfer: one file to one client, a block at a time.

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

const (
	usualBlock = 512
	leastBlock = 8
	// mostBlock goes into a packet of Ethernet with its headers, so that none comes in
	// pieces, which firmware often can't put together.
	mostBlock = 1468
	// tries is how often a packet is sent.
	tries = 6
	// mostTimeout bounds what a client may ask for, in seconds.
	mostTimeout = 10
)

// transfer is one of them.
type transfer struct {
	conn    *net.UDPConn
	to      netip.AddrPort
	block   int
	timeout time.Duration
}

// errGone is the end of a client that gives no answer, or wants no more.
var errGone = errors.New("the client is gone")

// send sends a file. That it failed the client finds out.
func (t *transfer) send(file File, asked []option) {
	if agreed := t.agree(asked, file.Size); len(agreed) > 0 {
		if t.deliver(acknowledged(agreed), 0) != nil {
			return
		}
	}
	packet := make([]byte, 4+t.block)
	for number := uint16(1); ; number++ { // begins anew after 65535, as clients know
		n, err := io.ReadFull(file, packet[4:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.refuse(codeOther, "the file can't be read to its end")
			return
		}
		copy(packet, header(opData, number))
		if t.deliver(packet[:4+n], number) != nil || n < t.block {
			return
		}
	}
}

// agree gives the options that count, of those that were asked for.
func (t *transfer) agree(asked []option, size int64) (agreed []option) {
	for _, o := range asked {
		switch o.name {
		case optBlockSize:
			if n, ok := o.number(leastBlock, 65464); ok {
				t.block = int(min(n, mostBlock))
				agreed = append(agreed, option{o.name, strconv.Itoa(t.block)})
			}
		case optTimeout:
			if n, ok := o.number(1, mostTimeout); ok {
				t.timeout = time.Duration(n) * time.Second
				agreed = append(agreed, o)
			}
		case optSize:
			agreed = append(agreed, option{o.name, strconv.FormatInt(size, 10)})
		}
	}
	return agreed
}

// deliver sends a packet until the client says that it has it. One that it says it has had
// before is not answered to, or each packet would be sent twice from then on.
func (t *transfer) deliver(packet []byte, number uint16) error {
	said := make([]byte, 4+usualBlock)
	for range tries {
		if _, err := t.conn.WriteToUDPAddrPort(packet, t.to); err != nil {
			return err
		}
		if err := t.conn.SetReadDeadline(time.Now().Add(t.timeout)); err != nil {
			return err
		}
		for {
			n, from, err := t.conn.ReadFromUDPAddrPort(said)
			var slow net.Error
			switch {
			case errors.As(err, &slow) && slow.Timeout():
			case err != nil:
				return err
			case from != t.to:
				_, _ = t.conn.WriteToUDPAddrPort(failed(codeUnknown, "this is somebody else's transfer"), from) // to a stranger
				continue
			case n < 4:
				continue
			case binary.BigEndian.Uint16(said) == opError:
				return errGone
			case binary.BigEndian.Uint16(said) == opAck && binary.BigEndian.Uint16(said[2:]) == number:
				return nil
			default:
				continue
			}
			break
		}
	}
	return errGone
}

// refuse says once what is wrong; a client that doesn't hear it asks again.
func (t *transfer) refuse(code uint16, text string) {
	_, _ = t.conn.WriteToUDPAddrPort(failed(code, text), t.to) // to somebody who may be gone
}
