package openstack

// What Neutron says when it refuses.

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
)

// Refusal is Neutron's answer to what it doesn't do.
type Refusal struct {
	Status        int
	Type, Message string
}

// Refused reads it of a call's error; false is one that Neutron has not answered.
func Refused(err error) (Refusal, bool) {
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) {
		return Refusal{}, false
	}
	var body struct {
		NeutronError struct{ Type, Message string }
	}
	if json.Unmarshal(answer.Body, &body) != nil {
		body.NeutronError.Message = http.StatusText(answer.Actual)
	}
	return Refusal{answer.Actual, body.NeutronError.Type, body.NeutronError.Message}, true
}
