package domain

// The serial port: a terminal, and a log of what the guest writes to it. The
// log is virtlogd's, which bounds it and outlives libvirtd and QEMU.

import "libvirt.org/go/libvirtxml"

func console(p *Plan, _ Properties, d *libvirtxml.Domain) error {
	port := uint(0)
	d.Devices.Serials = []libvirtxml.DomainSerial{{
		Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}},
		Target: &libvirtxml.DomainSerialTarget{Type: "isa-serial", Port: &port},
		Log:    &libvirtxml.DomainChardevLog{File: p.ConsoleLog, Append: "off"},
	}}
	return nil
}
