//go:build real

package tempest

// The run: tests.yaml becomes lists, the cloud a configuration, the stream of
// results a report.

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"

	holdfast "holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
)

func TestMain(m *testing.M) { holdfast.Main(m) }

// Environment variables: which of the listed tests are run, and where the report
// of all of them goes.
const (
	onlyVariable   = "HOLDFAST_TEST_ONLY"
	reportVariable = "HOLDFAST_TEST_REPORT"
)

//go:embed tests.yaml
var lists []byte

//go:embed tempest.conf
var configuration string

// selection is which tests are run. Tests are named by regular expressions.
type selection struct {
	Include []string
	// Later are those of them that are run from a later microversion than the first.
	Later struct {
		Version string
		Tests   []string
	}
	Exclude []exclusion
}

// exclusion is some that are not, and the reason.
type exclusion struct {
	Why   string
	Tests []string
}

// suite is a folder that tempest runs in.
type suite struct {
	t      *testing.T
	folder string
}

// result is what became of a test. Of a class whose preparation was skipped or
// failed there is one of the name "setUpClass (CLASS)" in its tests' place.
type result struct {
	Test    string
	Status  string
	Seconds float64
	Texts   map[string]string
}

func TestSuites(t *testing.T) {
	var all selection
	if err := yaml.Unmarshal(lists, &all); err != nil {
		t.Fatal(err)
	}
	s := &suite{t, t.TempDir()}
	s.init()
	chosen, later, excluded := all.of(t, s.list())

	binary, err := holdfast.Binary()
	if err != nil {
		t.Fatal(err)
	}
	c := startCloud(t, binary)
	settings := c.settings(s.folder)
	out := newReport(excluded)
	out.add("", s.run(settings, "2.1", chosen))
	out.add(" from "+all.Later.Version, s.run(settings, all.Later.Version, later))
	for _, r := range out.failed {
		t.Errorf("%s: %s", name(r.Test), r.Texts["traceback"])
	}
	c.audit()
	if path := os.Getenv(reportVariable); path != "" && os.Getenv(onlyVariable) == "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("\n" + out.String())
	}
}

// of chooses among all tests. A list that names none is out of date.
func (l selection) of(t *testing.T, tests []string) (chosen, later []string, excluded []excludedTests) {
	t.Helper()
	find := func(from []string, pattern string) (found, rest []string) {
		r := regexp.MustCompile(pattern)
		for _, test := range from {
			if r.MatchString(test) {
				found = append(found, test)
			} else {
				rest = append(rest, test)
			}
		}
		return found, rest
	}
	for _, pattern := range l.Include {
		found, _ := find(tests, pattern)
		if len(found) == 0 {
			t.Errorf("tests.yaml includes %s, which neither tempest nor its plugin has", pattern)
		}
		chosen = append(chosen, found...)
	}
	for _, pattern := range l.Later.Tests {
		found, rest := find(chosen, pattern)
		if len(found) == 0 {
			t.Errorf("tests.yaml runs %s later, which is not among those that are included and left", pattern)
		}
		chosen, later = rest, append(later, found...)
	}
	for _, e := range l.Exclude {
		these := excludedTests{Why: e.Why}
		for _, pattern := range e.Tests {
			found, rest := find(chosen, pattern)
			if len(found) == 0 {
				t.Errorf("tests.yaml excludes %s, which is not among those that are included and left", pattern)
			}
			chosen, these.Tests = rest, append(these.Tests, found...)
		}
		excluded = append(excluded, these)
	}
	chosen, _ = find(chosen, os.Getenv(onlyVariable))
	later, _ = find(later, os.Getenv(onlyVariable))
	return chosen, later, excluded
}

// command is a program of tempest's, run in the folder.
func (s *suite) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), venv.Program(s.t, "tempest", program), args...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "TEMPEST_CONFIG_DIR="+s.folder, "TEMPEST_CONFIG=tempest.conf", "HOME="+s.folder)
	return cmd
}

// init makes the folder what stestr expects: where the tests are, and a
// repository of results.
func (s *suite) init() {
	s.t.Helper()
	out, err := s.command("python", "-c", "import tempest; print(tempest.__path__[0])").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	top := strings.TrimSpace(string(out))
	s.write(".stestr.conf", fmt.Sprintf("[DEFAULT]\ntest_path=%s\ntop_dir=%s\ngroup_regex=([^\\.]*\\.)*\n", filepath.Join(top, "test_discover"), top))
	if out, err := s.command("stestr", "init").CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// list gives all tests that tempest and its plugin have.
func (s *suite) list() (tests []string) {
	s.t.Helper()
	out, err := s.command("tempest", "run", "--list-tests").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "tempest.") || strings.HasPrefix(line, "ironic_tempest_plugin.") {
			tests = append(tests, strings.TrimSpace(line))
		}
	}
	return tests
}

// configure writes tempest's configuration.
func (s *suite) configure(settings map[string]any) {
	s.t.Helper()
	var text bytes.Buffer
	if err := template.Must(template.New("tempest.conf").Option("missingkey=error").Parse(configuration)).Execute(&text, settings); err != nil {
		s.t.Fatal(err)
	}
	s.write("tempest.conf", text.String())
}

// run runs tests, none of which asks below a microversion, and gives what became
// of them.
func (s *suite) run(settings map[string]any, version string, tests []string) (results []result) {
	s.t.Helper()
	if len(tests) == 0 {
		return nil
	}
	settings["Version"] = version
	s.configure(settings)
	s.write("tests.txt", strings.Join(tests, "\n")+"\n")
	cmd := s.command("tempest", "run", "--concurrency", "1", "--subunit", "--load-list", "tests.txt")
	stream, err := os.Create(filepath.Join(s.folder, "results.subunit"))
	if err != nil {
		s.t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = stream, &said
	ran := cmd.Run() // fails if a test does
	if err := stream.Close(); err != nil {
		s.t.Fatal(err)
	}
	script, err := filepath.Abs("results.py")
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := s.command("python", script, stream.Name()).Output()
	if err != nil {
		s.t.Fatalf("%v: tempest run: %v: %s", err, ran, &said)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			s.t.Fatal(err)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		s.t.Fatalf("tempest run: %v: %s", ran, &said)
	}
	return results
}

func (s *suite) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
