package cloud

// libvirt: the machine's if it runs, otherwise one of our own.

import (
	"context"
	"net"

	"holdfast.dev/dev/supervise"
)

const libvirtSocket = "/run/libvirt/libvirt-sock"

// startLibvirt starts virtlogd and libvirtd if nobody listens at libvirt's
// socket. Guests are processes of their own and go on when it stops.
func (c *cloud) startLibvirt(ctx context.Context) error {
	if c.Driver != DriverLibvirt || libvirtAnswers(ctx) == nil {
		return nil
	}
	return c.run(ctx,
		&supervise.Process{Name: "virtlogd", Args: []string{"virtlogd"}, LogFile: c.log("virtlogd")},
		&supervise.Process{Name: "libvirtd", Args: []string{"libvirtd"}, LogFile: c.log("libvirtd"), Ready: libvirtAnswers})
}

func libvirtAnswers(ctx context.Context) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", libvirtSocket)
	if err != nil {
		return err
	}
	return conn.Close()
}
