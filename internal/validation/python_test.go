package validation

// python-jsonschema's own answers (integration/validation/vectors.py).

import (
	"bufio"
	"os"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/schemas"
)

func TestSaysWhatPythonSays(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, _, err := pyjson.Parse(schemas.ComputeRequests)
	if err != nil {
		t.Fatal(err)
	}
	l := loader{compiler: compiler{patterns: map[string]*Pattern{}}, file: source, schemas: map[string]*Schema{}}
	vectors := 0
	for lines := bufio.NewScanner(file); lines.Scan(); vectors++ {
		vector, _, err := pyjson.Parse(lines.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		schema, err := l.schema(text(vector, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		b := like[text(vector, "kind")]
		b.all = []binding{{schema: schema}}
		got := ""
		if err := b.Check(microversion.V(2, 1), get(vector, "value")); err != nil {
			got = faults.As(err).Message
		}
		if want := text(vector, "says"); got != want {
			t.Errorf("%s of %s\n got %s\nwant %s", text(vector, "schema"), pyjson.Repr(get(vector, "value")), got, want)
		}
	}
	if vectors < 500 {
		t.Errorf("only %d vectors", vectors)
	}
}
