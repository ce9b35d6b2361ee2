package netguard

// No code of activities, api and internal connects to anything but through a
// Policy, or for a reason that stands here.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reasons of files that connect by other means.
var reasons = map[string]string{
	"internal/netguard/netguard.go":                 "it is the guard",
	"internal/hostlink/client.go":                   "the API's address is the deployment's configuration",
	"internal/hostlink/reads.go":                    "hosts register their address under the deployment's key",
	"internal/hostlink/pull.go":                     "hosts register their address under the deployment's key",
	"activities/libvirt/qemu/connection.go":         "a socket of this machine",
	"internal/openstack/session.go":                 "Keystone's address is configuration, the rest comes from its catalog",
	"internal/identity/keystone.go":                 "Keystone's address is configuration",
	"activities/libvirt/libvirttest/libvirttest.go": "tests' own daemon, a socket",
}

// dialers are what connects, by package.
var dialers = map[string][]string{
	"net":        {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer"},
	"net/http":   {"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"},
	"crypto/tls": {"Dial", "DialWithDialer", "Dialer"},
	"net/rpc":    {"Dial", "DialHTTP"},
	"net/smtp":   {"Dial", "SendMail"},
}

func TestNobodyElseDials(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	for _, folder := range []string{"activities", "api", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			for _, what := range dials(file) {
				if used[name] = true; reasons[name] == "" {
					t.Errorf("%s uses %s; let it use netguard, or give a reason", name, what)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range reasons {
		if !used[name] {
			t.Errorf("%s has a reason and connects to nothing", name)
		}
	}
}

// dials names what the file uses of dialers: values that are made or called. A
// type in a signature or a field makes no connection.
func dials(file *ast.File) (found []string) {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	look := func(e ast.Expr) {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return
		}
		if pkg, ok := s.X.(*ast.Ident); ok && slices.Contains(dialers[names[pkg.Name]], s.Sel.Name) {
			found = append(found, pkg.Name+"."+s.Sel.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			look(n.Type)
		case *ast.CallExpr:
			look(n.Fun)
			for _, arg := range n.Args {
				look(arg)
			}
		case *ast.SelectorExpr:
			if inner, ok := n.X.(*ast.SelectorExpr); ok {
				look(inner) // http.DefaultTransport.Clone, for example
			}
		case *ast.TypeAssertExpr:
			look(n.X)
		case *ast.AssignStmt:
			for _, e := range n.Rhs {
				look(e)
			}
		}
		return true
	})
	return found
}
