package hostile

import (
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Waiting(4) // for their clouds to start
	cloud.Main(m)
}
