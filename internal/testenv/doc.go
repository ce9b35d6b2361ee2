// Package testenv gives component tests the real things: a PostgreSQL database
// with the product's schema, and a namespace of a real Temporal server.
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
//
//	func TestBuild(t *testing.T) {
//		dsn := testenv.Database(t)
//		address, namespace := testenv.Temporal(t)
//
// Each test gets a database and a namespace of its own, so tests don't see each
// other and may run in parallel. The servers behind them are shared: "make test"
// (or go run ./dev/testservices -- go test ./some/package) starts them once for
// all test processes and names them in HOLDFAST_TEST_SERVICES; without that
// variable each test process that needs them starts its own at first use, and
// Main stops them. A test that kills a server asks Private for a pair of its
// own.
//
// A missing program fails the test with a sentence that says what to install;
// nothing is skipped. Data lives in a temporary folder that is removed at the
// end. Only tests may import this package; alone in internal it imports dev,
// whose processes are what it lends.
package testenv
