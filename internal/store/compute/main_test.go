package compute_test

import (
	"testing"

	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
