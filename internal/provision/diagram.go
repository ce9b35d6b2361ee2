package provision

// The page about the machine, docs/provision.md, drawn from its tables.

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Page is docs/provision.md.
func Page() string {
	var b strings.Builder
	b.WriteString(`# The life of a node

Drawn from ` + "`internal/provision`" + ` by its test (` + "`go test ./internal/provision -run Page -update`" + `). An operation holds a node in the
states that have a deadline; in the others no workflow is open.

` + "```mermaid\nstateDiagram-v2\n")
	for _, s := range states {
		if strings.ContainsAny(string(s.State), " -") {
			fmt.Fprintf(&b, "    state %q as %s\n", s.State, symbol(s.State))
		}
	}
	b.WriteString("    [*] --> enroll: POST /v1/nodes\n")
	for _, s := range states {
		for _, e := range events {
			if to, ok := Next(s.State, e); ok {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", symbol(s.State), symbol(to), e)
			}
		}
	}
	b.WriteString("```\n\n## States\n\n| State | Kind | Leads to | Deadline |\n| --- | --- | --- | --- |\n")
	for _, s := range states {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.State, s.Class, s.Target, lasting(s.Deadline))
	}
	b.WriteString("\n## Verbs\n\n`PUT /v1/nodes/{node}/states/provision` with `target`; an older version is refused with 406, another state with 400.\n\n" +
		"| Verb | Event | Since | In |\n| --- | --- | --- | --- |\n")
	for _, i := range verbs {
		since := i.Since.String()
		if i.Ungated {
			since += " (taken before as well)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", i.Verb, i.Event, since, strings.Join(where(i), ", "))
	}
	return b.String()
}

// symbol is a state's name in the diagram.
func symbol(s State) string { return strings.NewReplacer(" ", "_", "-", "_").Replace(string(s)) }

// where are the states in which a verb is taken, with the version if it was
// taken there later than elsewhere.
func where(i VerbInfo) []string {
	var all []string
	for _, s := range states {
		if _, ok := Next(s.State, i.Event); !ok || s.Class == Working {
			continue
		}
		word := string(s.State)
		if later, ok := abortSince[s.State]; ok && i.Verb == VerbAbort {
			word += fmt.Sprintf(" (%s)", later)
		}
		all = append(all, word)
	}
	slices.Sort(all)
	return all
}

func lasting(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}
