package hostile

import (
	"testing"

	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }
