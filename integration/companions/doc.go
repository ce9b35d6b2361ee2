// Package companions tries the development cloud's identity, image, network and
// volume services with the real command line client, whose virtual environment
// the test makes from PyPI: hence its build tag.
//
//	make integration-companions
package companions
