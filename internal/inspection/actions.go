package inspection

// The actions of rules.

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// action is something that a rule does.
type action struct {
	takes takes
	does  func(*carrier, map[string]any) error
}

var (
	ofPath    = []string{"path", "value"}
	ofPort    = []string{"port_id", "path", "value"}
	filled    = []string{"value"}
	mayUnique = []string{"unique"}
)

var actions = map[string]action{
	"fail":                  {takes{needed: []string{"msg"}}, func(_ *carrier, a map[string]any) error { return failure("%s", pyText(a["msg"])) }},
	"log":                   {takes{[]string{"msg"}, []string{"level"}, []string{"msg"}}, (*carrier).log},
	"set-attribute":         {takes{ofPath, nil, filled}, (*carrier).setAttribute},
	"extend-attribute":      {takes{ofPath, mayUnique, filled}, (*carrier).extendAttribute},
	"del-attribute":         {takes{needed: ofPath[:1]}, (*carrier).deleteAttribute},
	"set-capability":        {takes{[]string{"name", "value"}, nil, filled}, (*carrier).setCapability},
	"unset-capability":      {takes{needed: []string{"name"}}, (*carrier).unsetCapability},
	"add-trait":             {takes{needed: []string{"name"}}, (*carrier).addTrait},
	"remove-trait":          {takes{needed: []string{"name"}}, (*carrier).removeTrait},
	"set-plugin-data":       {takes{ofPath, []string{"plugin_data"}, filled}, (*carrier).setPlugin},
	"extend-plugin-data":    {takes{ofPath, []string{"plugin_data", "unique"}, filled}, (*carrier).extendPlugin},
	"unset-plugin-data":     {takes{ofPath[:1], []string{"plugin_data"}, nil}, (*carrier).unsetPlugin},
	"set-port-attribute":    {takes{ofPort, nil, filled}, (*carrier).setPort},
	"extend-port-attribute": {takes{ofPort, mayUnique, filled}, (*carrier).extendPort},
	"del-port-attribute":    {takes{needed: ofPort[:2]}, (*carrier).deletePort},
	"api-call":              {takes{[]string{"url"}, []string{"headers", "proxies", "timeout", "retries", "backoff_factor"}, []string{"url"}}, (*carrier).call},
}

var logLevels = []string{"debug", "info", "warning", "error", "critical"}

func (c *carrier) log(a map[string]any) error {
	level := "info"
	if a["level"] != nil {
		level = strings.ToLower(pyText(a["level"]))
	}
	if !slices.Contains(logLevels, level) {
		return ruleFailed("Invalid log level: %s. Choose from {'%s'}", level, strings.Join(logLevels, "', '"))
	}
	c.Log(level, pyText(a["msg"]))
	return nil
}

// parts are those of a path, by slashes or by dots.
func parts(path any) []string {
	text := pyText(path)
	if strings.Contains(text, "/") {
		return strings.Split(strings.Trim(text, "/"), "/")
	}
	return strings.Split(text, ".")
}

// reach is the object that the last part of a path is in; made says that what is missing on
// the way is made.
func reach(root *pyjson.Object, path []string, made bool) (*pyjson.Object, error) {
	at := root
	for _, part := range path[:len(path)-1] {
		inner, there := at.Get(part)
		if !there && !made {
			return nil, fmt.Errorf("'%s'", part)
		}
		if !there {
			inner = &pyjson.Object{}
			at.Set(part, inner)
		}
		object, is := inner.(*pyjson.Object)
		if !is {
			return nil, fmt.Errorf("'%s' object has no attribute 'setdefault'", pyjson.TypeName(inner))
		}
		at = object
	}
	return at, nil
}

// changeable is the object that a path ends in, below a field that may be changed.
func changeable(row *pyjson.Object, fields, path []string, made bool) (*pyjson.Object, error) {
	if !slices.Contains(fields, path[0]) {
		return nil, fmt.Errorf("no rule changes '%s'", path[0])
	}
	return reach(row, path, made)
}

// set gives a path of a row a value.
func set(row *pyjson.Object, fields, path []string, value any) error {
	at, err := changeable(row, fields, path, true)
	if err == nil {
		at.Set(path[len(path)-1], value)
	}
	return err
}

// extend adds a value to the list at a path of a row.
func extend(row *pyjson.Object, fields, path []string, a map[string]any) error {
	at, err := changeable(row, fields, path, true)
	if err != nil {
		return err
	}
	now, _ := at.Get(path[len(path)-1])
	list, ok := now.([]any)
	if now != nil && !ok {
		//lint:ignore ST1005 the original's words
		return fmt.Errorf("Inspection rule action execution failed. Reason: Cannot extend non-list attribute %s with value %s", pyText(a["path"]), pyText(a["value"]))
	}
	at.Set(path[len(path)-1], added(list, a))
	return nil
}

