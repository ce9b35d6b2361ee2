package engine

// The client of Temporal.

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// TemporalOptions say where the engine's Temporal is.
type TemporalOptions struct {
	// Address is host:port, Namespace one with the search attributes Kind,
	// ProjectId, ResourceId, Host and RequestId, all keywords.
	Address, Namespace string
	// TLS is nil for a server without it.
	TLS *tls.Config
	// Identity is how this process is called in histories; empty: its pid and host.
	Identity string
	// Trace sends spans of workflows and activities to OpenTelemetry's provider.
	Trace bool
	// Log is nil for slog's default.
	Log *slog.Logger
}

// Dial makes a client that connects when it is first used, so that a process
// starts while Temporal is down. The caller closes it.
func Dial(o TemporalOptions) (client.Client, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	var interceptors []interceptor.ClientInterceptor
	if o.Trace {
		tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{DisableBaggage: true, AllowInvalidParentSpans: true})
		if err != nil {
			return nil, fmt.Errorf("traces of workflows: %w", err)
		}
		interceptors = append(interceptors, tracing)
	}
	c, err := client.NewLazyClient(client.Options{
		Interceptors: interceptors,
		HostPort:     o.Address,
		Namespace:    o.Namespace,
		Identity:     o.Identity,
		Logger:       log.NewStructuredLogger(o.Log),
		ConnectionOptions: client.ConnectionOptions{
			TLS: o.TLS,
			// Ids are all that goes through histories: a few hundred bytes a
			// call, which cost more to compress than to send.
			GrpcCompression: &client.GrpcCompressionNone{},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the client of Temporal at %s: %w", o.Address, err)
	}
	return c, nil
}
