package compute_test

import (
	"testing"

	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Examples(40)
	testenv.Main(m)
}