// added is a list with a value more, unless that is to be in it once.
func added(list []any, a map[string]any) []any {
	if unique, _ := a["unique"].(bool); unique && slices.ContainsFunc(list, func(v any) bool { return pyjson.Equal(v, a["value"]) }) {
		return list
	}
	return append(slices.Clone(list), a["value"])
}

// remove takes what is at a path of a row away; a field of the row stays.
func remove(row *pyjson.Object, fields, path []string) error {
	if len(path) == 1 {
		return fmt.Errorf("'%s' can't be deleted", path[0])
	}
	at, err := changeable(row, fields, path, false)
	if err != nil {
		return err
	}
	name := path[len(path)-1]
	if _, there := at.Get(name); !there {
		return fmt.Errorf("'%s'", name)
	}
	at.Delete(name)
	return nil
}

func (c *carrier) setAttribute(a map[string]any) error {
	if err := set(c.Node, c.Fields, parts(a["path"]), a["value"]); err != nil {
		return actionFailed("Failed to set attribute %s with value %s: %s", pyText(a["path"]), pyjson.Str(a["value"]), err)
	}
	return nil
}

func (c *carrier) extendAttribute(a map[string]any) error {
	if err := extend(c.Node, c.Fields, parts(a["path"]), a); err != nil {
		return actionFailed("Failed to extend attribute %s: %s", pyText(a["path"]), err)
	}
	return nil
}

func (c *carrier) deleteAttribute(a map[string]any) error {
	if err := remove(c.Node, c.Fields, parts(a["path"])); err != nil {
		return actionFailed("Failed to delete attribute at %s: %s", pyText(a["path"]), err)
	}
	return nil
}

// port is one of the node's. Errors: Invalid, it has none of that id.
func (c *carrier) port(a map[string]any) (*pyjson.Object, error) {
	if port := c.Ports[pyText(a["port_id"])]; port != nil {
		return port, nil
	}
	return nil, faults.New(faults.Invalid, "PortNotFound", "Port %s could not be found.", pyText(a["port_id"]))
}

func (c *carrier) setPort(a map[string]any) error {
	port, err := c.port(a)
	if err != nil {
		return err
	}
	if err := set(port, c.PortFields, parts(a["path"]), a["value"]); err != nil {
		return actionFailed("Failed to set attribute %s for port %s: %s", pyText(a["path"]), pyText(a["port_id"]), err)
	}
	return nil
}

func (c *carrier) extendPort(a map[string]any) error {
	port, err := c.port(a)
	if err != nil {
		return err
	}
	if err := extend(port, c.PortFields, parts(a["path"]), a); err != nil {
		return actionFailed("Failed to extend attribute %s for port %s: %s", pyText(a["path"]), pyText(a["port_id"]), err)
	}
	return nil
}

func (c *carrier) deletePort(a map[string]any) error {
	port, err := c.port(a)
	if err != nil {
		return err
	}
	if err := remove(port, c.PortFields, parts(a["path"])); err != nil {
		return actionFailed("Failed to delete attribute %s for port %s: %s", pyText(a["path"]), pyText(a["port_id"]), err)
	}
	return nil
}

// properties are the node's.
func (c *carrier) properties() *pyjson.Object {
	value, _ := c.Node.Get("properties")
	properties, ok := value.(*pyjson.Object)
	if !ok {
		properties = &pyjson.Object{}
		c.Node.Set("properties", properties)
	}
	return properties
}

func (c *carrier) setCapability(a map[string]any) error {
	value, ok := a["value"].(string)
	if !ok {
		return actionFailed("Failed to set capability %s: sequence item 1: expected str instance, %s found", pyText(a["name"]), pyjson.TypeName(a["value"]))
	}
	had, _ := c.properties().Get("capabilities")
	one := pyText(a["name"]) + ":" + value
	if text := pyText(had); text != "" {
		one = text + "," + one
	}
	c.properties().Set("capabilities", one)
	return nil
}

func (c *carrier) unsetCapability(a map[string]any) error {
	had, _ := c.properties().Get("capabilities")
	all := slices.DeleteFunc(strings.Split(pyText(had), ","), func(one string) bool { return strings.HasPrefix(one, pyText(a["name"])+":") })
	c.properties().Set("capabilities", strings.Join(all, ","))
	return nil
}

// maxTraits bounds those of a node.
const maxTraits = 50

