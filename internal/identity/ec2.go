package identity

// EC2 signatures, which CloudFormation's clients and signal URLs carry.

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
)

// EC2Request is a signed request as Keystone is told of it.
type EC2Request struct {
	Access    string            `json:"access"`
	Signature string            `json:"signature"`
	Host      string            `json:"host"`
	Verb      string            `json:"verb"`
	Path      string            `json:"path"`
	Params    map[string]string `json:"params"`
	Headers   map[string]string `json:"headers,omitempty"`
	// BodyHash is the SHA-256 of the body in hex, for version 4.
	BodyHash string `json:"body_hash,omitempty"`
}

// EC2 says whose key signed a request (POST /v3/ec2tokens, with the service
// user's token). The identity has a token of the key's user and project.
// Errors: faults.NotFound for a key that isn't known, faults.Unauthorized for a
// signature that is wrong or too old, both in Keystone's words.
func (k *Keystone) EC2(ctx context.Context, request EC2Request) (Identity, error) {
	client, err := k.service.identity(ctx)
	if err != nil {
		return Identity{}, err
	}
	var result gophercloud.Result
	answer, err := client.Post(ctx, client.ServiceURL("ec2tokens"), map[string]any{"credentials": request}, &result.Body,
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	if _, result.Header, err = gophercloud.ParseResponse(answer, err); err != nil {
		return Identity{}, fault(err)
	}
	return read(result, result.Header.Get("X-Subject-Token"))
}

// CreateEC2Key gives a user a key pair for signatures in a project.
func (s *Session) CreateEC2Key(ctx context.Context, userID, projectID string) (access, secret string, err error) {
	client, err := s.identity(ctx)
	if err != nil {
		return "", "", err
	}
	key, err := ec2credentials.Create(ctx, client, userID, ec2credentials.CreateOpts{TenantID: projectID}).Extract()
	if err != nil {
		return "", "", fault(err)
	}
	return key.Access, key.Secret, nil
}
