package neutron

// What Neutron's errors mean to users: the original's codes and texts
// (contracts: errors.json).

import (
	"context"
	"errors"
	"net/http"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
)

// about is what a call was about, for texts that name it.
type about struct{ port, network, address string }

// meanings has a row per type of Neutron error that has a meaning of its own.
var meanings = map[string]func(about) *faults.Error{
	"OverQuota": func(about) *faults.Error {
		return faults.New(faults.OverLimit, "PortLimitExceeded", "Maximum number of ports exceeded")
	},
	"PortNotFound": func(a about) *faults.Error {
		return faults.New(faults.NotFound, "PortNotFound", "Port id %s could not be found.", a.port)
	},
	"NetworkNotFound": func(a about) *faults.Error {
		return faults.New(faults.NotFound, "NetworkNotFound", "Network %s could not be found.", a.network)
	},
	"IpAddressGenerationFailure": func(a about) *faults.Error {
		return faults.New(faults.Conflict, "NoMoreFixedIps", "No fixed IP addresses available for network: %s", a.network)
	},
	"IpAddressInUse":            addressInUse,
	"IpAddressAlreadyAllocated": addressInUse,
	"InvalidIpForNetwork":       addressInvalid,
	"InvalidIpForSubnet":        addressInvalid,
	"MacAddressInUse": func(a about) *faults.Error {
		return faults.New(faults.Conflict, "PortInUse", "Port %s is still in use.", a.port)
	},
	"PortInUse": func(a about) *faults.Error {
		return faults.New(faults.Conflict, "PortInUse", "Port %s is still in use.", a.port)
	},
}

func addressInUse(a about) *faults.Error {
	return faults.New(faults.Conflict, "FixedIpAlreadyInUse", "Fixed IP %s is already in use.", a.address)
}

func addressInvalid(a about) *faults.Error {
	return faults.New(faults.Invalid, "InvalidIpForNetwork", "Fixed IP %s is not a valid ip address for network %s.", a.address, a.network)
}

// fault gives the meaning of a call's error; nil for nil.
func fault(err error, a about) error {
	said, answered := openstack.Refused(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case !answered:
		return faults.Wrap(err, faults.Unavailable, "NetworkServiceUnavailable", "the network service can't be reached")
	}
	if meaning, ok := meanings[said.Type]; ok {
		f := meaning(a)
		f.Err = err
		return f
	}
	kind, ok := kinds[said.Status]
	if !ok {
		return faults.Wrap(err, faults.Unavailable, "NetworkServiceUnavailable", "the network service failed")
	}
	if kind == faults.Unavailable {
		return faults.Wrap(err, kind, "NeutronAdminCredentialConfigurationInvalid", "Networking client is experiencing an unauthorized exception.")
	}
	return faults.Wrap(err, kind, "NeutronError", "%s", said.Message)
}

// kinds are those of answers without a meaning of their own. A service user
// that is refused is a fault of the configuration, which an operator repairs.
var kinds = map[int]faults.Kind{
	http.StatusBadRequest:   faults.Invalid,
	http.StatusUnauthorized: faults.Unavailable,
	http.StatusForbidden:    faults.Unavailable,
	http.StatusNotFound:     faults.NotFound,
	http.StatusConflict:     faults.Conflict,
}

// refuses makes an error of an undo one that is tried again.
func refuses(err error) error {
	return openstack.Again(err, "NetworkServiceRefuses", "the network service refuses to let go of a port")
}
