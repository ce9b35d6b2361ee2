// Package archtest holds the import rules of the house: which folder may know
// which other, and that nothing a workflow reaches does I/O.
package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "holdfast.dev/"

// rule is what the packages of one folder may import of the module and of the
// clients named in clients. An import is matched by the longest prefix.
type rule struct {
	folder string
	may    []string
}

// rules are read from the top; the first whose folder holds the package counts.
// The module's root (main and its commands) wires everything and has none.
var rules = []rule{
	{"workflows/workflowtest", []string{"internal/steps", "internal/operations", "internal/faults", "internal/testenv", "go.temporal.io"}},
	{"workflows", []string{"workflows", "internal/steps", "internal/operations", "internal/provision", "internal/hot/graph", "internal/faults",
		"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/temporal", "go.temporal.io/api/enums"}},
	{"activities", []string{"activities", "internal", "schemas", "go.temporal.io/sdk/activity", "go.temporal.io/sdk/temporal",
		"github.com/digitalocean/go-libvirt", "libvirt.org", "github.com/gophercloud", "github.com/bmc-toolbox", "github.com/stmcginnis"}},
	{"api", []string{"api", "internal", "schemas"}},
	{"workers", []string{"workers", "workflows", "activities", "internal", "schemas", "go.temporal.io"}},
	{"internal/store", []string{"internal", "schemas", "github.com/jackc/pgx"}},
	{"internal/engine", []string{"internal", "schemas", "github.com/jackc/pgx", "go.temporal.io"}},
	{"internal/identity", []string{"internal", "schemas", "github.com/gophercloud"}},
	{"internal/steps", []string{"internal/operations", "internal/numa", "internal/pci", "internal/faults", "go.temporal.io/sdk/workflow", "go.temporal.io/sdk/temporal", "go.temporal.io/api/enums"}},
	// The one package of internal that imports dev: it lends its processes to tests.
	{"internal/testenv", []string{"internal", "schemas", "dev", "github.com/jackc/pgx", "go.temporal.io"}},
	// The service user's session, which activities and api share.
	{"internal/openstack", []string{"internal", "github.com/gophercloud"}},
	{"internal", []string{"internal", "schemas"}},
	{"schemas/internal", []string{"schemas"}},
	{"schemas", nil},
	{"dev", []string{"dev", "internal", "schemas", "github.com/jackc/pgx", "go.temporal.io"}},
	{"integration", []string{"integration", "dev", "internal", "schemas", "github.com/jackc/pgx", "go.temporal.io", "github.com/gophercloud",
		"activities/libvirt/libvirttest", "github.com/digitalocean/go-libvirt"}},
}

// clients are the libraries that reach the outside world; only who is allowed
// to by a rule imports them.
var clients = []string{
	"go.temporal.io", "github.com/jackc/pgx", "github.com/digitalocean/go-libvirt", "libvirt.org",
	"github.com/gophercloud", "github.com/bmc-toolbox", "github.com/stmcginnis",
}

// forTests says whether a package only serves tests: by its name, like
// net/http/httptest, or as one of those that lend them servers. Nothing else
// imports one.
func forTests(folder string) bool {
	return strings.HasSuffix(folder, "test") || folder == "internal/testenv" || folder == "dev/testservices" || within(folder, "integration")
}

func TestImports(t *testing.T) {
	t.Parallel()
	packages := load(t)
	for _, folder := range keys(packages) {
		i := slices.IndexFunc(rules, func(r rule) bool { return within(folder, r.folder) })
		if i < 0 {
			if folder != "." {
				t.Errorf("%s is in no folder of the house", folder)
			}
			continue
		}
		for _, path := range packages[folder] {
			known, ours := strings.CutPrefix(path, module)
			if !ours && !anyWithin(path, clients) {
				continue
			}
			if ours && forTests(known) && !forTests(folder) {
				t.Errorf("%s imports %s, which is for tests", folder, path)
			}
			if !anyWithin(known, rules[i].may) {
				t.Errorf("%s may not import %s", folder, path)
			}
		}
	}
}

// unreachable is what no workflow may reach, by itself or through a package of
// ours. The SDK's own packages are not looked into.
var unreachable = []string{
	"net", "os", "syscall", "database/sql", "io/ioutil", "log", "log/slog", "math/rand", "plugin", "testing",
	"github.com/jackc/pgx", "github.com/digitalocean/go-libvirt", "libvirt.org", "github.com/gophercloud",
}

func TestNothingAWorkflowReachesDoesIO(t *testing.T) {
	t.Parallel()
	packages := load(t)
	seen := map[string]bool{}
	var walk func(folder string, way []string)
	walk = func(folder string, way []string) {
		if seen[folder] {
			return
		}
		seen[folder] = true
		way = append(slices.Clone(way), folder)
		for _, path := range packages[folder] {
			if next, ours := strings.CutPrefix(path, module); ours {
				walk(next, way)
				continue
			}
			standard := !strings.Contains(strings.Split(path, "/")[0], ".")
			if anyWithin(path, unreachable) || !standard && !within(path, "go.temporal.io") {
				t.Errorf("%s reaches %s", strings.Join(way, " -> "), path)
			}
		}
	}
	for _, folder := range keys(packages) {
		if within(folder, "workflows") && !forTests(folder) {
			walk(folder, nil)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only %v were looked at", keys(seen))
	}
}

// load reads the imports of every package's code, tests excepted, by its folder.
func load(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	packages := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			packages[folder] = append(packages[folder], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// within says whether path is prefix or below it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func anyWithin(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return within(path, p) })
}

func keys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
