package network

// What may stand in a resource, and how a request's values are checked.

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/dev/companions/service"
)

// attribute is one field of a kind of resource.
type attribute struct {
	name string
	// post and put say whether a request may give it.
	post, put bool
	required  bool // on POST
	// fallback is the value on POST when the request gives none; with none the
	// kind's own hook decides.
	fallback any
	check    check
	// Whose it is alone. A field that others may not read is left out.
	adminWrite, adminRead bool
}

// none is the fallback of what a hook fills in.
type noValue struct{}

var none = noValue{}

// reasonError says what is wrong with a value, in the words of the API.
type reasonError string

func (e reasonError) Error() string { return string(e) }

func reason(format string, args ...any) error { return reasonError(fmt.Sprintf(format, args...)) }

// check turns a JSON value into the one to store.
type check func(value any) (any, error)

// document is a resource as the API shows it.
type document map[string]any

func (d document) text(key string) string {
	text, _ := d[key].(string)
	return text
}

func (d document) flag(key string) bool {
	flag, _ := d[key].(bool)
	return flag
}

// texts is a list of strings.
func (d document) texts(key string) []string {
	list := []string{}
	values, _ := d[key].([]any)
	for _, value := range values {
		if text, ok := value.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

// objects is a list of objects.
func (d document) objects(key string) []document {
	list := []document{}
	values, _ := d[key].([]any)
	for _, value := range values {
		if object, ok := value.(map[string]any); ok {
			list = append(list, object)
		}
	}
	return list
}

// has says whether the document holds the key, null counting as absent.
func (d document) has(key string) bool { return d[key] != nil }

// merged is d with the fields of change over its own.
func (d document) merged(change document) document {
	all := document{}
	for key, value := range d {
		all[key] = value
	}
	for key, value := range change {
		all[key] = value
	}
	return all
}

// parse checks the fields of a request for the kind. On POST the fallbacks are
// filled in.
func (k *kind) parse(caller *service.Caller, given document, creating bool) (document, error) {
	if given == nil {
		return nil, service.Fail(http.StatusBadRequest, "Unable to find '%s' in request body", k.name)
	}
	given, err := k.oneProject(given)
	if err != nil {
		return nil, err
	}
	if err := k.known(given, creating); err != nil {
		return nil, err
	}
	if err := k.mayWrite(caller, given, creating); err != nil {
		return nil, err
	}
	return k.values(given, creating)
}

// oneProject takes tenant_id, the old name, for project_id.
func (k *kind) oneProject(given document) (document, error) {
	given = given.merged(nil)
	old, ok := given["tenant_id"]
	if !ok {
		return given, nil
	}
	if project, both := given["project_id"]; both && project != old {
		return nil, service.Fail(http.StatusBadRequest, "'project_id' and 'tenant_id' do not match")
	}
	given["project_id"] = old
	delete(given, "tenant_id")
	return given, nil
}

func (k *kind) known(given document, creating bool) error {
	var unknown []string
	for name := range given {
		attr := k.attribute(name)
		switch {
		case attr == nil:
			unknown = append(unknown, name)
		case creating && !attr.post:
			return service.Fail(http.StatusBadRequest, "Attribute '%s' not allowed in POST", name)
		case !creating && !attr.put:
			return service.Fail(http.StatusBadRequest, "Cannot update read-only attribute %s", name)
		}
	}
	if len(unknown) > 0 {
		sort.Strings(unknown)
		return service.Fail(http.StatusBadRequest, "Unrecognized attribute(s) '%s'", strings.Join(unknown, ", "))
	}
	return nil
}

func (k *kind) mayWrite(caller *service.Caller, given document, creating bool) error {
	if caller.Admin() {
		return nil
	}
	verb := "update_"
	if creating {
		verb = "create_"
	}
	rules := []string{verb + k.name}
	for _, attr := range k.attributes {
		value, ok := given[attr.name]
		own := attr.name == "project_id" && value == caller.ProjectID()
		unset := creating && reflect.DeepEqual(value, attr.fallback)
		if ok && attr.adminWrite && !own && !unset {
			rules = append(rules, rules[0]+":"+attr.name)
		}
	}
	if len(rules) > 1 {
		return forbidden(rules...)
	}
	return nil
}

func (k *kind) values(given document, creating bool) (document, error) {
	values := document{}
	for _, attr := range k.attributes {
		value, ok := given[attr.name]
		switch {
		case ok:
			checked, err := attr.check(value)
			if err != nil {
				return nil, invalid(attr.name, "%s", err.Error())
			}
			values[attr.name] = checked
		case !creating:
		case attr.required:
			return nil, service.Fail(http.StatusBadRequest, "Failed to parse request. Required attribute '%s' not specified", attr.name)
		case attr.post && attr.fallback != any(none):
			values[attr.name] = attr.fallback
		}
	}
	return values, nil
}

func text(longest int) check {
	return func(value any) (any, error) {
		s, ok := value.(string)
		switch {
		case !ok:
			return nil, reason("'%v' is not a valid string.", value)
		case strings.ContainsRune(s, 0):
			return nil, reason("a NUL is not allowed.")
		case len([]rune(s)) > longest:
			return nil, reason("'%s' exceeds maximum length of %d.", s, longest)
		}
		return s, nil
	}
}

func orNull(inner check) check {
	return func(value any) (any, error) {
		if value == nil {
			return nil, nil
		}
		return inner(value)
	}
}

func boolean(value any) (any, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string:
		if flag, ok := map[string]bool{"true": true, "1": true, "false": false, "0": false}[strings.ToLower(v)]; ok {
			return flag, nil
		}
	case float64:
		if v == 0 || v == 1 {
			return v == 1, nil
		}
	}
	return nil, reason("'%v' cannot be converted to boolean.", value)
}

func number(least, most int) check {
	return func(value any) (any, error) {
		var n float64
		switch v := value.(type) {
		case float64:
			n = v
		case string:
			if _, err := fmt.Sscan(v, &n); err != nil {
				return nil, reason("'%v' is not an integer.", value)
			}
		default:
			return nil, reason("'%v' is not an integer.", value)
		}
		if n != math.Trunc(n) || n < float64(least) || n > float64(most) {
			return nil, reason("'%v' is not in valid range %d through %d.", value, least, most)
		}
		return n, nil
	}
}

func oneOf(values ...any) check {
	return func(value any) (any, error) {
		if !slices.Contains(values, value) {
			return nil, reason("'%v' is not in %v.", value, values)
		}
		return value, nil
	}
}

func isUUID(value any) (any, error) {
	s, _ := value.(string)
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return nil, reason("'%v' is not a valid UUID.", value)
	}
	return id.String(), nil
}

