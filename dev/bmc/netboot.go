package bmc

// Booting by the network, as firmware and boot loaders do it: whoever gives the machine an
// address says which boot loader it begins with, and that reads the rest.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// DHCP is what machines are told by whoever gives them an address.
type DHCP struct {
	// TFTP is where the server of that protocol listens: no option has its port.
	TFTP string
	// Options are by their names, as ports of Neutron have them.
	Options map[string]string
}

// Loaders are the boot loaders that simulated machines can run, by the names of their
// files, and what each of them is.
var Loaders = map[string]string{"undionly.kpxe": loaderIPXE, "snponly.efi": loaderIPXE, "pxelinux.0": loaderPXELinux, "bootx64.efi": loaderGRUB}

// What is in the files, by which a simulated machine knows what it runs.
const (
	loaderIPXE     = "a simulated iPXE"
	loaderPXELinux = "a simulated PXELINUX"
	loaderGRUB     = "a simulated GRUB"
)

// WriteLoaders writes the boot loaders into a folder, which it makes.
func WriteLoaders(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	for name, content := range Loaders {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return err
}

// Offer says what the machine is told when it asks for an address.
func (m *Machine) Offer(d DHCP) {
	m.OfferFrom(func(context.Context) (DHCP, error) { return d, nil })
}

// OfferFrom says who is asked what the machine is told, each time that it asks for an address.
func (m *Machine) OfferFrom(ask func(context.Context) (DHCP, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offer = ask
}

// OfferIPXE says to all machines that iPXE boots them, which is served by TFTP at one address
// and goes on at another.
func (s *Service) OfferIPXE(tftp, url string) {
	for _, m := range s.Machines {
		m.Offer(DHCP{tftp, map[string]string{"tag:!ipxe,67": "snponly.efi", "tag:ipxe,67": url + "/boot.ipxe"}})
	}
}

// errNext has firmware go on with the machine's next device.
var errNext = errors.New("nothing is to be booted by the network")

// maxBooted bounds what is read of what is booted.
const maxBooted = 64 << 20

// fromNetwork does what the machine finds there, and gives what the kernel is told. Errors:
// errNext.
func (m *Machine) fromNetwork(ctx context.Context, ask func(context.Context) (DHCP, error)) (map[string]string, error) {
	var offer DHCP
	if ask != nil {
		var err error
		if offer, err = ask(ctx); err != nil {
			return nil, fmt.Errorf("ask for an address: %w", err)
		}
	}
	option := func(names ...string) (value string) {
		for _, name := range names {
			if value = offer.Options[name]; value != "" {
				break
			}
		}
		return value
	}
	n := network{ctx: ctx, machine: m, tftp: offer.TFTP}
	first := option("tag:!ipxe,67", "67")
	if first == "" {
		return nil, errors.New("nobody tells the machine what to boot")
	}
	at := &url.URL{Scheme: "tftp", Host: offer.TFTP, Path: "/"}
	loader, err := n.read(at, first)
	if err != nil {
		return nil, err
	}
	switch string(loader) {
	case loaderIPXE:
		script := option("tag:ipxe,67")
		if script == "" {
			return nil, errors.New("nobody tells iPXE what to run")
		}
		return n.ipxe(at, script)
	case loaderPXELinux:
		return n.pxelinux(at)
	case loaderGRUB:
		from, err := at.Parse(first)
		if err != nil {
			return nil, err
		}
		return n.grub(from)
	}
	return nil, fmt.Errorf("%s is no boot loader", first)
}

// network is a machine that is booted by the network.
type network struct {
	ctx     context.Context
	machine *Machine
	// tftp is where that is spoken, whatever host an address has.
	tftp string
}

// read reads a file by its address, or by its path beside another.
func (n network) read(beside *url.URL, path string) ([]byte, error) {
	at, err := beside.Parse(path)
	if err != nil {
		return nil, err
	}
	if at.Scheme == "tftp" {
		return ReadTFTP(n.ctx, n.tftp, at.Path, tftpBlock)
	}
	var content bytes.Buffer
	_, err = fetch(n.ctx, at.String(), &content, maxBooted)
	return content.Bytes(), err
}

// load reads what is run: it must not be empty.
func (n network) load(beside *url.URL, path string) error {
	content, err := n.read(beside, path)
	if err == nil && len(content) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("load %q: %w", path, err)
	}
	return nil
}

// booted loads a kernel and a ramdisk, and gives what the kernel is told.
func (n network) booted(beside *url.URL, kernel, ramdisk string, words []string) (map[string]string, error) {
	if err := errors.Join(n.load(beside, kernel), n.load(beside, ramdisk)); err != nil {
		return nil, err
	}
	return parameters(words), nil
}

// mac is the machine's hardware address with a letter between its bytes.
func (n network) mac(between string) string {
	return strings.ReplaceAll(n.machine.MAC, ":", between)
}

// pxelinux does what the machine's configuration for that says.
func (n network) pxelinux(at *url.URL) (map[string]string, error) {
	text, err := n.read(at, "pxelinux.cfg/01-"+n.mac("-"))
	if err != nil {
		return nil, err
	}
	var kernel, ramdisk string
	var words []string
	for line := range strings.Lines(string(text)) {
		switch all := strings.Fields(line); {
		case len(all) < 2:
		case all[0] == "kernel":
			kernel = all[1]
		case all[0] == "append":
			words = append(words, all[1:]...)
		case all[0] == "ipappend" && all[1] == "2":
			words = append(words, "BOOTIF=01-"+n.mac("-"))
		}
	}
	for _, w := range words {
		if path, is := strings.CutPrefix(w, "initrd="); is {
			ramdisk = path
		}
	}
	return n.booted(at, kernel, ramdisk, words)
}

// grub does what the machine's configuration for that says, which the first one names.
func (n network) grub(at *url.URL) (map[string]string, error) {
	expand := strings.NewReplacer("${net_default_mac}", n.machine.MAC)
	var kernel, ramdisk string
	var words []string
	for next := "/grub/grub.cfg"; next != ""; {
		text, err := n.read(at, next)
		if err != nil {
			return nil, err
		}
		next = ""
		for line := range strings.Lines(expand.Replace(string(text))) {
			switch all := strings.Fields(line); {
			case len(all) < 2:
			case all[0] == "configfile":
				next = all[1]
			case all[0] == "linux":
				kernel, words = all[1], all[2:]
			case all[0] == "initrd":
				ramdisk = all[1]
			}
		}
	}
	return n.booted(at, kernel, ramdisk, words)
}
