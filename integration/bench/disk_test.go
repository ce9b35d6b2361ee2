package bench

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast.dev/integration/cloud"
)

// fromDisk has the program be read from its disk when it starts, as on a machine
// that was booted. As the linker leaves it in the kernel's cache it lies there in
// large pieces, of which Linux since 6.18 maps the whole at the first touch: a third
// of the program more is counted as resident than is ever used.
func fromDisk(b *testing.B) {
	path, err := cloud.Binary()
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // what isn't written can't be dropped
		b.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		b.Fatal(err)
	}
}
