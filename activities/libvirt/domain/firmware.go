package domain

// BIOS or UEFI, with or without secure boot.

import "libvirt.org/go/libvirtxml"

func firmware(_ *Plan, properties Properties, d *libvirtxml.Domain) error {
	kind, err := properties.oneOf("hw_firmware_type", "bios", "bios", "uefi")
	if err != nil {
		return err
	}
	secure, err := secureBoot(properties)
	if err != nil {
		return err
	}
	if kind == "bios" {
		if secure {
			return invalid("os_secure_boot", "required", "used with hw_firmware_type=uefi")
		}
		return nil
	}
	// libvirt finds the files by the descriptions that firmware packages bring.
	d.OS.Firmware = "efi"
	d.OS.Loader = &libvirtxml.DomainLoader{Secure: "no"}
	enabled := "no"
	if secure {
		d.OS.Loader.Secure, enabled = "yes", "yes"
		d.Features = &libvirtxml.DomainFeatureList{SMM: &libvirtxml.DomainFeatureSMM{State: "on"}}
	}
	d.OS.FirmwareInfo = &libvirtxml.DomainOSFirmwareInfo{Features: []libvirtxml.DomainOSFirmwareFeature{
		{Enabled: enabled, Name: "secure-boot"}}}
	return nil
}

// secureBoot says that it is required; "optional" goes without.
func secureBoot(properties Properties) (bool, error) {
	value, ok := properties.flavorFirst("os:secure_boot", "os_secure_boot")
	if !ok {
		return false, nil
	}
	switch value {
	case "required":
		return true, nil
	case "optional", "disabled":
		return false, nil
	}
	return false, invalid("os_secure_boot", value, "one of required, optional, disabled")
}
