package hot

// Functions that make text: replace, join, split, digest, URL.

import (
	"crypto/md5"  //nolint:gosec // the template language has it
	"crypto/sha1" //nolint:gosec // the template language has it
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"

	"holdfast.dev/internal/hot/value"
)

// replacement is one of the kinds of str_replace.
type replacement struct {
	// json lets maps and lists be replacements, as JSON.
	json bool
	// strict wants each placeholder in the template; full wants each
	// replacement to be something.
	strict, full bool
}

var (
	strReplace           = replacement{}.function(replaceArgs)
	strReplaceJSON       = replacement{json: true}.function(replaceArgs)
	strReplaceStrict     = replacement{json: true, strict: true}.function(replaceArgs)
	strReplaceVeryStrict = replacement{json: true, strict: true, full: true}.function(replaceArgs)
	cfnReplace           = replacement{}.function(cfnReplaceArgs)
)

// replaceArgs gives the parameters and the template.
func replaceArgs(c *call) (params, template any, err error) {
	m, ok := c.args.(*value.Map)
	if !ok {
		return nil, nil, value.Errorf(TypeError, `Arguments to "%s" must be a map`, c.name)
	}
	if !m.Has("params") || !m.Has("template") {
		return nil, nil, value.Errorf(KeyError, "\"%s\" syntax should be %s:\n              template: This is var1 template var2\n"+
			"              params:\n                var1: a\n                var2: string", c.name, c.name)
	}
	return argument(m, "params"), argument(m, "template"), nil
}

func cfnReplaceArgs(c *call) (params, template any, err error) {
	usage := value.Errorf(ValueError, `Incorrect arguments to "%s" should be: {"%s": [ {"$var1": "foo", "%%var2%%": "bar"}, `+
		`"$var1 is %%var2%%"]}`, c.name, c.name)
	switch c.args.(type) {
	case string, *value.Map:
		usage.Class = TypeError
		return nil, nil, usage
	}
	list, err := unpack(c.args, 2)
	if Class(err) == ValueError {
		return nil, nil, usage
	}
	if err != nil {
		return nil, nil, err
	}
	return list[0], list[1], nil
}

func (r replacement) function(args func(c *call) (params, template any, err error)) *function {
	return &function{
		check: func(c *call) error {
			params, _, err := args(c)
			if _, isMap := params.(*value.Map); err == nil && !isMap && !isCall(params) {
				return value.Errorf(TypeError, `"%s" parameters must be a mapping`, c.name)
			}
			return err
		},
		result: func(e *evaluation, c *call) (any, error) {
			params, template, err := args(c)
			if err != nil {
				return nil, err
			}
			if template, err = e.resolve(template); err != nil {
				return nil, err
			}
			if params, err = e.resolve(params); err != nil {
				return nil, err
			}
			return r.apply(e, c.name, params, template)
		},
	}
}

func (r replacement) apply(e *evaluation, name string, params, template any) (any, error) {
	text, ok := template.(string)
	if !ok {
		return nil, value.Errorf(TypeError, `"%s" template must be a string`, name)
	}
	m, ok := params.(*value.Map)
	if !ok {
		return nil, value.Errorf(TypeError, `"%s" params must be a map`, name)
	}
	placeholders := make([]string, 0, m.Len())
	for _, key := range m.Keys() {
		placeholder, ok := key.(string)
		if !ok {
			return nil, value.Errorf(TypeError, "object of type '%s' has no len()", value.TypeName(key))
		}
		placeholders = append(placeholders, placeholder)
	}
	longestFirst(placeholders)
	unused := map[string]bool{}
	for _, placeholder := range placeholders {
		unused[placeholder] = true
	}
	made, err := r.replace(e, name, text, placeholders, m, unused)
	if err != nil {
		return nil, err
	}
	if r.strict && len(unused) > 0 {
		left := slices.DeleteFunc(placeholders, func(p string) bool { return !unused[p] })
		return nil, value.Errorf(ValueError, "The following params were not found in the template: %s", strings.Join(left, ","))
	}
	return made, nil
}

