// Package stacks puts together what a stack is: the template that was asked for,
// bound to its parameters, and the resources that there are, as templates read
// them.
//
//	Request.Parse, Definition  a request, and what it asks for, checked  request.go definition.go unserved.go
//	Fetcher                    templates that are named by URL           fetch.go
//	Load                       the same from the rows                    load.go
//	Definition.Changed         what another definition has otherwise     changes.go
//	State                      what is kept sealed of a resource         state.go
//	ParseAdoption, Adoption    what is there already, to be resources    adopt.go
//	Nested, Definition.Child   stacks that are resources of others       nested.go
//	Config, Signal             what guests read, and what they say       config.go signal.go
//	GroupTemplate, KeepMembers groups of resources, which are stacks     group.go
//	Adjustment, CoolDown       groups that are scaled                    scaling.go
//	World                      resources as functions read them          world.go
//
// It promises that what is secret of a stack, values of parameters and whatever
// was made of them, is sealed wherever it is kept. It knows the rows and asks
// nobody.
//
// api/orchestration accepts and shows, activities/resources resolves with it.
package stacks
