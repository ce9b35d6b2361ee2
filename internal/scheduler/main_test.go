package scheduler

import (
	"flag"
	"os"
	"testing"
)

// Each of the properties is tried on 20,000 random clouds unless told
// otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		if err := flag.Set("rapid.checks", "20000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
