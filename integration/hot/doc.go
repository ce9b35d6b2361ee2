// Package hot compares the verdicts of internal/hot with those of
// openstack-heat 27.0.1, installed beside it from PyPI: of the cases in
// cases.txt, of the templates that internal/hot is tested with, and of mutants
// of both; and of 320 templates of four public repositories, which public.txt
// lists and public.sh gets (from copies of those, if HOLDFAST_TEST_MIRRORS says
// where they are), with all their types replaced by the one that takes anything.
// verdicts.py asks the original's own code; no cloud, database or
// engine is needed.
//
// Compared are: whether a template is taken, the class of the error and its
// text, how the parameters are described, which resource requires which, and
// the values of the outputs. The kinds of differences that are meant stand in a
// table with their reasons; any other difference fails.
//
// The tag "real" makes it run (make integration-hot), since it installs
// packages; the figures go to docs/results.
package hot
