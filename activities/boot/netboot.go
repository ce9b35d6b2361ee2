package boot

// Booting by the network: what firmware and boot loaders ask for, by TFTP and by HTTP. They
// ask by their machine's hardware address what is to be done, and are led to names that
// can't be guessed.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/tftp"
)

// What boot loaders read first, whatever machine they are on.
const (
	// firstScript has iPXE run the script of each of its interfaces, and the firmware go on
	// with the next device if none boots anything. What can't be read is read again, for
	// five minutes: whoever serves it may come back.
	firstScript = `#!ipxe
set at:int32 0
set missed:int32 0
:look
isset ${net${at}/mac} || goto none
chain --autofree pxelinux.cfg/${net${at}/mac:hexhyp} || goto missed
inc at
goto look
:missed
iseq ${missed} 60 || goto again
goto none
:again
inc missed
sleep 5
goto look
:none
echo No interface of this machine is a port of a node that is to be booted
exit 1
`
	// noScript is that of an interface by which nothing is to be booted.
	noScript = "#!ipxe\n"
	// firstGrub has GRUB look for the configuration of the interface that it was read by.
	firstGrub = "configfile /${net_default_mac}.conf\n"
)

// onwards is the script of an interface whose node another conductor has booted.
func onwards(url, address string) string {
	return "#!ipxe\nchain --autofree " + nodes.ServedAt(url, "pxelinux.cfg/"+strings.ReplaceAll(address, ":", "-")) + "\n"
}

// firstStages are they, by their paths.
var firstStages = map[string]string{nodes.FirstScript: firstScript, "grub/grub.cfg": firstGrub, "boot/grub/grub.cfg": firstGrub}

// Configurations of boot loaders, among a node's files.
const (
	ipxeConfig     = "ipxe"
	pxelinuxConfig = "pxelinux"
	grubConfig     = "grub"
)

// byAddress are the paths at which boot loaders look for them; what is in parentheses is the
// machine's hardware address.
var byAddress = map[string]*regexp.Regexp{
	ipxeConfig:     regexp.MustCompile(`(?i)^pxelinux\.cfg/([0-9a-f]{2}(?:-[0-9a-f]{2}){5})$`),
	pxelinuxConfig: regexp.MustCompile(`(?i)^pxelinux\.cfg/01-([0-9a-f]{2}(?:-[0-9a-f]{2}){5})$`),
	grubConfig:     regexp.MustCompile(`(?i)^([0-9a-f]{2}(?:[:-][0-9a-f]{2}){5})\.conf$`),
}

// writeConfigs writes the configurations of the boot loaders that a node may begin with
// beside its kernel and its ramdisk, which are served under a name.
func (a *Activities) writeConfigs(dir, name string, way nodes.Netboot, told []string) error {
	words := strings.Join(told, " ")
	configs := map[string]string{}
	if way.IPXE {
		configs[ipxeConfig] = fmt.Sprintf(`#!ipxe
:ramdisk
imgfree
kernel %[1]s/%[2]s %[4]s BOOTIF=${mac} initrd=%[3]s || goto again
initrd %[1]s/%[3]s || goto again
boot || goto again
:again
echo What boots this machine is not there yet
sleep 5
goto ramdisk
`, nodes.ServedAt(a.URL, name), kernelPart, ramdiskPart, words)
	} else {
		kernel, ramdisk := "/"+path.Join(name, kernelPart), "/"+path.Join(name, ramdiskPart)
		configs[pxelinuxConfig] = fmt.Sprintf("default ramdisk\n\nlabel ramdisk\nkernel %s\nappend initrd=%s %s\nipappend 2\n", kernel, ramdisk, words)
		configs[grubConfig] = grub(kernel, ramdisk, append(told, "BOOTIF=${net_default_mac}"))
	}
	for file, text := range configs {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// isBootFile says whether something has the name of what a node is booted from.
func isBootFile(name string) bool {
	return strings.HasSuffix(name, nodes.MediumSuffix) || strings.HasSuffix(name, nodes.NetbootSuffix)
}

// served is something that is read.
type served struct {
	io.ReadSeekCloser
	size int64
}

// closed is a text that is read, and needs no end.
type closed struct{ *strings.Reader }

func (closed) Close() error { return nil }

// inline is a text as it is served.
func inline(text string) *served { return &served{closed{strings.NewReader(text)}, int64(len(text))} }

// find opens what is served at a path. Errors: fs.ErrNotExist, the database's, the disk's.
func (a *Activities) find(ctx context.Context, at string) (*served, error) {
	if !fs.ValidPath(at) {
		return nil, fs.ErrNotExist
	}
	if text, first := firstStages[at]; first {
		return inline(text), nil
	}
	for config, pattern := range byAddress {
		if found := pattern.FindStringSubmatch(at); found != nil {
			address := strings.ToLower(strings.ReplaceAll(found[1], "-", ":"))
			file, err := baremetal.BootFileOfPort(ctx, a.db.Pool, address)
			if config == ipxeConfig && a.leadsOn(file) {
				return inline(onwards(file.URL, address)), nil
			}
			one, err := a.open(file, err, config)
			if config == ipxeConfig && errors.Is(err, fs.ErrNotExist) {
				return inline(noScript), nil
			}
			return one, err
		}
	}
	if name, part, _ := strings.Cut(at, "/"); isBootFile(name) {
		file, err := baremetal.BootFileNamed(ctx, a.db.Pool, name)
		return a.open(file, err, part)
	}
	if a.Loaders == "" {
		return nil, fs.ErrNotExist
	}
	return openRegular(a.Loaders, at)
}

// leadsOn says whether a machine is led on to another conductor for what it is booted from. One
// that would come back here is not.
func (a *Activities) leadsOn(file *baremetal.BootFile) bool {
	return file != nil && file.Conductor != a.Conductor && file.URL != "" && file.URL != a.URL
}

// open opens a part of what a node is booted from, if this conductor has that; none is a
// medium itself. The error is that of who has looked for it.
func (a *Activities) open(file *baremetal.BootFile, err error, part string) (*served, error) {
	switch {
	case err != nil:
		return nil, err
	case file == nil || file.Conductor != a.Conductor:
		return nil, fs.ErrNotExist
	}
	return openRegular(a.Dir, path.Join(file.Name, part))
}

// openRegular opens a file, and nothing else, in a folder, and nowhere else. Errors:
// fs.ErrNotExist, the disk's.
func openRegular(dir, at string) (*served, error) {
	f, err := os.OpenInRoot(dir, at)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &served{f, info.Size()}, nil
}

// ServeTFTP serves what machines are booted from by TFTP until ctx ends.
func (a *Activities) ServeTFTP(ctx context.Context, conn *net.UDPConn, log *slog.Logger) error {
	server := tftp.Server{Open: func(ctx context.Context, name string) (tftp.File, error) {
		file, err := a.find(ctx, strings.TrimLeft(name, "/"))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
				log.WarnContext(ctx, "a file is not served by TFTP", "error", redact.Text(err.Error()))
			}
			return tftp.File{}, err
		}
		return tftp.File{ReadCloser: file, Size: file.size}, nil
	}}
	return server.Serve(ctx, conn)
}
