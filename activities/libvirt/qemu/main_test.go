package qemu

import (
	"testing"

	"holdfast.dev/activities/libvirt/libvirttest"
)

func TestMain(m *testing.M) { libvirttest.Main(m) }
