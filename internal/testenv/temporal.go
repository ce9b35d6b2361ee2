// A namespace for one test.

package testenv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// attributes are the search attributes of a namespace by the column each is
// stored in. The launcher's server knows them in every namespace; they are
// written into it for those who ask which there are.
var attributes = map[string]string{
	"Keyword01": "Kind",
	"Keyword02": "ProjectId",
	"Keyword03": "ResourceId",
	"Keyword04": "Host",
	"Keyword05": "RequestId",
}

// Temporal returns the address of the Temporal server and a new namespace that
// can be used at once, with Holdfast's search attributes. The namespace is left
// behind when the test ends; it goes with the server.
func Temporal(t testing.TB) (hostPort, namespace string) {
	t.Helper()
	services := use(t)
	namespace = unique("test")
	if err := register(t.Context(), services.Temporal, namespace); err != nil {
		t.Fatalf("a namespace for the test: %v", err)
	}
	return services.Temporal, namespace
}

func register(ctx context.Context, address, name string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("the Temporal server's address: %w", err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	service := workflowservice.NewWorkflowServiceClient(conn)
	err = persist(ctx, func() error {
		_, err := service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace:                        name,
			WorkflowExecutionRetentionPeriod: durationpb.New(7 * 24 * time.Hour),
		})
		if status.Code(err) == codes.AlreadyExists {
			return nil // an attempt that was answered with an error has made it
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("register namespace %s: %w", name, err)
	}
	err = persist(ctx, func() error {
		_, err := service.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
			Namespace: name,
			Config:    &namespace.NamespaceConfig{CustomSearchAttributeAliases: attributes},
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("search attributes of namespace %s: %w", name, err)
	}
	return nil
}

// persist calls f until it succeeds or fails for good. All changes of
// namespaces compare one version number of the server's, and of two tests that
// make theirs at once, one is told that it is unavailable.
func persist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if status.Code(err) != codes.Unavailable {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(5*time.Millisecond + rand.N(20*time.Millisecond)):
		}
	}
}
