package baremetal

// Ramdisks: what the agent on a node asks and tells (contracts:
// agent-protocol.json). They have no user's token: a node is found only while an
// operation expects its ramdisk, else nothing is there; and a heartbeat counts
// only with the token that the node's ramdisk was given.

import (
	"crypto/subtle"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/netguard"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// tokenKey is where driver_internal_info has the secret that a node and its
// ramdisk share.
const tokenKey = "agent_secret_token"

// nowhere is the answer about every node that expects no ramdisk, and about those
// that aren't there.
func nowhere() error { return faults.New(faults.NotFound, "NotFound", "Resource could not be found.") }

// lookup answers GET /lookup: the ramdisk asks which node it is on, and is given
// its token, once.
func (a *API) lookup(r *rest.Request) (*rest.Response, error) {
	if err := nodeResource.expected(r, []filter{{name: "addresses", since: 1}, {name: "node_uuid", since: 1}}); err != nil {
		return nil, err
	}
	uuid, macs := r.Query.Get("node_uuid"), addresses(strings.Split(r.Query.Get("addresses"), ","))
	switch {
	case uuid != "" && !baremetal.IsUUID(uuid):
		return nil, invalid("Expected UUID for node_uuid: %s", uuid)
	case uuid == "" && len(macs) == 0:
		return nil, faults.New(faults.Invalid, "IncompleteLookup", "At least one of 'addresses' and 'node_uuid' parameters is required")
	}
	var document map[string]any
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		var known []string
		var err error
		if uuid != "" {
			known = []string{uuid}
		} else if known, err = baremetal.NodesByPorts(r.Context(), tx, macs); err != nil {
			return err
		}
		if len(known) != 1 {
			return nowhere()
		}
		n, err := baremetal.Nodes.Lock(r.Context(), tx, known[0], false)
		if faults.Is(err, faults.NotFound) || err == nil && !n.ProvisionState.Expecting(false) {
			return nowhere()
		}
		if err != nil {
			return err
		}
		document, err = a.introduce(r, tx, n, r.At(v(62)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(document), nil
}

// addresses are the hardware addresses among words.
func addresses(words []string) []string {
	var all []string
	for _, word := range words {
		if address, err := mac("", strings.TrimSpace(word)); err == nil && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all
}

// introduce tells a ramdisk of its locked node and how to behave. A node that has
// no token yet gets one, which is shown now and never again.
func (a *API) introduce(r *rest.Request, tx store.Tx, n *baremetal.Node, withToken bool) (map[string]any, error) {
	token := any(mask)
	info, err := nodes.Known(a.Secrets, n)
	if err != nil {
		return nil, err
	}
	if info[tokenKey] == nil {
		if token = nil; withToken {
			made, err := nodes.NewToken()
			if err != nil {
				return nil, err
			}
			token, info[tokenKey] = made, made
			if n, err = a.setInternal(r, tx, n, info); err != nil {
				return nil, err
			}
		}
	}
	known := view(r, &nodeResource, n, n.UUID, []string{"uuid", "created_at", "updated_at", "properties", "instance_info", "driver_internal_info"})
	return map[string]any{"node": known, "config": map[string]any{
		"metrics":           map[string]any{"backend": "noop", "prepend_host": false, "prepend_uuid": false, "prepend_host_reverse": true, "global_prefix": nil},
		"metrics_statsd":    map[string]any{"statsd_host": "localhost", "statsd_port": 8125},
		"heartbeat_timeout": 300,
		"agent_containers": map[string]any{"allow_arbitrary_containers": false, "allowed_containers": []string{},
			"container_steps_file": "/etc/ironic-python-agent.d/mysteps.yaml", "runner": "podman", "pull_options": []string{},
			"run_options": []string{"--rm", "--network=host"}},
		"agent_token": token, "agent_token_required": true, "agent_md5_checksum_enable": true,
		"disable_deep_image_inspection": false, "permitted_image_formats": []string{"raw", "gpt", "qcow2", "iso"},
		"agent_skip_bmc_detect":          n.ManagementInterface != nil && *n.ManagementInterface == "redfish",
		"enable_bios_bootloader_install": false, "tls_min_version": "1.3", "tls_cipher_suites": nil,
	}}, nil
}

// setInternal writes what is known of a node (nodes.Known), and gives the node as it is
// then.
func (a *API) setInternal(r *rest.Request, tx store.Tx, n *baremetal.Node, info map[string]any) (*baremetal.Node, error) {
	after, err := nodes.Rewritten(a.Secrets, n, info)
	if err != nil {
		return nil, err
	}
	return after, baremetal.Nodes.Update(r.Context(), tx, after)
}

// agentStatuses are what a ramdisk may say of its work.
var agentStatuses = []string{"start", "end", "error"}

// alive is what a ramdisk says of itself.
type alive struct {
	CallbackURL   *string `json:"callback_url"`
	Version       *string `json:"agent_version"`
	Token         *string `json:"agent_token"`
	VerifyCA      *string `json:"agent_verify_ca"`
	Status        *string `json:"agent_status"`
	StatusMessage *string `json:"agent_status_message"`
}

// readHeartbeat reads the body, as far as the version knows its fields.
func readHeartbeat(r *rest.Request) (*alive, error) {
	fields, err := r.Object()
	if err != nil {
		return nil, err
	}
	beat := &alive{}
	for _, f := range []struct {
		name   string
		to     **string
		since  int
		refuse string
	}{
		{"callback_url", &beat.CallbackURL, 1, ""},
		{"agent_version", &beat.Version, 36, `Field "agent_version" not recognised`},
		{"agent_status", &beat.Status, 72, `Fields "agent_status" and "agent_status_message" not recognised.`},
		{"agent_status_message", &beat.StatusMessage, 72, `Fields "agent_status" and "agent_status_message" not recognised.`},
		{"agent_verify_ca", &beat.VerifyCA, 68, `Field "agent_verify_ca" not recognised in this version`},
		{"agent_token", &beat.Token, 1, ""},
	} {
		sent, given := fields[f.name]
		delete(fields, f.name)
		if !given {
			continue
		}
		if err := json.Unmarshal(sent, f.to); err != nil {
			return nil, invalid("Expected string for %s: %s", f.name, sent)
		}
		if *f.to != nil && !r.At(v(f.since)) {
			return nil, invalid("%s", f.refuse)
		}
	}
	for name := range fields {
		return nil, faults.New(faults.Invalid, "UnknownArgument", "Unexpected arguments: %s", name)
	}
	if beat.CallbackURL == nil {
		return nil, faults.New(faults.Invalid, "MissingParameterValue", "Missing mandatory parameter: callback_url")
	}
	return beat, nil
}

// heartbeat answers POST /heartbeat/{node}: the ramdisk is there, and says where. It
// is written in the node's row, whether or not the operation that has the node waits
// for it yet, and that is knocked at.
func (a *API) heartbeat(r *rest.Request) (*rest.Response, error) {
	beat, err := readHeartbeat(r)
	if err != nil {
		return nil, err
	}
	var waits *string
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := baremetal.Nodes.Lock(r.Context(), tx, r.Param("node"), true)
		if err != nil {
			return err
		}
		info, err := nodes.Known(a.Secrets, n)
		if err != nil {
			return err
		}
		if err := a.believable(beat, info); err != nil {
			return err
		}
		if !n.ProvisionState.Heard() {
			return nil // as the original, which has answered by then
		}
		info["agent_url"], info["agent_last_heartbeat"] = *beat.CallbackURL, baremetal.Heard(time.Now())
		for name, value := range map[string]*string{"agent_version": beat.Version, "agent_verify_ca": beat.VerifyCA, "agent_status": beat.Status,
			"agent_status_message": beat.StatusMessage} {
			if value != nil {
				info[name] = *value
			}
		}
		waits = n.OperationID
		_, err = a.setInternal(r, tx, n, info)
		return err
	})
	if err == nil && waits != nil {
		a.Starter.Knock(*waits)
	}
	return nil, err
}

// believable says whether a heartbeat comes from the node's own ramdisk. What is
// looked at first is the original's order.
func (a *API) believable(beat *alive, info map[string]any) error {
	at, err := url.Parse(*beat.CallbackURL)
	if *beat.CallbackURL != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "") {
		return invalid("An issue with the supplied \"callback_url\" has been detected.")
	}
	secret, _ := info[tokenKey].(string)
	certificate, _ := info["agent_verify_ca"].(string)
	switch known, _ := info["agent_url"].(string); {
	case known != "" && known != *beat.CallbackURL:
		return faults.New(faults.Invalid, "Invalid", "Detected change in ramdisk provided \"callback_url\"")
	case beat.Token == nil:
		return invalid("Agent token is required for heartbeat processing.")
	case beat.Status != nil && !slices.Contains(agentStatuses, *beat.Status):
		return invalid("Agent status is invalid. Valid states are %s.", strings.Join(agentStatuses, ","))
	case beat.Version == nil && beat.Status == nil:
		return invalid("Agent did not transmit a version, and a version is required. Please update the agent being used.")
	case secret == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(*beat.Token)) != 1:
		return invalid("Invalid or missing agent token received.")
	case *beat.CallbackURL != "" && at.Scheme != "https" && !a.PlainAgents:
		return invalid("TLS is required by configuration")
	case beat.VerifyCA != nil && certificate != "" && certificate != *beat.VerifyCA:
		return invalid("Detected change in ramdisk provided \"agent_verify_ca\"")
	case beat.VerifyCA != nil && !isCertificate(*beat.VerifyCA):
		return invalid("The agent's TLS certificate is none")
	case *beat.CallbackURL != "":
		return a.reachable(at)
	}
	return nil
}

