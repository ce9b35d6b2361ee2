// Package real tries the bare metal service on software that stands for BMCs of libvirt's
// domains: sushy-tools, which speaks Redfish, and virtualbmc, which speaks IPMI. Both come
// from PyPI, hence the build tag. The tests run in namespaces with a libvirtd of their own
// (activities/libvirt/libvirttest); the machines are domains there, without KVM, which boot
// the test image (dev/image) if they are told to start from their disk. One of them boots
// the ramdisk of dev/ramdisk, with ironic-python-agent from PyPI.
//
// machine_test.go makes the domains and looks at them, bmcs_test.go runs the software, and
// lan_test.go has a network for the agent. Each other file is a story of nodes, told with
// python-ironicclient.
//
//	make integration-baremetal
package real
