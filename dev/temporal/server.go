// How the server is configured: one host for each service, nothing but
// loopback, no archival, no metrics.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // the postgres12_pgx plugin
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// shards can't be changed once a database has been used; production has 512.
const shards = 4

// startTimeout is how long the services have together to start, beside whatever
// else a machine does. The server knows it as twice the time for joining a ring of
// hosts, and has 15 s at least, which a crowded machine has been seen to exceed.
const startTimeout = 2 * time.Minute

// newServer returns all four services, not yet started. Their hosts are given,
// not found by gossip: a gossip table remembers the processes that a SIGKILL
// took, and a restart would wait for their heartbeats to run out.
func newServer(opts options, logger log.Logger) (temporal.Server, error) {
	cfg := &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: startTimeout / 2}},
		Persistence: config.Persistence{
			DefaultStore:     "engine",
			VisibilityStore:  "visibility",
			NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{
				"engine":     {SQL: opts.sql(opts.database)},
				"visibility": {SQL: opts.sql(opts.visibilityDatabase)},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        "active",
			CurrentClusterName:       "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: opts.address()},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{
			Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
			},
		},
		PublicClient: config.PublicClient{HostPort: opts.address()},
		Services:     map[string]config.Service{},
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for _, name := range temporal.DefaultServices {
		port := opts.port
		if name != string(primitives.FrontendService) {
			var err error
			if port, err = freePort(opts.ip); err != nil {
				return nil, fmt.Errorf("a port for the %s service: %w", name, err)
			}
		}
		cfg.Services[name] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: opts.ip}}
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(net.JoinHostPort(opts.ip, strconv.Itoa(port)))
	}
	server, err := temporal.NewServer(
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithConfig(cfg),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithDynamicConfigClient(settings()),
		temporal.WithSearchAttributesMapper(attributeMapper{}),
	)
	if err != nil {
		return nil, fmt.Errorf("configure the server: %w", err)
	}
	return server, nil
}

// settings are the server's dynamic configuration.
func settings() dynamicconfig.StaticClient {
	const unlimited = 100_000
	return dynamicconfig.StaticClient{
		// One partition: a host's queue has one poller, which would else be
		// forwarded from partition to partition.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		dynamicconfig.WorkflowPauseEnabled.Key():                true,
		// A namespace just made is read through at once; what else depends on
		// it, its worker for schedules say, follows at this interval.
		dynamicconfig.NamespaceCacheRefreshInterval.Key(): "500ms",

		// The default limits protect a shared cluster; here they would throttle
		// a test that lists workflows or makes namespaces.
		dynamicconfig.FrontendRPS.Key():                                                        unlimited,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                                 unlimited,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():                       unlimited,
		dynamicconfig.FrontendNamespaceReplicationInducingAPIsRPS.Key():                        unlimited,
		dynamicconfig.FrontendMaxNamespaceNamespaceReplicationInducingAPIsRPSPerInstance.Key(): unlimited,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key():                unlimited,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                                          unlimited,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                                           unlimited,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                                          unlimited,
		dynamicconfig.VisibilityPersistenceMaxReadQPS.Key():                                    unlimited,
		dynamicconfig.VisibilityPersistenceMaxWriteQPS.Key():                                   unlimited,
	}
}

// claims keep the ports that freePort gave from whoever asks next, in this process and
// in others, until this process ends.
var claims []net.Listener

// freePort finds a port below those that the kernel gives to outgoing
// connections: the server's own connections to PostgreSQL would else compete
// for the port between now and its use. Ports below these are given to the other
// processes of a cloud (package ports), some while they don't run.
func freePort(ip string) (int, error) {
	const first, count = 30_000, 2_000
	var err error
	for range 100 {
		port := first + rand.IntN(count)
		var claim, l net.Listener
		if claim, err = net.Listen("unix", fmt.Sprintf("@holdfast-port-%d", port)); err != nil {
			continue
		}
		if l, err = net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port))); err == nil {
			claims = append(claims, claim)
			return port, l.Close()
		}
		err = errors.Join(err, claim.Close())
	}
	return 0, err
}