// longestFirst sorts by length, the longest first, and texts of the same length
// in their order.
func longestFirst(texts []string) {
	sort.Strings(texts)
	sort.SliceStable(texts, func(i, j int) bool {
		return utf8.RuneCountInString(texts[i]) > utf8.RuneCountInString(texts[j])
	})
}

// replace splits at the first placeholder, looks for the others in the parts
// only, and joins: what was put in is never looked at again.
func (r replacement) replace(e *evaluation, name, text string, placeholders []string, m *value.Map, unused map[string]bool) (string, error) {
	if len(placeholders) == 0 {
		return text, nil
	}
	placeholder := placeholders[0]
	v, _ := m.Get(placeholder)
	put, err := r.text(name, placeholder, v)
	if err != nil {
		return "", err
	}
	if placeholder == "" {
		return "", value.Errorf(ValueError, "empty separator")
	}
	parts := strings.Split(text, placeholder)
	if err := e.spend(len(parts), 0); err != nil {
		return "", err
	}
	if len(parts) > 1 {
		delete(unused, placeholder)
	}
	size := len(put) * (len(parts) - 1)
	for i, part := range parts {
		if parts[i], err = r.replace(e, name, part, placeholders[1:], m, unused); err != nil {
			return "", err
		}
		size += len(parts[i])
	}
	if err := e.spend(0, size); err != nil {
		return "", err
	}
	return strings.Join(parts, put), nil
}

// text is what is put in for a value.
func (r replacement) text(name, placeholder string, v any) (string, error) {
	empty := value.Errorf(ValueError, "%s has an undefined or empty value for param %s, must be a defined non-empty value",
		name, placeholder)
	text := ""
	switch x := v.(type) {
	case nil:
	case []any:
		if !r.json {
			return "", value.Errorf(TypeError, `"%s" params must be strings or numbers, param %s is not valid`, name, placeholder)
		}
		if text = value.JSON(x, true); len(x) == 0 && r.full {
			return "", empty
		}
	case *value.Map:
		if !r.json {
			return "", value.Errorf(TypeError, `"%s" params must be strings or numbers, param %s is not valid`, name, placeholder)
		}
		if text = value.JSON(x, true); x.Len() == 0 && r.full {
			return "", empty
		}
	default:
		text = value.Str(v)
	}
	if text == "" && r.full {
		return "", empty
	}
	return text, nil
}

// joinUsage is what a join should look like.
func joinUsage(class string, c *call, more string) error {
	return value.Errorf(class, `Incorrect arguments to "%s" should be: "%s" : [ " ", [ "str1", "str2"]%s]`, c.name, c.name, more)
}

