package bmc

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
)

// What a machine was told to start from is taken back with its medium; one whose BMC takes
// nothing back starts from its disk.
func TestEject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keeps bool
		then  BootFrom
		boot  string
	}{
		{false, AsUsual, "{None Disabled UEFI}"},
		{true, AsUsual, "{Hdd Continuous UEFI}"},
		{true, FromDisk, "{Hdd Continuous UEFI}"},
	} {
		w := newWorld(t, "redfish", nil)
		if c.keeps {
			w.Machine.KeepOverrides()
		}
		a := w.activities(w.DB)
		if err := a.Insert(t.Context(), w.Fence, "http://127.0.0.1/a.iso"); err != nil || w.Machine.Medium() == "" || w.Machine.Boot().Target != "Cd" {
			t.Errorf("%v: %q, %v", err, w.Machine.Medium(), w.Machine.Boot())
		}
		for range 2 {
			if err := a.Eject(t.Context(), w.Fence, c.then); err != nil || w.Machine.Medium() != "" || fmt.Sprint(w.Machine.Boot()) != c.boot {
				t.Errorf("%+v: %v: %q, %v", c, err, w.Machine.Medium(), w.Machine.Boot())
			}
		}
	}
}

// Media come into the drives of their kinds and go with them, each other drive stays as it
// was, and another medium takes the place of the one before.
func TestMedia(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	a := w.activities(w.DB)
	for _, c := range []struct {
		ask           steps.NodeCommandInput
		image         string
		medium, stick string
	}{
		{steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{"cdrom"}}, "http://127.0.0.1/1.iso", "http://127.0.0.1/1.iso", ""},
		{steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{"floppy"}}, "http://127.0.0.1/2.img", "http://127.0.0.1/1.iso", "http://127.0.0.1/2.img"},
		{steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{"cdrom"}}, "http://127.0.0.1/3.iso", "http://127.0.0.1/3.iso", "http://127.0.0.1/2.img"},
		{steps.NodeCommandInput{Command: steps.DetachMedia, Media: []string{"cdrom"}}, "", "", "http://127.0.0.1/2.img"},
		{steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{"disk"}}, "http://127.0.0.1/4.img", "", "http://127.0.0.1/4.img"},
		{steps.NodeCommandInput{Command: steps.DetachMedia}, "", "", ""},
	} {
		c.ask.Secret = w.Box.Seal([]byte(c.image), nodes.CommandPlace(w.Node))
		_, err := a.Command(t.Context(), w.told(c.ask))
		if medium, stick := w.Machine.Medium(), w.Machine.Stick(); err != nil || medium != c.medium || stick != c.stick {
			t.Errorf("%s %v: %v: %q, %q", c.ask.Command, c.ask.Media, err, medium, stick)
		}
	}
	if boot := fmt.Sprint(w.Machine.Boot()); boot != "{None Disabled UEFI}" {
		t.Errorf("it starts from %s", boot)
	}
}
