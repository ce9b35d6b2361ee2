package compute

// What a request that has waited for its operation is answered: the contract's
// status for what steps fail with.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// waiting are the contract's controllers whose requests wait for operations.
var waiting = []string{"attach_interfaces", "volume_attachments", "migrate_server"}

func TestFailuresAreThoseOfStepsAndOfTheContract(t *testing.T) {
	t.Parallel()
	var contract struct {
		Exceptions []struct {
			Exception string
			HTTP      []struct {
				Code        int
				Controllers []string
			}
		}
	}
	contracttest.Read(t, "compute/errors.json", &contract)
	answers := map[string][]int{}
	for _, e := range contract.Exceptions {
		for _, h := range e.HTTP {
			if slices.ContainsFunc(h.Controllers, func(c string) bool { return slices.Contains(waiting, c) }) {
				answers[e.Exception] = append(answers[e.Exception], h.Code)
			}
		}
	}
	statuses := map[faults.Kind]int{faults.Invalid: 400, faults.NotFound: 404, faults.Conflict: 409, faults.OverLimit: 403}
	ended := made(t, "activities", "workflows/saga", "internal/engine")
	for code, kind := range failures {
		if !ended[code] {
			t.Errorf("no step fails with %s", code)
		}
		if want := answers[code]; want != nil && !slices.Contains(want, statuses[kind]) {
			t.Errorf("%s is answered by %d, want one of %v", code, statuses[kind], want)
		}
	}
	for code := range made(t, "activities/neutron", "activities/cinder", "activities/libvirt", "activities/placement") {
		if want := answers[code]; want != nil && failures[code] == "" {
			t.Errorf("steps fail with %s, which is to be answered by one of %v", code, want)
		}
	}
}

// made are the codes of the faults that the code of some folders makes.
func made(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if code := codeOf(call); code != "" {
						codes[code] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return codes
}

// codeOf is the code of a call of faults.New or faults.Wrap.
func codeOf(call *ast.CallExpr) (code string) {
	at := map[string]int{"New": 1, "Wrap": 2}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || at[s.Sel.Name] == 0 || len(call.Args) <= at[s.Sel.Name] {
		return ""
	}
	if pkg, ok := s.X.(*ast.Ident); !ok || pkg.Name != "faults" {
		return ""
	}
	switch given := call.Args[at[s.Sel.Name]].(type) {
	case *ast.BasicLit:
		code, _ = strconv.Unquote(given.Value) // the parser has read it
	case *ast.SelectorExpr:
		if given.Sel.Name == "CodeNotSupported" {
			code = steps.CodeNotSupported
		}
	}
	return code
}
