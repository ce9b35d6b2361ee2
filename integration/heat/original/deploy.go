package original

// Heat as it is deployed: an API and an engine that are processes of their own, and
// a broker between them.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/store"
)

// Deployment is one that runs: RabbitMQ, two processes of the API, and, once it is told
// to Run one, an engine with two workers.
type Deployment struct {
	// URL is where its API is, without a slash at its end.
	URL string
	// DB is its database, in the cloud's PostgreSQL.
	DB *store.DB

	folder string
	engine *supervise.Process
}

// Deploy runs one until the test's end. The cloud must have its services
// (cloud.Options.Services), and the machine the packages of packages.txt.
func Deploy(t testing.TB, c *cloud.Cloud) *Deployment {
	t.Helper()
	port, dsn := free(t), c.Database("heat")
	db, err := store.Open(t.Context(), dsn, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	d := &Deployment{URL: fmt.Sprintf("http://127.0.0.1:%d", port), DB: db, folder: t.TempDir()}
	transport := d.broker(t)

	ctx, cancel := context.WithTimeout(t.Context(), installing)
	defer cancel()
	configure := exec.CommandContext(ctx, program(t, "configure.sh"), d.folder, fmt.Sprint(port))
	configure.Env = append(append(os.Environ(), environment(c, dsn)...), "HEAT_TRANSPORT="+transport)
	if out, err := configure.CombinedOutput(); err != nil {
		t.Fatalf("configure Heat: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(ctx, venv.Program(t, "heat", "heat-manage"), "--config-file", d.conf(), "db_sync").CombinedOutput(); err != nil {
		t.Fatalf("make Heat's tables: %v\n%s", err, out)
	}

	for _, name := range []string{"api-1", "api-2"} {
		p := d.process(name, venv.Program(t, "heat", "python"), program(t, "api.py"), d.conf(), fmt.Sprint(port))
		p.Ready = launch.Answers(d.URL + "/healthcheck")
		start(t, p)
	}
	return d
}

func (d *Deployment) conf() string { return filepath.Join(d.folder, "heat.conf") }

// process is one of the deployment's.
func (d *Deployment) process(name string, args ...string) *supervise.Process {
	return &supervise.Process{Name: name, Args: args, Env: []string{"PYTHONWARNINGS=ignore"}, LogFile: filepath.Join(d.folder, name+".log")}
}

// Engine is the program by which the engine is run.
type Engine func(testing.TB) (program string)

// Released is the engine as it is.
func Released(t testing.TB) string { return venv.Program(t, "heat", "heat-engine") }

// Unthrottled is the engine without what it holds itself back by (engine.py).
func Unthrottled(t testing.TB) string { return program(t, "engine.py") }

// Run starts the engine, in the place of one that runs.
func (d *Deployment) Run(t testing.TB, engine Engine) {
	t.Helper()
	if d.engine != nil {
		if err := d.engine.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.DB.Pool.Exec(t.Context(), `DELETE FROM service`); err != nil {
		t.Fatal(err)
	}
	d.engine = d.process("engine", venv.Program(t, "heat", "python"), program(t, "tied.py"), engine(t), "--config-file", d.conf())
	d.engine.Ready = d.serves
	start(t, d.engine)
}

// serves is the readiness of the engine: what is sent to one of which no worker listens
// yet is lost. Each writes itself down once it does.
func (d *Deployment) serves(ctx context.Context) error {
	var n int
	err := d.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM service`).Scan(&n)
	if err == nil && n < workers {
		err = fmt.Errorf("%d workers of the engine listen", n)
	}
	return err
}

// workers is how many of the engine configure.sh asks for.
const workers = 2

// broker runs RabbitMQ, and the port mapper that its runtime asks for, and gives the
// address that it is reached at.
func (d *Deployment) broker(t testing.TB) (transport string) {
	t.Helper()
	folder := filepath.Join(d.folder, "broker")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const user = "heat"
	port, mapper, password := free(t), free(t), uuid.NewString()
	epmd := d.process("epmd", "epmd", "-port", fmt.Sprint(mapper), "-address", "127.0.0.1")
	epmd.Ready = listens(mapper)
	start(t, epmd)
	broker := d.process("broker", program(t, "broker.sh"), folder, fmt.Sprint(port), fmt.Sprint(free(t)))
	broker.Env = []string{"BROKER_USER=" + user, "BROKER_PASSWORD=" + password, fmt.Sprintf("ERL_EPMD_PORT=%d", mapper)}
	broker.Ready = listens(port)
	start(t, broker)
	return fmt.Sprintf("rabbit://%s:%s@127.0.0.1:%d/", user, password, port)
}

// listens is the readiness of what listens at a port.
func listens(port int) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// EngineMemory is what the engine and its workers have of memory, in bytes, where
// what they share counts once (Pss of proc(5)).
func (d *Deployment) EngineMemory() (sum int64, err error) {
	main := d.engine.State().Pid
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", main)) // its first one forks none
	if err != nil {
		return 0, err
	}
	pids := []string{fmt.Sprint(main)}
	for _, thread := range threads {
		children, err := os.ReadFile(thread)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have ended
			return 0, err
		}
		pids = append(pids, strings.Fields(string(children))...)
	}
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || err == nil && len(text) == 0 {
			continue // it has ended
		}
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(text), "\nPss:")
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			return 0, fmt.Errorf("memory of process %s: %w", pid, err)
		}
		sum += kib << 10
	}
	return sum, nil
}
