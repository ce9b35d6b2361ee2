package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

func TestConstant(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-01bfb000 r-xp 00000000 fe:01 42   /usr/bin/holdfast":           true,
		"01bfb000-03801000 r--p 017fb000 fe:01 42   /usr/bin/holdfast":           true,
		"03801000-03946000 rw-p 03401000 fe:01 42   /usr/bin/holdfast":           false,
		"7f1200000000-7f1200021000 r-xp 00000000 fe:01 43   /usr/lib/libc.so.6":  false,
		"7ffc00000000-7ffc00021000 r-xp 00000000 00:00 0    [vdso]":              false,
		"c000000000-c000400000 rw-p 00000000 00:00 0":                            false,
		"00400000-01bfb000 r-xp 00000000 fe:01 42   /usr/bin/holdfast (deleted)": false,
		"0040000g-01bfb000 r-xp 00000000 fe:01 42   /usr/bin/holdfast":           false,
	} {
		from, to, ok := constant(line, "/usr/bin/holdfast")
		if ok != want || ok && (from == 0 || to <= from) {
			t.Errorf("%q: %x to %x, %t", line, from, to, ok)
		}
	}
}

// The program runs on without what it has let go of, and takes less.
func TestForgetStart(t *testing.T) {
	resident := func() (kib int) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(status, []byte("RssFile:"))
		if _, err := fmt.Sscan(string(rest), &kib); err != nil {
			t.Fatal(err)
		}
		return kib
	}
	before := resident()
	if err := forgetStart(); err != nil {
		t.Fatal(err)
	}
	after := resident()
	if t.Logf("%d kB of files were resident, %d are", before, after); after >= before {
		t.Errorf("%d kB of files were resident, and %d are", before, after)
	}
}
