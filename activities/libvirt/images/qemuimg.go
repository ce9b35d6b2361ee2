package images

// qemu-img, within limits.

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

const (
	// toolMemory and toolCPU bound what one run of qemu-img takes. It is address
	// space that is bounded: a conversion's 64 threads have 8 MiB of stack each.
	toolMemory = 4 << 30
	toolCPU    = 15 * time.Minute
	toolTime   = 18 * time.Minute
)

// QemuImg runs qemu-img with the arguments, none of which may be taken for an
// option by accident: paths are absolute. Errors: Unavailable, or ctx's.
func QemuImg(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	limited := append([]string{"--as=" + strconv.Itoa(toolMemory), "--cpu=" + strconv.Itoa(int(toolCPU.Seconds())), "--core=0", "--", "qemu-img"}, args...)
	cmd := exec.CommandContext(ctx, "prlimit", limited...)
	cmd.Env = []string{"LC_ALL=C", "MALLOC_ARENA_MAX=1", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return faults.Wrap(fmt.Errorf("qemu-img %s: %w: %s", strings.Join(args, " "), err, said.String()),
		faults.Unavailable, "DiskTool", "qemu-img %s failed", args[0])
}