func isCertificate(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	_, err := x509.ParseCertificate(block.Bytes)
	return err == nil
}

// reachable refuses addresses that this host alone has. A name is resolved, and
// checked again, when the ramdisk is called.
func (a *API) reachable(at *url.URL) error {
	guard := netguard.Policy{Use: "agent callback"}.Within(a.AgentNetworks)
	host := strings.ToLower(strings.TrimSuffix(at.Hostname(), "."))
	address, err := netip.ParseAddr(host)
	switch {
	case err != nil && (host == "localhost" || strings.HasSuffix(host, ".localhost")):
		address = netguard.Loopback[0].Addr()
	case err != nil:
		return nil
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	if err != nil && at.Port() != "" {
		return invalid("An issue with the supplied \"callback_url\" has been detected.")
	}
	if err := guard.Check(netip.AddrPortFrom(address.WithZone(""), uint16(port))); err != nil {
		return faults.Wrap(err, faults.Invalid, "InvalidParameterValue", "An issue with the supplied \"callback_url\" has been detected.")
	}
	return nil
}

// continueInspection answers POST /continue_inspection: what the ramdisk has found
// on its node. The agent sends no version, and is told the node's id alone.
func (a *API) continueInspection(r *rest.Request) (*rest.Response, error) {
	current := r.At(v(84))
	known := []filter{{name: "node_uuid", since: 84}}
	if err := nodeResource.expected(r, known); err != nil {
		return nil, err
	}
	body, err := object(r, "continue_inspection_body", "data")
	if err != nil {
		return nil, err
	}
	found, _ := body.Get("inventory")
	inventory := found.(*pyjson.Object)
	var words, bmcs []string
	interfaces, _ := inventory.Get("interfaces")
	for _, i := range interfaces.([]any) {
		address, _ := i.(*pyjson.Object).Get("mac_address")
		words = append(words, address.(string))
	}
	for _, name := range []string{"bmc_address", "bmc_v6address"} {
		if address, _ := inventory.Get(name); address != nil && address != "" {
			bmcs = append(bmcs, address.(string))
		}
	}
	uuid, macs := r.Query.Get("node_uuid"), addresses(words)
	switch {
	case uuid != "" && !baremetal.IsUUID(uuid):
		return nil, invalid("Expected UUID for node_uuid: %s", uuid)
	case uuid == "" && len(macs) == 0 && len(bmcs) == 0:
		return nil, faults.New(faults.Invalid, "BadRequest", "No lookup information provided")
	}
	body.Delete("inventory")
	var document map[string]any
	var waits *string
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.sought(r, tx, uuid, macs, bmcs)
		if err != nil {
			return err
		}
		if err := a.keepFound(r, tx, n, inventory, body); err != nil {
			return err
		}
		waits = n.OperationID
		if document = map[string]any{"uuid": n.UUID}; current {
			document, err = a.introduce(r, tx, n, true)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if waits != nil {
		a.Starter.Knock(*waits)
	}
	return rest.JSON(document), nil
}

// sought is the node that a ramdisk has looked at, locked: by its id, by the addresses of
// its ports, and by its BMC's, which must not speak of different nodes. Errors: NotFound,
// whatever is wrong.
func (a *API) sought(r *rest.Request, tx store.Tx, uuid string, macs, bmcs []string) (*baremetal.Node, error) {
	found, err := baremetal.NodesToBeFound(r.Context(), tx, macs)
	if err != nil {
		return nil, err
	}
	id := strings.ToLower(uuid)
	switch {
	case len(found) > 1 || len(found) == 1 && id != "" && found[0] != id:
		return nil, nowhere()
	case len(found) == 1:
		id = found[0]
	}
	byBMC, err := baremetal.NodesByBMC(r.Context(), tx, bmcs)
	if err != nil {
		return nil, err
	}
	switch {
	case id != "" && len(byBMC) > 0 && !slices.Contains(byBMC, id), id == "" && len(byBMC) != 1:
		return nil, nowhere()
	case id == "":
		id = byBMC[0]
	}
	n, err := baremetal.Nodes.Lock(r.Context(), tx, id, false)
	if faults.Is(err, faults.NotFound) || err == nil && (n.ProvisionState != provision.InspectWait || n.OperationID == nil) {
		return nil, nowhere()
	}
	return n, err
}

// keepFound keeps what was found beside the node's row, until its operation makes
// something of it.
func (a *API) keepFound(r *rest.Request, tx store.Tx, n *baremetal.Node, inventory, plugin *pyjson.Object) error {
	found := inspection.Found{}
	for to, from := range map[*map[string]any]*pyjson.Object{&found.Inventory: inventory, &found.Plugin: plugin} {
		text, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return fmt.Errorf("what was found on node %s: %w", n.UUID, err)
		}
	}
	return baremetal.KeepFindings(r.Context(), tx, n.UUID, found)
}
