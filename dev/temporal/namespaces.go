// Namespaces and the search attributes that workflows are found by.

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// retention is how long a closed workflow stays to be looked at.
	retention = 7 * 24 * time.Hour
	// servingTimeout is how long the API may take to answer after the start.
	servingTimeout = time.Minute
)

// attributes names Holdfast's search attributes by the column of the
// visibility table that holds each. All are keywords.
var attributes = map[string]string{
	"Keyword01": "Kind",
	"Keyword02": "ProjectId",
	"Keyword03": "ResourceId",
	"Keyword04": "Host",
	"Keyword05": "RequestId",
}

// attributeMapper gives every namespace these attributes from its first
// moment. The server's own mapper reads them from the namespace, of which each
// service caches a copy that may be older than the attributes.
type attributeMapper struct{}

func (attributeMapper) GetAlias(field, _ string) (string, error) {
	if alias, ok := attributes[field]; ok {
		return alias, nil
	}
	return "", serviceerror.NewInvalidArgumentf("no search attribute is stored in %s", field)
}

func (attributeMapper) GetFieldName(alias, _ string) (string, error) {
	for field, name := range attributes {
		if name == alias {
			return field, nil
		}
	}
	return "", serviceerror.NewInvalidArgumentf("%s is not a search attribute", alias)
}

// ensureNamespaces waits until the API serves, and returns when every
// namespace exists.
func ensureNamespaces(ctx context.Context, address string, names []string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("the server's address: %w", err)
	}
	defer conn.Close()
	service := workflowservice.NewWorkflowServiceClient(conn)
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	for _, name := range names {
		for {
			err := ensureNamespace(ctx, service, name)
			if err == nil {
				break
			}
			// A client that asked for the namespace before it was there has left a
			// "not found" in the server's cache.
			code := status.Code(err)
			if code != codes.Unavailable && code != codes.NotFound || ctx.Err() != nil {
				return fmt.Errorf("namespace %s: %w", name, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// ensureNamespace makes the namespace if there is none and writes the
// attributes into it. The mapper doesn't need that, but who asks the server
// which attributes there are, the UI for one, is answered from the namespace.
func ensureNamespace(ctx context.Context, service workflowservice.WorkflowServiceClient, name string) error {
	_, err := service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        name,
		WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return err
	}
	described, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if err != nil {
		return err
	}
	missing := map[string]string{}
	present := described.GetConfig().GetCustomSearchAttributeAliases()
	for field, alias := range attributes {
		if !slices.Contains(slices.Collect(maps.Values(present)), alias) {
			missing[field] = alias
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = service.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: name,
		Config:    &namespace.NamespaceConfig{CustomSearchAttributeAliases: missing},
	})
	return err
}