func ipAddress(value any) (any, error) {
	s, _ := value.(string)
	address, err := netip.ParseAddr(s)
	if err != nil || address.Zone() != "" {
		return nil, reason("'%v' is not a valid IP address.", value)
	}
	return address.String(), nil
}

func ipPrefix(value any) (any, error) {
	s, _ := value.(string)
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix.String(), nil
	}
	if address, err := netip.ParseAddr(s); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()).String(), nil
	}
	return nil, reason("'%v' is not a valid IP subnet.", value)
}

// addressOrPrefix is one address or a network of them, as it was written.
func addressOrPrefix(value any) (any, error) {
	if checked, err := ipAddress(value); err == nil {
		return checked, nil
	}
	return ipPrefix(value)
}

func macAddress(value any) (any, error) {
	s, _ := value.(string)
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 || mac[0]&1 == 1 {
		return nil, reason("'%v' is not a valid MAC address.", value)
	}
	return mac.String(), nil
}

// longestList bounds every list in a resource.
const longestList = 256

func listOf(item check) check {
	return func(value any) (any, error) {
		list, ok := value.([]any)
		if !ok {
			return nil, reason("'%v' is not a list.", value)
		}
		if len(list) > longestList {
			return nil, reason("the list is longer than %d.", longestList)
		}
		checked := make([]any, 0, len(list))
		for _, one := range list {
			v, err := item(one)
			if err != nil {
				return nil, err
			}
			checked = append(checked, v)
		}
		return checked, nil
	}
}

// object checks the keys of an object; those in need must be there.
func object(keys map[string]check, need ...string) check {
	return func(value any) (any, error) {
		given, ok := value.(map[string]any)
		if !ok {
			return nil, reason("'%v' is not a dictionary.", value)
		}
		checked := map[string]any{}
		for key, v := range given {
			test, known := keys[key]
			if !known {
				return nil, reason("unexpected key '%s'.", key)
			}
			var err error
			if checked[key], err = test(v); err != nil {
				return nil, reason("%s: %v", key, err)
			}
		}
		for _, key := range need {
			if _, ok := checked[key]; !ok {
				return nil, reason("key '%s' is missing.", key)
			}
		}
		return checked, nil
	}
}

// anyObject takes an object as it is, null as an empty one.
func anyObject(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, reason("'%v' is not a dictionary.", value)
}
