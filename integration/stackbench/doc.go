// Package stackbench measures stacks: flat ones of 100, 1,000 and 5,000 resources
// that do nothing, a chain of 500, 200 nested ones of 10, the validation of a template
// of 500 kB and a list of 10,000 stacks; and what the process that works on them takes
// of memory.
//
// `make bench-stacks` measures Holdfast and then openstack-heat 27.0.1, and leaves the
// figures in docs/results/bench-stacks.md. Holdfast alone takes a minute:
//
//	go test -run '^$' -bench Stacks -benchtime 1x ./integration/stackbench
//
// A stack's life is measured from the request to the moment when its row says that it
// is complete, in the database, where it is looked for without a question to the
// service; that the API shows the same is held against it afterwards. Both have the
// same Keystone and the same PostgreSQL. The original has RabbitMQ, two processes of
// its API and an engine of two workers (integration/heat/original), with convergence
// and all other settings as they are by default, but for the most resources of a
// stack, of which there is no bound, and the time that its API waits for its engine.
//
// It is measured unthrottled, as no release is: a release takes a second for each
// resource that depends on nothing, and never tells that a stack of a thousand is
// complete (engine.py). As it is released only the smallest stack and the nested ones
// are tried.
//
// They are figures, never assertions; what fails or is wrong in Holdfast fails the run.
package stackbench
