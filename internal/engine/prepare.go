package engine

// What the engine needs of a Temporal cluster, made at an installation.

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// retention is how long closed workflows stay to be looked at.
	retention = 7 * 24 * time.Hour
	// prepareTime is how long a cluster may take to begin to serve and to learn
	// of a new namespace.
	prepareTime = 2 * time.Minute
)

// PrepareTemporal makes the namespace and the search attributes, if they are
// missing, and waits for a cluster that is starting. Errors: Unavailable.
func PrepareTemporal(ctx context.Context, o TemporalOptions) error {
	c, err := Dial(o)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	attributes := map[string]enums.IndexedValueType{}
	for _, name := range []string{attributeKind.GetName(), attributeProjectID.GetName(), attributeResourceID.GetName(), attributeRequestID.GetName(), "Host"} {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	for {
		_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: o.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention)})
		if err = unlessThere(err); err == nil {
			_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
				Namespace: o.Namespace, SearchAttributes: attributes})
			err = unlessThere(err)
		}
		var invalid *serviceerror.InvalidArgument
		if err == nil || errors.As(err, &invalid) || ctx.Err() != nil {
			return temporalFault(err)
		}
		pause(ctx, time.Second)
	}
}

// unlessThere takes what exists already for made.
func unlessThere(err error) error {
	var namespace *serviceerror.NamespaceAlreadyExists
	var other *serviceerror.AlreadyExists
	if errors.As(err, &namespace) || errors.As(err, &other) {
		return nil
	}
	return err
}
