package baremetal

// Vendor methods of nodes and drivers.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// vendorCall is a vendor method that is called on a node.
type vendorCall struct {
	*API
	*rest.Request
	node *baremetal.Node
	args map[string]any
	// plain are the arguments as JSON.
	plain []byte
}

// vendorCalls are how methods are done that need a node's BMC: what they answer.
var vendorCalls = map[string]func(vendorCall) (any, error){
	nodes.GetAllSubscriptions: func(c vendorCall) (said any, err error) {
		err = c.question(c.Request, c.node, nodes.GetAllSubscriptions, nil, &said)
		return said, err
	},
	nodes.GetSubscription: func(c vendorCall) (said any, err error) {
		id, _ := c.args["id"].(string)
		err = c.question(c.Request, c.node, nodes.GetSubscription, url.Values{"id": {id}}, &said)
		return said, err
	},
	nodes.CreateSubscription: func(c vendorCall) (any, error) {
		return c.tells(steps.NodeCommandInput{Command: steps.Subscribe, Secret: c.Secrets.Seal(c.plain, nodes.CommandPlace(c.node))})
	},
	nodes.DeleteSubscription: func(c vendorCall) (any, error) {
		id, _ := c.args["id"].(string)
		return c.tells(steps.NodeCommandInput{Command: steps.Unsubscribe, Subscription: id})
	},
	nodes.ResetBMC: func(c vendorCall) (any, error) {
		return c.tells(steps.NodeCommandInput{Command: steps.ResetBMC, Cold: !nodes.WarmReset(c.args)})
	},
	nodes.SendRaw: func(c vendorCall) (any, error) {
		return c.tells(steps.NodeCommandInput{Command: steps.SendRaw, Secret: c.Secrets.Seal(c.plain, nodes.CommandPlace(c.node))})
	},
	nodes.EjectMedia: func(c vendorCall) (any, error) {
		kinds, err := nodes.EjectedMedia(c.args)
		if err != nil {
			return nil, err
		}
		return c.tells(steps.NodeCommandInput{Command: steps.DetachMedia, Media: kinds})
	},
}

// tells has the node's BMC be told something, and gives what it has said.
func (c vendorCall) tells(ask steps.NodeCommandInput) (any, error) {
	id, err := c.command(c.Request, "baremetal:node:vendor_passthru", ask, anyNode)
	if err != nil || !ask.Command.Awaited() {
		return nil, err
	}
	acts, err := baremetal.Acts(c.Context(), c.DB.Pool, id)
	if err != nil || acts[steps.CommandAct].About == "" {
		return nil, err
	}
	return json.RawMessage(acts[steps.CommandAct].About), nil
}

// fakeCalls are the words that the fake methods answer with true.
var fakeCalls = map[string]string{"first_method": "baz", "second_method": "kazoo", "third_method_sync": "meow", "fourth_method_shared_lock": "woof"}

// listVendorMethods answers GET /nodes/{node}/vendor_passthru/methods.
func (a *API) listVendorMethods(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:vendor_passthru")
	if err != nil {
		return nil, err
	}
	return rest.JSON(nodes.VendorMethods(nodes.Interfaces(n)["vendor"])), nil
}

// callVendor answers a method of /nodes/{node}/vendor_passthru, and of the path of a
// vendor method below it.
func (a *API) callVendor(method string) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) { return a.calls(r, method) }
}

func (a *API) calls(r *rest.Request, by string) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:vendor_passthru")
	if err != nil {
		return nil, err
	}
	name, err := vendorMethod(r)
	if err != nil {
		return nil, err
	}
	vendor := nodes.Interfaces(n)["vendor"]
	method, known := nodes.VendorMethods(vendor)[name]
	switch {
	case !known:
		return nil, invalid("No handler for method %s", name)
	case !slices.Contains(method.HTTPMethods, by):
		return nil, invalid("The method %s does not support HTTP %s", name, by)
	case method.Exclusive:
		err = unheld(n)
	}
	call := vendorCall{API: a, Request: r, node: n}
	if err == nil {
		err = call.read()
	}
	if err == nil {
		err = nodes.MayCall(vendor, name, call.args)
	}
	if err != nil {
		return nil, err
	}
	var said any
	if do := vendorCalls[name]; do != nil {
		said, err = do(call)
	} else if bar, ok := fakeCalls[name]; ok {
		said = call.args["bar"] == bar
	}
	switch {
	case err != nil:
		return nil, err
	case method.Async:
		return &rest.Response{Status: http.StatusAccepted}, nil
	case said == nil:
		said = json.RawMessage("null")
	}
	return rest.JSON(said), nil
}

// vendorMethod is the name of the method that is called.
func vendorMethod(r *rest.Request) (string, error) {
	name := r.Param("method")
	if name == "" {
		name = r.Query.Get("method")
	}
	if name == "" {
		return "", faults.New(faults.Invalid, "MissingParameterValue", "Missing mandatory parameter: method")
	}
	return name, nil
}

// read reads the arguments of the body.
func (c *vendorCall) read() error {
	c.args = map[string]any{}
	body := c.Body()
	if body == nil {
		c.plain = []byte("{}")
		return nil
	}
	object, ok := body.(*pyjson.Object)
	if !ok {
		return invalid("The arguments of a vendor method are an object")
	}
	var err error
	if c.plain, err = json.Marshal(object); err != nil {
		return err
	}
	return json.Unmarshal(c.plain, &c.args)
}

// listDriverMethods answers GET /drivers/{driver}/vendor_passthru/methods: none of the
// hardware types has methods of its own.
func (a *API) listDriverMethods(r *rest.Request) (*rest.Response, error) {
	if _, err := a.Hardware.Type(r.Param("driver")); err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{}), nil
}

// callDriver answers any method of /drivers/{driver}/vendor_passthru.
func (a *API) callDriver(r *rest.Request) (*rest.Response, error) {
	if _, err := a.Hardware.Type(r.Param("driver")); err != nil {
		return nil, err
	}
	name, err := vendorMethod(r)
	if err != nil {
		return nil, err
	}
	return nil, invalid("No handler for method %s", name)
}