// join2 joins the one list it has.
var join2 = &function{
	check: func(c *call) error {
		list, ok := c.args.([]any)
		switch {
		case !ok:
			return joinUsage(TypeError, c, "")
		case len(list) != 2:
			return joinUsage(ValueError, c, "")
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		v, err := e.resolve(args[1])
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		if !ok && v != nil {
			return nil, value.Errorf(TypeError, `"%s" must operate on a list`, c.name)
		}
		return e.join(c, args[0], list, func(item any) (string, error) {
			if text, ok := item.(string); ok {
				return text, nil
			}
			return "", value.Errorf(TypeError, "Items to join must be strings not %s", value.Short(item, 200))
		})
	},
}

// joinMany joins all the lists it has, with maps and lists in them as JSON.
var joinMany = &function{
	check: func(c *call) error {
		list, ok := c.args.([]any)
		switch {
		case !ok:
			return joinUsage(TypeError, c, " ...")
		case len(list) < 2:
			return joinUsage(ValueError, c, " ...")
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		v, err := e.resolve(args[1:])
		if err != nil {
			return nil, err
		}
		var all []any
		for _, v := range v.([]any) {
			list, ok := v.([]any)
			if !ok && value.Truth(v) {
				return nil, value.Errorf(TypeError, `"%s" must operate on a list`, c.name)
			}
			all = append(all, list...)
		}
		return e.join(c, args[0], all, func(item any) (string, error) {
			switch x := item.(type) {
			case string:
				return x, nil
			case []any, *value.Map:
				return value.JSON(x, true), nil
			}
			return "", value.Errorf(TypeError, "Items to join must be string, map or list not %s", value.Short(item, 200))
		})
	},
}

func (e *evaluation) join(c *call, delimiter any, list []any, text func(item any) (string, error)) (any, error) {
	v, err := e.resolve(delimiter)
	if err != nil {
		return nil, err
	}
	between, ok := v.(string)
	if !ok {
		return nil, value.Errorf(TypeError, `"%s" delimiter must be a string`, c.name)
	}
	texts := make([]string, len(list))
	size := len(between) * len(list)
	for i, item := range list {
		if item == nil {
			continue
		}
		if texts[i], err = text(item); err != nil {
			return nil, err
		}
		if size += len(texts[i]); size > maxText {
			break
		}
	}
	if err := e.spend(len(list), size); err != nil {
		return nil, err
	}
	return strings.Join(texts, between), nil
}

// split is text.split(separator); without a separator it splits at white space.
func (e *evaluation) split(text string, separator any) ([]any, error) {
	var parts []string
	switch s := separator.(type) {
	case nil:
		parts = strings.Fields(text)
	case string:
		if s == "" {
			return nil, value.Errorf(ValueError, "empty separator")
		}
		parts = strings.Split(text, s)
	default:
		return nil, value.Errorf(TypeError, "must be str or None, not %s", value.TypeName(separator))
	}
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list, e.spend(len(list), len(text))
}

var strSplit = &function{
	check: func(c *call) error {
		switch c.args.(type) {
		case string, *value.Map:
			return splitUsage(TypeError, c, "arguments")
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		v, err := e.resolve(c.args)
		if err != nil {
			return nil, err
		}
		args, ok := v.([]any)
		if !ok || len(args) < 2 {
			return nil, splitUsage(ValueError, c, "arguments")
		}
		if args[1] == nil {
			return nil, nil
		}
		text, ok := args[1].(string)
		if !ok {
			return nil, value.Errorf("AttributeError", "'%s' object has no attribute 'split'", value.TypeName(args[1]))
		}
		parts, err := e.split(text, args[0])
		if err != nil || len(args) == 2 {
			return parts, err
		}
		index, err := toInt(args[2])
		if Class(err) == ValueError {
			return nil, splitUsage(ValueError, c, "index")
		}
		if err != nil {
			return nil, err
		}
		part, ok := item(parts, index)
		if !ok {
			return nil, value.Errorf(ValueError, `Incorrect index to "%s" should be between 0 and %d`, c.name, len(parts)-1)
		}
		return part, nil
	},
}

func splitUsage(class string, c *call, what string) error {
	return value.Errorf(class, `Incorrect %s to "%s" should be: "%s" : [ ",", "apples,pears", <index>]`, what, c.name, c.name)
}

var cfnSplit = &function{
	check: func(c *call) error {
		usage := value.Errorf(ValueError, `Incorrect arguments to "%s" should be: "%s" : [ ",", "str1,str2"]]`, c.name, c.name)
		switch c.args.(type) {
		case string, *value.Map:
			usage.Class = TypeError
			return usage
		}
		_, err := unpack(c.args, 2)
		if Class(err) == ValueError {
			return usage
		}
		return err
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		v, err := e.resolve(args[1])
		if err != nil {
			return nil, err
		}
		separator, ok := args[0].(string)
		if !ok {
			return nil, value.Errorf(TypeError, "Delimiter for %s must be string", c.name)
		}
		text, ok := v.(string)
		if !ok {
			return nil, value.Errorf(TypeError, "String to split must be string; got <class '%s'>", value.TypeName(v))
		}
		return e.split(text, separator)
	},
}

// base64Text gives back what it gets: the services encode what they need.
var base64Text = &function{result: func(e *evaluation, c *call) (any, error) {
	v, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(string); !ok {
		return nil, value.Errorf(TypeError, `"%s" argument must be a string`, c.name)
	}
	return v, nil
}}

// algorithms are the hashes that digest knows.
var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
	"sha512_224": sha512.New512_224, "sha512_256": sha512.New512_256,
	"sha3_224": func() hash.Hash { return sha3.New224() }, "sha3_256": func() hash.Hash { return sha3.New256() },
	"sha3_384": func() hash.Hash { return sha3.New384() }, "sha3_512": func() hash.Hash { return sha3.New512() },
	"blake2b": func() hash.Hash { h, _ := blake2b.New512(nil); return h }, //nolint:errcheck // fails for a key only
	"blake2s": func() hash.Hash { h, _ := blake2s.New256(nil); return h }, //nolint:errcheck // fails for a key only
	// These have no fixed length, which hexdigest() needs.
	"shake_128": nil, "shake_256": nil,
}

var digest = &function{result: func(e *evaluation, c *call) (any, error) {
	v, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	for _, item := range list {
		if _, isText := item.(string); !isText {
			ok = false
		}
	}
	switch {
	case !ok:
		return nil, value.Errorf(TypeError, `Argument to function "%s" must be a list of strings`, c.name)
	case len(list) != 2:
		return nil, value.Errorf(ValueError, `Function "%s" usage: ["<algorithm>", "<value>"]`, c.name)
	}
	name, text := strings.ToLower(list[0].(string)), list[1].(string)
	newHash, known := algorithms[name]
	switch {
	case !known:
		names := []string{}
		for name := range algorithms {
			names = append(names, "'"+name+"'")
		}
		slices.Sort(names)
		return nil, value.Errorf(ValueError, "Algorithm must be one of {%s}", strings.Join(names, ", "))
	case newHash == nil:
		return nil, value.Errorf(TypeError, "hexdigest() missing required argument 'length' (pos 1)")
	}
	latin := make([]byte, 0, len(text))
	for _, c := range text {
		if c > 0xff {
			return nil, value.Errorf("UnicodeEncodeError", "'latin-1' codec can't encode characters: ordinal not in range(256)")
		}
		latin = append(latin, byte(c))
	}
	h := newHash()
	if _, err := h.Write(latin); err != nil {
		return nil, value.Errorf(ValueError, "%s", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}}

// urlParts are the arguments of make_url in the order they are checked.
var urlParts = []string{"scheme", "username", "password", "host", "port", "path", "query", "fragment"}

var makeURL = &function{
	validate: func(_ *Stack, c *call, _ Schemas) error {
		m, ok := c.args.(*value.Map)
		if !ok {
			return value.Errorf(TypeError, `The arguments to "%s" must be a map`, c.name)
		}
		strange := []string{}
		for _, key := range m.Keys() {
			if !slices.Contains(urlParts, value.Str(key)) {
				strange = append(strange, value.Str(key))
			}
		}
		if len(strange) > 0 {
			return value.Errorf(ValueError, `Invalid arguments to "%s": %s`, c.name, strings.Join(strange, ", "))
		}
		return checkURL(c, m)
	},
	result: func(e *evaluation, c *call) (any, error) {
		v, err := e.resolve(c.args)
		if err != nil {
			return nil, err
		}
		m, ok := v.(*value.Map)
		if !ok {
			return nil, value.Errorf(TypeError, `The arguments to "%s" must be a map`, c.name)
		}
		if err := checkURL(c, m); err != nil {
			return nil, err
		}
		return makeURLText(m)
	},
}

// checkURL checks the parts; what comes after query isn't looked at if there is
// a query.
func checkURL(c *call, m *value.Map) error {
	for _, part := range urlParts {
		v, there := m.Get(part)
		if !there || isCall(v) {
			if there && part == "query" {
				return nil
			}
			continue
		}
		switch part {
		case "query":
			if _, isMap := v.(*value.Map); !isMap {
				return value.Errorf(TypeError, `The "%s" argument to "%s" must be a map`, part, c.name)
			}
			return nil
		case "port":
			port, err := toInt(v)
			if Class(err) == ValueError {
				return value.Errorf(ValueError, `Invalid URL port "%s" for %s called with %s`, value.Str(v), c.name, value.Short(m, 500))
			}
			if err != nil {
				return err
			}
			if port.Sign() <= 0 || port.Cmp(big.NewInt(65535)) > 0 {
				return value.Errorf(ValueError, "Invalid URL port %s, must be in range 1-65535", port)
			}
		default:
			if _, isText := v.(string); !isText {
				return value.Errorf(TypeError, `The "%s" argument to "%s" must be a string`, part, c.name)
			}
		}
	}
	return nil
}

// hierarchical are the schemes whose URLs have // even without a host.
var hierarchical = map[string]bool{"ftp": true, "http": true, "gopher": true, "nntp": true, "telnet": true, "imap": true, "wais": true,
	"file": true, "mms": true, "https": true, "shttp": true, "snews": true, "prospero": true, "rtsp": true, "rtspu": true, "rsync": true,
	"svn": true, "svn+ssh": true, "sftp": true, "nfs": true, "git": true, "git+ssh": true, "ws": true, "wss": true}

func makeURLText(m *value.Map) (any, error) {
	part := func(name string) string {
		text, _ := argument(m, name).(string)
		return text
	}
	scheme := part("scheme")
	if strings.Contains(scheme, ":") {
		return nil, value.Errorf(ValueError, `URL "scheme" should not contain ':'`)
	}
	if v, there := m.Get("fragment"); there {
		if _, isText := v.(string); !isText {
			return nil, value.Errorf(TypeError, "quote_from_bytes() expected bytes")
		}
	}
	var place strings.Builder
	username, password := quote(part("username"), ""), quote(part("password"), "")
	if username != "" || password != "" {
		place.WriteString(username)
		if password != "" {
			place.WriteString(":" + password)
		}
		place.WriteString("@")
	}
	host := part("host")
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") && len(host) > 1 {
		host = host[1 : len(host)-1]
	}
	if host = quote(host, ":"); strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	place.WriteString(host)
	if port := argument(m, "port"); value.Truth(port) {
		place.WriteString(":" + value.Str(port))
	}

	url := quote(part("path"), "/")
	if place.Len() > 0 || hierarchical[scheme] && !strings.HasPrefix(url, "//") {
		if url != "" && !strings.HasPrefix(url, "/") {
			url = "/" + url
		}
		url = "//" + place.String() + url
	}
	if scheme != "" {
		url = scheme + ":" + url
	}
	if query, ok := argument(m, "query").(*value.Map); ok && query.Len() > 0 {
		pairs := make([]string, query.Len())
		for i := range pairs {
			key, v := query.At(i)
			pairs[i] = quotePlus(value.Str(key)) + "=" + quotePlus(value.Str(v))
		}
		url += "?" + strings.Join(pairs, "&")
	}
	if fragment := quote(part("fragment"), "/"); fragment != "" {
		url += "#" + fragment
	}
	return url, nil
}

// quote escapes what is neither a letter, a digit, one of _.-~ nor safe.
func quote(text, safe string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_.-~", c) >= 0,
			strings.IndexByte(safe, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + strings.ToUpper(strconv.FormatInt(0x100+int64(c), 16)[1:]))
		}
	}
	return b.String()
}

// quotePlus quotes for a query: blanks are +, and slashes stay.
func quotePlus(text string) string { return strings.ReplaceAll(quote(text, " /"), " ", "+") }