func (c *carrier) addTrait(a map[string]any) error {
	had, _ := c.Node.Get("traits")
	list, _ := had.([]any)
	name := pyText(a["name"])
	switch {
	case slices.Contains(list, any(name)):
		return nil
	case len(list) >= maxTraits:
		return actionFailed("Failed to add new trait %s: Could not modify traits for node %s: the maximum number of traits per node is %d", name, c.UUID, maxTraits)
	}
	c.Node.Set("traits", append(slices.Clone(list), any(name)))
	return nil
}

func (c *carrier) removeTrait(a map[string]any) error {
	had, _ := c.Node.Get("traits")
	list, _ := had.([]any)
	c.Node.Set("traits", slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == pyText(a["name"]) }))
	return nil
}

// pluginPath is where something is in what plugins have found, by dots or as a list.
func pluginPath(path any) []string {
	if list, is := path.([]any); is && len(list) > 0 {
		words := make([]string, len(list))
		for i, word := range list {
			words[i] = pyText(word)
		}
		return words
	}
	return strings.Split(pyText(path), ".")
}

func (c *carrier) setPlugin(a map[string]any) error {
	path := pluginPath(a["path"])
	at, err := reach(c.Plugin, path, true)
	if err != nil {
		return actionFailed("Failed to set plugin data at %s: %s", pyText(a["path"]), err)
	}
	at.Set(path[len(path)-1], a["value"])
	return nil
}

func (c *carrier) extendPlugin(a map[string]any) error {
	path := pluginPath(a["path"])
	at, err := reach(c.Plugin, path, true)
	if err != nil {
		return actionFailed("Failed to extend plugin data at %s: %s", pyText(a["path"]), err)
	}
	now, _ := at.Get(path[len(path)-1])
	list, ok := now.([]any)
	if !ok && !slices.Contains([]any{nil, "", false}, now) {
		return actionFailed("Failed to extend plugin data at %s: '%s' object has no attribute 'append'", pyText(a["path"]), pyjson.TypeName(now))
	}
	at.Set(path[len(path)-1], added(list, a))
	return nil
}

// unsetPlugin takes something away, and what held nothing else.
func (c *carrier) unsetPlugin(a map[string]any) error {
	path := pluginPath(a["path"])
	at, err := reach(c.Plugin, path, false)
	if err != nil {
		return nil // what isn't there needn't go
	}
	name := path[len(path)-1]
	if _, there := at.Get(name); !there {
		return nil
	}
	if at.Len() > 1 || len(path) == 1 {
		at.Delete(name)
		return nil
	}
	above, err := reach(c.Plugin, path[:len(path)-1], false)
	if err == nil {
		above.Delete(path[len(path)-2])
	}
	return err
}

// What a call does that says nothing else, and at most.
const (
	callTimeout, maxCallTimeout = 5, 60
	callRetries, maxCallRetries = 3, 10
	callBackoff, maxCallBackoff = 0.3, 10
)

func (c *carrier) call(a map[string]any) error {
	call := Call{URL: pyText(a["url"]), Timeout: callTimeout, Retries: callRetries, Backoff: callBackoff, Headers: map[string]string{}}
	for name, to := range map[string]*float64{"timeout": &call.Timeout, "backoff_factor": &call.Backoff} {
		if a[name] == nil {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(pyText(a[name])), 64)
		if err != nil {
			return actionFailed("Invalid parameter: could not convert string to float: %s", pyjson.Repr(a[name]))
		}
		*to = n
	}
	if a["retries"] != nil {
		n, ok := new(big.Int).SetString(strings.TrimSpace(pyText(a["retries"])), 10)
		if !ok || !n.IsInt64() {
			return actionFailed("Invalid parameter: invalid literal for int() with base 10: %s", pyjson.Repr(a["retries"]))
		}
		call.Retries = int(min(max(n.Int64(), 0), maxCallRetries))
	}
	if call.Timeout <= 0 {
		return actionFailed("Invalid parameter: timeout must be greater than zero")
	}
	if a["proxies"] != nil {
		return actionFailed("Invalid parameter: this release makes requests by no proxies")
	}
	call.Timeout, call.Backoff = min(call.Timeout, maxCallTimeout), min(max(call.Backoff, 0), maxCallBackoff)
	headers, _ := a["headers"].(*pyjson.Object)
	for _, name := range headers.Keys() {
		value, _ := headers.Get(name)
		call.Headers[name] = pyText(value)
	}
	if err := c.Call(c.ctx, call); err != nil {
		if c.ctx.Err() != nil {
			return err
		}
		return actionFailed("Request to %s failed: %s", call.URL, err)
	}
	return nil
}
