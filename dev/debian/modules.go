package debian

// Which modules of a kernel come with which, and in which order they load.

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// LoadOrder gives the files of the wanted modules and of all they depend on, each
// after its dependencies. Modules are named as their files are; one that is built into
// the kernel is passed over.
func (k Kernel) LoadOrder(wanted []string) ([]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(k.Modules, func(path string, _ fs.DirEntry, err error) error {
		if name, isModule := strings.CutSuffix(filepath.Base(path), ".ko"); isModule {
			files[moduleName(name)] = path
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("modules: %w", err)
	}
	var order []string
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		file, ok := files[moduleName(name)]
		if !ok || seen[file] {
			return nil
		}
		seen[file] = true
		needs, err := dependencies(file)
		if err != nil {
			return err
		}
		for _, need := range needs {
			if err := visit(need); err != nil {
				return err
			}
		}
		order = append(order, file)
		return nil
	}
	for _, name := range wanted {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// moduleName makes dashes and underscores one, as the kernel does.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// dependencies reads "depends=a,b" from a module's .modinfo section.
func dependencies(file string) ([]string, error) {
	object, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	defer object.Close()
	section := object.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("module %s says nothing of itself", file)
	}
	info, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	for _, field := range bytes.Split(info, []byte{0}) {
		if list, ok := strings.CutPrefix(string(field), "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}
