// Package cloud runs a whole Holdfast for a black-box test: the binary as an
// API, a control worker and a process of simulated hosts, beside a PostgreSQL
// and a Temporal server that are the test's own.
//
//	func TestMain(m *testing.M) { cloud.Main(m) }
//
//	func TestBuild(t *testing.T) {
//		c := cloud.Start(t, cloud.Options{Hosts: 3})
//		id := c.MustCreate("web")
//		c.Kill(cloud.Control)
//		...
//		c.Audit()
//
// A Cloud may be asked like a user (client.go) and like an operator
// (operator.go), its processes killed and started again (processes.go), and its
// operations stopped at named points (internal/hold). What a test waits for has
// a deadline. When the test fails, the ends of all logs are printed; when it
// ends, nothing is left.
package cloud
