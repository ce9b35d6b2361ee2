package domain

// The video card. No display is served here; guests only find a card.

import "libvirt.org/go/libvirtxml"

func video(_ *Plan, properties Properties, d *libvirtxml.Domain) error {
	model, err := properties.oneOf("hw_video_model", "virtio", "virtio", "vga", "bochs", "qxl", "cirrus", "none")
	if err == nil {
		d.Devices.Videos = []libvirtxml.DomainVideo{{Model: libvirtxml.DomainVideoModel{Type: model}}}
	}
	return err
}
