package bmc

// How firmware reads a file by TFTP.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

const (
	tftpBlock = 1432
	// tftpWait is how long an answer is waited for, and tftpTries how often.
	tftpWait  = time.Second
	tftpTries = 8
	// maxTFTP bounds what is read by it.
	maxTFTP = 64 << 20
)

// ReadTFTP reads a file by its name from a server, which may take blocks of a size, and
// offers it; 0 asks for no options.
func ReadTFTP(ctx context.Context, server, name string, block int) ([]byte, error) {
	to, err := net.ResolveUDPAddr("udp4", server)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: loopback})
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // everything was read from it
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	r := tftpRead{conn: conn, to: to, block: 512, said: binary.BigEndian.AppendUint16(nil, 1)}
	r.say(name, "octet")
	if block > 0 {
		r.say("blksize", strconv.Itoa(block), "tsize", "0")
	}
	return r.all()
}

// tftpRead is a file that is being read.
type tftpRead struct {
	conn  *net.UDPConn
	to    *net.UDPAddr
	block int
	size  int    // what the server has said; 0 for nothing
	said  []byte // the last packet, which is sent again
	last  uint16 // the last block that has come
	known bool   // the server's port is the transfer's
}

func (r *tftpRead) say(words ...string) {
	for _, w := range words {
		r.said = append(append(r.said, w...), 0)
	}
}

func (r *tftpRead) all() ([]byte, error) {
	var whole bytes.Buffer
	for {
		packet, err := r.next()
		if err != nil {
			return nil, err
		}
		block := binary.BigEndian.Uint16(packet[2:])
		switch op := binary.BigEndian.Uint16(packet); {
		case op == 5:
			return nil, fmt.Errorf("the server says: %s (%d)", bytes.TrimRight(packet[4:], "\x00"), block)
		case op == 6 && r.last == 0:
			if err := r.agree(packet[2:]); err != nil {
				return nil, err
			}
			r.said = acknowledge(0)
			continue
		case op == 3 && block == r.last+1:
			whole.Write(packet[4:])
			r.last, r.said = block, acknowledge(block)
		default:
			continue // it has come before
		}
		if whole.Len() > maxTFTP {
			return nil, errors.New("the file has no end")
		}
		if len(packet) < 4+r.block {
			_, err := r.conn.WriteToUDP(r.said, r.to)
			if err == nil && r.size > 0 && r.size != whole.Len() {
				err = fmt.Errorf("%d bytes have come of %d", whole.Len(), r.size)
			}
			return whole.Bytes(), err
		}
	}
}

func acknowledge(block uint16) []byte { return binary.BigEndian.AppendUint16([]byte{0, 4}, block) }

// agree reads what the server has said of the options.
func (r *tftpRead) agree(said []byte) (err error) {
	words := bytes.Split(said, []byte{0})
	for i := 0; i+1 < len(words) && err == nil; i += 2 {
		switch to := map[string]*int{"blksize": &r.block, "tsize": &r.size}[string(words[i])]; {
		case to != nil:
			*to, err = strconv.Atoi(string(words[i+1]))
		case len(words[i]) > 0:
			err = fmt.Errorf("the server has an option %s that was not asked for", words[i])
		}
	}
	return err
}

// next sends the last packet until the server answers, and gives that.
func (r *tftpRead) next() ([]byte, error) {
	packet := make([]byte, 1<<16)
	for range tftpTries {
		if _, err := r.conn.WriteToUDP(r.said, r.to); err != nil {
			return nil, err
		}
		if err := r.conn.SetReadDeadline(time.Now().Add(tftpWait)); err != nil {
			return nil, err
		}
		for {
			n, from, err := r.conn.ReadFromUDP(packet)
			var slow net.Error
			if errors.As(err, &slow) && slow.Timeout() {
				break
			}
			if err != nil {
				return nil, err
			}
			if n < 4 || !from.IP.Equal(r.to.IP) || r.known && from.Port != r.to.Port {
				continue
			}
			r.to, r.known = from, true
			return packet[:n], nil
		}
	}
	return nil, errors.New("the server doesn't answer")
}
