// Package hottest has templates that nobody should write, for tests of whatever reads
// templates: bombs, and good ones that are mutated.
package hottest

import (
	"embed"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
)

// wallaby is how most of them begin.
const wallaby = "heat_template_version: wallaby\n"

//go:embed templates
var good embed.FS

// Seeds are good templates, to be mutated.
func Seeds() ([]string, error) {
	paths, err := fs.Glob(good, "templates/*")
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, path := range paths {
		text, err := good.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// scraps are what a mutation puts in.
var scraps = []string{"5", "[]", "{}", "null", "true", "-", ": ", "x", "'", "\"", "{get_resource: net}", "{get_param: nope}", "{get_attr: [a]}",
	"{if: [x, 1]}", "&a", "*a", "<<: ", "!!int x", "\t", "\n", "|", ">", "1e400", ".nan", "~", "#", "%", "@", "{equals: [1, 1]}", "9999999999999999999",
	"{Ref: x}", "\u0000", "\u2028", "é", "0x", "1:2:3", "---\n", "...\n"}

// Mutant changes a text a few times.
func Mutant(random *rand.Rand, texts []string) string {
	text := texts[random.IntN(len(texts))]
	for range 1 + random.IntN(4) {
		lines := strings.SplitAfter(text, "\n")
		at := random.IntN(len(lines))
		switch random.IntN(9) {
		case 0:
			lines = slices.Delete(lines, at, at+1)
		case 1:
			lines = slices.Insert(lines, at, lines[random.IntN(len(lines))])
		case 2:
			other := random.IntN(len(lines))
			lines[at], lines[other] = lines[other], lines[at]
		case 3:
			lines[at] = strings.Repeat(" ", random.IntN(8)) + strings.TrimLeft(lines[at], " ")
		case 4:
			lines = lines[:at]
		case 5:
			others := strings.SplitAfter(texts[random.IntN(len(texts))], "\n")
			lines = append(lines[:at], others[random.IntN(len(others)):]...)
		default:
			line := []rune(lines[at])
			if len(line) == 0 {
				continue
			}
			from := random.IntN(len(line))
			to := min(len(line), from+random.IntN(6))
			lines[at] = string(line[:from]) + scraps[random.IntN(len(scraps))] + string(line[to:])
		}
		text = strings.Join(lines, "")
	}
	return text
}
