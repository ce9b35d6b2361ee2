package ironic

// The bare metal service: its nodes as they were last seen, and what it answers.

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/internal/faults"
)

// Microversion is the least that the original's driver takes.
const Microversion = "1.46"

// Options of the nodes of one process.
type Options struct {
	// Client gives one of the bare metal service.
	Client func(context.Context) (*gophercloud.ServiceClient, error)
	// Look is the time between two looks at a node that is waited for; 0 is 2 s
	// (ironic/api_retry_interval).
	Look time.Duration
	// Stale is how old a list of the nodes may be that reports are made of; 0 is a minute.
	Stale time.Duration
}

// Service is the bare metal service as the hosts of one process share it.
type Service struct {
	o Options

	mu     sync.Mutex
	nodes  map[string]*nodes.Node
	listed time.Time
}

// New makes no call.
func New(o Options) *Service {
	if o.Look == 0 {
		o.Look = 2 * time.Second
	}
	if o.Stale == 0 {
		o.Stale = time.Minute
	}
	return &Service{o: o}
}

// fields are what is read of every node.
var fields = []string{"uuid", "power_state", "target_power_state", "provision_state", "target_provision_state", "provision_updated_at", "last_error",
	"maintenance", "properties", "instance_uuid", "instance_info", "traits", "resource_class"}

// Nodes reads all nodes. Errors: Unavailable.
func (s *Service) Nodes(ctx context.Context) ([]*nodes.Node, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	pages, err := nodes.List(client, nodes.ListOpts{Fields: fields}).AllPages(ctx)
	var read []nodes.Node
	if err == nil {
		err = nodes.ExtractNodesInto(pages, &read)
	}
	if err != nil {
		return nil, answered(err)
	}
	all, known := make([]*nodes.Node, len(read)), make(map[string]*nodes.Node, len(read))
	for i := range read {
		all[i], known[read[i].UUID] = &read[i], &read[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes, s.listed = known, time.Now()
	return all, nil
}

// seen gives a node as it was last seen. Errors: Unavailable, that is too long ago;
// NotFound.
func (s *Service) seen(id string) (*nodes.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.listed) > s.o.Stale {
		return nil, faults.New(faults.Unavailable, "NodesUnknown", "the bare metal service has not listed its nodes for %s", s.o.Stale)
	}
	if n := s.nodes[id]; n != nil {
		return n, nil
	}
	return nil, noNode(id)
}

// look reads a node as it is. Errors: NotFound, Unavailable.
func (s *Service) look(ctx context.Context, id string) (*nodes.Node, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	n, err := nodes.Get(ctx, client, id).Extract()
	if err != nil {
		return nil, answered(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[id] != nil {
		s.nodes[id] = n
	}
	return n, nil
}

func (s *Service) client(ctx context.Context) (*gophercloud.ServiceClient, error) {
	client, err := s.o.Client(ctx)
	if err != nil {
		return nil, err
	}
	client.Microversion = Microversion
	return client, nil
}

func noNode(id string) error {
	return faults.New(faults.NotFound, "NodeNotFound", "Node %s could not be found.", id)
}

// answered is what the service has answered, as a fault: NotFound; Invalid, in its own
// words; or Unavailable, which another attempt may do without, as when somebody else works
// on the node.
func answered(err error) error {
	var refused gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &refused) {
		return faults.Wrap(err, faults.Unavailable, "BareMetalUnavailable", "the bare metal service does not answer")
	}
	kind := faults.Unavailable
	switch refused.Actual {
	case http.StatusBadRequest:
		kind = faults.Invalid
	case http.StatusNotFound:
		kind = faults.NotFound
	}
	return faults.Wrap(err, kind, "BareMetalRefused", "%s", words(refused))
}

// words are the text of a refusal: error_message is an object, or a text that has one.
func words(refused gophercloud.ErrUnexpectedResponseCode) string {
	var body struct {
		Message json.RawMessage `json:"error_message"`
	}
	var text string
	var fault struct {
		Text string `json:"faultstring"`
	}
	message := []byte(nil)
	if json.Unmarshal(refused.Body, &body) == nil {
		message = body.Message
	}
	if json.Unmarshal(message, &text) == nil {
		message = []byte(text)
	}
	if json.Unmarshal(message, &fault) == nil && fault.Text != "" {
		return fault.Text
	}
	return "the bare metal service answered " + http.StatusText(refused.Actual)
}

// free says whether a node can be given to somebody now.
func free(n *nodes.Node) bool {
	return n.InstanceUUID == "" && available(n)
}

// available says so of one that may be somebody's.
func available(n *nodes.Node) bool {
	return !n.Maintenance && n.ProvisionState == string(nodes.Available) && n.PowerState != "" && n.PowerState != string(nodes.Error)
}

// Offered are the nodes that are, or have been, for servers: those that have a resource
// class, and are free or the host of somebody by known.
func Offered(all []*nodes.Node, known func(id string) bool) (ids []string) {
	for _, n := range all {
		if n.ResourceClass != "" && (free(n) || known(n.UUID)) {
			ids = append(ids, n.UUID)
		}
	}
	slices.SortFunc(ids, strings.Compare)
	return ids
}
