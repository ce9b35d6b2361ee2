package requests

import (
	"bytes"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/schemas"
)

// What is embedded is what the contract says.
func TestBaremetalEqualsContract(t *testing.T) {
	t.Parallel()
	folder, err := contracttest.Folder()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Baremetal(folder)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(schemas.BaremetalBodies, want) {
		t.Error("schemas/baremetal/bodies.json isn't what the contract gives: go run ./schemas/internal/generate")
	}
}
