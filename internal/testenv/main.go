// TestMain's work: the shared servers of this test process.

package testenv

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// shared are the servers that this process uses, made at first need.
var shared struct {
	sync.Mutex
	main     bool // Main runs, so that somebody will stop them
	services *Services
	err      error
	own      bool
}

// Main runs the tests, stops what they have started, and exits. It is the
// whole of a package's TestMain.
func Main(m *testing.M) {
	os.Exit(Run(m))
}

// Run is Main for a TestMain with something more to do: it returns the exit
// code.
func Run(m *testing.M) int {
	shared.Lock()
	shared.main = true
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.own {
		if err := shared.services.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "testenv: stop the test services:", err)
			code = max(code, 1)
		}
	}
	return code
}

// Patience is how long tests wait for what comes in its own time on a machine that
// does much else. Nothing asserts that it is quicker.
const Patience = 4 * time.Minute

// Waiting lets n of a package's tests run at once, instead of one for each
// processor: of those that wait for most of their time. What the command line says
// has precedence. It is called before Main.
func Waiting(n int) { unlessSaid("test.parallel", n) }

// Examples has a package's properties over the database tried with n examples
// instead of a hundred, but in full (HOLDFAST_TEST_FULL) and where the command line
// says otherwise. It is called before Main.
func Examples(n int) {
	if os.Getenv("HOLDFAST_TEST_FULL") == "" {
		unlessSaid("rapid.checks", n)
	}
}

func unlessSaid(name string, n int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == name })
	if said {
		return
	}
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		os.Exit(1)
	}
}

// use returns the shared servers. That they can't be started is remembered, so
// a hundred tests don't try a hundred times.
func use(t testing.TB) *Services {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.main {
		t.Fatal("this package needs func TestMain(m *testing.M) { testenv.Main(m) }")
	}
	if shared.services == nil && shared.err == nil {
		if file := os.Getenv(Variable); file != "" {
			shared.services, shared.err = readServices(file)
		} else {
			ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
			defer cancel()
			shared.services, shared.err = StartServices(ctx)
			shared.own = shared.services != nil
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.services
}
