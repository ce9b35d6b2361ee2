package cinder

// What Cinder's errors mean to users: the original's codes and texts
// (contracts: errors.json).

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
)

// about is what a call was about, for texts that name it.
type about struct{ volume, snapshot string }

// fault gives the meaning of a call's error; nil for nil.
func fault(err error, a about) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &answer):
		return faults.Wrap(err, faults.Unavailable, "CinderConnectionFailed", "Connection to cinder host failed: no answer")
	}
	switch answer.Actual {
	case http.StatusBadRequest, http.StatusConflict:
		return faults.Wrap(err, faults.Invalid, "InvalidVolume", "Invalid volume: %s", said(answer.Body))
	case http.StatusNotFound:
		switch {
		case a.snapshot != "":
			return faults.Wrap(err, faults.NotFound, "SnapshotNotFound", "Snapshot %s could not be found.", a.snapshot)
		case a.volume != "":
			return faults.Wrap(err, faults.NotFound, "VolumeNotFound", "Volume %s could not be found.", a.volume)
		}
		return faults.Wrap(err, faults.Invalid, "InvalidVolume", "Invalid volume: %s", said(answer.Body))
	case http.StatusRequestEntityTooLarge:
		return faults.Wrap(err, faults.OverLimit, "OverQuota", "%s", said(answer.Body))
	case http.StatusUnauthorized, http.StatusForbidden:
		// The service user lacks a role in the project: for an operator to repair.
		return faults.Wrap(err, faults.Unavailable, "CinderForbidden", "the block storage service refuses the service user")
	}
	return faults.Wrap(err, faults.Unavailable, "CinderConnectionFailed", "Connection to cinder host failed: it answered %d", answer.Actual)
}

// said is the message of an error body, {"badRequest": {"message": ...}}.
func said(body []byte) string {
	var fault map[string]struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &fault) == nil {
		for _, f := range fault {
			if f.Message != "" {
				return f.Message
			}
		}
	}
	return "it was refused"
}

// refuses makes an error of an undo one that is tried again.
func refuses(err error) error {
	return openstack.Again(err, "CinderRefuses", "the block storage service refuses to let go of a volume")
}
