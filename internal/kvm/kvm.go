// Package kvm tells whether this machine's KVM can run guests. It opens the
// device and changes nothing.
package kvm

import (
	"os"
	"syscall"
	"unsafe"
)

const (
	// kvmCreateVM and kvmSupportedCPUID are ioctls of /dev/kvm.
	kvmCreateVM       = 0xAE01
	kvmSupportedCPUID = 0xC008AE05
	maxLeaves         = 256
)

// cpuidLeaves is struct kvm_cpuid2 of the kernel.
type cpuidLeaves struct {
	n, _   uint32
	leaves [maxLeaves]struct {
		function, index, flags, eax, ebx, ecx, edx uint32
		_                                          [3]uint32
	}
}

// sse3 is bit 0 of leaf 1's ecx. Every processor with virtualization has it.
const sse3 = 1

// Device is what hypervisors open.
const Device = "/dev/kvm"

// Works opens the device, makes a virtual machine, and looks at what its
// processors would have. A device that is there but says no, or one that offers
// less than any such processor has (seen where a machine is nested: guests start
// and never get past their boot loader), is no KVM.
func Works() bool {
	device, err := os.OpenFile(Device, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer device.Close()
	vm, _, errno := syscall.Syscall(syscall.SYS_IOCTL, device.Fd(), kvmCreateVM, 0)
	if errno != 0 {
		return false
	}
	_ = syscall.Close(int(vm)) // nothing was done with it
	supported := cpuidLeaves{n: maxLeaves}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, device.Fd(), kvmSupportedCPUID, uintptr(unsafe.Pointer(&supported))); errno != 0 {
		return false
	}
	for _, leaf := range supported.leaves[:supported.n] {
		if leaf.function == 1 {
			return leaf.ecx&sse3 != 0
		}
	}
	return false
}
