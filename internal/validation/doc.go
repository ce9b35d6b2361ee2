// Package validation checks bodies and queries against JSON schemas and refuses
// them in the words of the originals, which are python-jsonschema's: clients
// match on them. It knows the part of draft 2020-12 that the contracts use, with
// the deviations of contracts/compute/formats.json, and a schema with any other
// keyword doesn't compile.
//
// It is code of its own because the words depend on what a general validator
// doesn't keep: the first failure in the order of the schema's own keywords and
// of the keys as they were sent. A test compares its verdicts with such a
// validator's (santhosh-tekuri/jsonschema).
//
// A Set is what schemas/<service> holds: which schema binds which operation at
// which microversions. api/rest looks its operations up there.
package validation
