// Package config is Holdfast's configuration: one YAML file, every key also an
// environment variable, unknown keys refused.
//
// Config is what the rest of the program reads; keys.go is the table of every
// key with its default and meaning, from which docs/configuration.md is made;
// load.go lays file over defaults and environment over file, and checks the
// outcome. Nothing here reads a secret's content: keys and passwords are named
// by file, except the database's address.
package config
