package domain

// A source of randomness, where the image asks for one and the flavor lets it.

import "libvirt.org/go/libvirtxml"

func rng(_ *Plan, properties Properties, d *libvirtxml.Domain) error {
	model, err := properties.oneOf("hw_rng_model", "", "virtio")
	if err != nil || model == "" {
		return err
	}
	if value, ok := properties.flavor["hw_rng:allowed"]; ok {
		if allowed, err := Bool("hw_rng:allowed", value); err != nil || !allowed {
			return err
		}
	}
	device := libvirtxml.DomainRNG{Model: model,
		Backend: &libvirtxml.DomainRNGBackend{Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"}}}
	bytes, err := properties.number("hw_rng:rate_bytes", "")
	if err != nil {
		return err
	}
	period, err := properties.number("hw_rng:rate_period", "")
	if err != nil {
		return err
	}
	if bytes > 0 {
		device.Rate = &libvirtxml.DomainRNGRate{Bytes: uint(bytes), Period: uint(period)}
	}
	d.Devices.RNGs = []libvirtxml.DomainRNG{device}
	return nil
}
