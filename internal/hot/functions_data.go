package hot

// Functions that make lists and maps.

import (
	"regexp"
	"sort"
	"strings"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/hot/yaql"
)

// repetition is one of the kinds of repeat.
type repetition struct {
	// maps lets for_each go over the keys of a map.
	maps bool
	// pairs knows the argument permutations, without which all combinations
	// are made.
	pairs bool
}

var (
	repeat       = repetition{}.function()
	repeatMaps   = repetition{maps: true}.function()
	repeatNested = repetition{maps: true, pairs: true}.function()
)

func (r repetition) function() *function {
	return &function{
		check: func(c *call) error {
			m, ok := c.args.(*value.Map)
			if !ok {
				return value.Errorf(TypeError, `Arguments to "%s" must be a map`, c.name)
			}
			if !m.Has("for_each") || !m.Has("template") {
				return value.Errorf(KeyError, "\"repeat\" syntax should be repeat:\n              template: This is %%var%%\n"+
					"              for_each:\n                %%var%%: ['a', 'b', 'c']")
			}
			if v, there := m.Get("permutations"); there && r.pairs {
				if _, isBool := v.(bool); !isBool {
					return value.Errorf(TypeError, `"permutations" should be boolean type for %s function.`, c.name)
				}
			}
			return nil
		},
		validate: func(_ *Stack, c *call, _ Schemas) error {
			each := argument(c.args.(*value.Map), "for_each")
			if _, isMap := each.(*value.Map); !isMap && !isCall(each) {
				return value.Errorf(TypeError, `The "for_each" argument to "%s" must contain a map`, c.name)
			}
			return nil
		},
		result: r.result,
	}
}

func (r repetition) result(e *evaluation, c *call) (any, error) {
	args := c.args.(*value.Map)
	v, err := e.resolve(argument(args, "for_each"))
	if err != nil {
		return nil, err
	}
	each, ok := v.(*value.Map)
	if !ok {
		return nil, value.Errorf("AttributeError", "'%s' object has no attribute 'items'", value.TypeName(v))
	}
	if each.Len() == 0 {
		return nil, value.Errorf(ValueError, "not enough values to unpack (expected 2, got 0)")
	}
	nested := argument(args, "permutations") != false || !r.pairs
	lists := make([][]any, each.Len())
	length := -1
	for i := range lists {
		_, v := each.At(i)
		if v == nil {
			lists[i] = []any{}
			continue
		}
		list, isList := v.([]any)
		m, isMap := v.(*value.Map)
		switch {
		case isList:
			lists[i] = list
		case isMap && r.maps && nested:
			lists[i] = m.Keys()
		case r.maps && nested:
			return nil, value.Errorf(TypeError, `The values of the "for_each" argument to "%s" must be lists or maps`, c.name)
		default:
			return nil, value.Errorf(TypeError, `The values of the "for_each" argument to "%s" must be lists`, c.name)
		}
		if length >= 0 && length != len(lists[i]) && !nested {
			return nil, value.Errorf(ValueError, "For %s, the length of for_each values should be equal if no nested loop.", c.name)
		}
		length = len(lists[i])
	}
	template, err := e.resolve(argument(args, "template"))
	if err != nil {
		return nil, err
	}
	if nested {
		return e.permute(each.Keys(), lists, template)
	}
	return e.pair(each.Keys(), lists, template)
}

// permute makes one copy of the template for each combination; the last list
// turns fastest.
func (e *evaluation) permute(keys []any, lists [][]any, template any) (any, error) {
	made := []any{}
	for _, list := range lists {
		if len(list) == 0 {
			return made, nil
		}
	}
	turn := make([]int, len(lists))
	values := make([]any, len(lists))
	for {
		for i, n := range turn {
			values[i] = lists[i][n]
		}
		one, err := e.put(keys, values, template)
		if err != nil {
			return nil, err
		}
		made = append(made, one)
		i := len(turn) - 1
		for ; i >= 0; i-- {
			if turn[i]++; turn[i] < len(lists[i]) {
				break
			}
			turn[i] = 0
		}
		if i < 0 {
			return made, nil
		}
	}
}

// pair makes one copy of the template for each place in the lists.
func (e *evaluation) pair(keys []any, lists [][]any, template any) (any, error) {
	length := len(lists[0])
	for _, list := range lists {
		length = min(length, len(list))
	}
	made := make([]any, 0, length)
	values := make([]any, len(lists))
	for n := range length {
		for i := range lists {
			values[i] = lists[i][n]
		}
		one, err := e.put(keys, values, template)
		if err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

// put is the template with each key replaced by its value, in keys of maps too.
func (e *evaluation) put(keys, values []any, template any) (any, error) {
	if err := e.spend(1, 0); err != nil {
		return nil, err
	}
	switch x := template.(type) {
	case string:
		for i, key := range keys {
			from, ok := key.(string)
			if !ok {
				return nil, value.Errorf(TypeError, "replace() argument 1 must be str, not %s", value.TypeName(key))
			}
			to, ok := values[i].(string)
			if !ok {
				return nil, value.Errorf(TypeError, "replace() argument 2 must be str, not %s", value.TypeName(values[i]))
			}
			if err := e.spend(0, len(x)+strings.Count(x, from)*len(to)); err != nil {
				return nil, err
			}
			x = strings.ReplaceAll(x, from, to)
		}
		return x, nil
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			v, err := e.put(keys, values, item)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case *value.Map:
		m := &value.Map{}
		for i := range x.Len() {
			key, item := x.At(i)
			k, err := e.put(keys, values, key)
			if err != nil {
				return nil, err
			}
			v, err := e.put(keys, values, item)
			if err != nil {
				return nil, err
			}
			m.Set(k, v)
		}
		return m, nil
	}
	return template, nil
}

var mapMerge = &function{result: func(e *evaluation, c *call) (any, error) {
	v, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	list, ok := sequence(v)
	if !ok {
		return nil, value.Errorf(TypeError, `Incorrect arguments to "%s" should be: "%s" : [ { "key1": "val1" }, { "key2": "val2" } ]`,
			c.name, c.name)
	}
	merged := &value.Map{}
	for _, item := range list {
		m, ok := item.(*value.Map)
		if !ok && item != nil {
			return nil, value.Errorf(TypeError, "Incorrect arguments: Items to merge must be maps. %s is type <class '%s'> instead of a dict",
				value.Short(item, 200), value.TypeName(item))
		}
		if err := e.spend(m.Len(), 0); err != nil {
			return nil, err
		}
		for i := range m.Len() {
			key, v := m.At(i)
			merged.Set(key, v)
		}
	}
	return merged, nil
}}

var mapReplace = &function{result: func(e *evaluation, c *call) (any, error) {
	example := `"` + c.name + `" : [ { "key1": "val1" }, {"keys": {"key1": "key2"}, "values": {"val1": "val2"}}]`
	usage := func(class string) error {
		return value.Errorf(class, `Incorrect arguments to "%s" should be: %s`, c.name, example)
	}
	asMap := func(v any) (*value.Map, error) {
		m, ok := v.(*value.Map)
		if !ok && v != nil {
			return nil, value.Errorf(TypeError, `Incorrect arguments: to "%s", arguments must be a list of maps. Example:  %s`, c.name, example)
		}
		return orEmpty(m), nil
	}
	v, err := e.resolve(c.args)
	if err != nil {
		return nil, err
	}
	args, ok := v.([]any)
	if !ok || len(args) == 0 {
		return nil, usage(TypeError)
	}
	in, err := asMap(args[0])
	if err != nil {
		return nil, err
	}
	if len(args) != 2 {
		return nil, usage(TypeError)
	}
	changes, err := asMap(args[1])
	if err != nil {
		return nil, err
	}
	for _, key := range changes.Keys() {
		if key != "keys" && key != "values" {
			return nil, usage(ValueError)
		}
	}
	keys, err := asMap(argument(changes, "keys"))
	if err != nil {
		return nil, err
	}
	values, err := asMap(argument(changes, "values"))
	if err != nil {
		return nil, err
	}
	return replaced(in, keys, values)
}}

func replaced(in, keys, values *value.Map) (any, error) {
	made := &value.Map{}
	for i := range in.Len() {
		old, v := in.At(i)
		key := argumentOf(keys, old)
		switch {
		case key == nil:
			key = old
		case !value.Hashable(key):
			return nil, value.Errorf(TypeError, "unhashable type: '%s'", value.TypeName(key))
		case in.Has(key) && !value.Equal(key, old):
			return nil, value.Errorf(ValueError, "key replacement %s collides with a key in the input map", value.Str(key))
		case made.Has(key):
			return nil, value.Errorf(ValueError, "key replacement %s collides with a key in the output map", value.Str(key))
		}
		if value.Hashable(v) {
			if put, there := values.Get(v); there {
				v = put
			}
		}
		made.Set(key, v)
	}
	return made, nil
}

// argumentOf is the value of any key, nil if it isn't there.
func argumentOf(m *value.Map, key any) any {
	v, _ := m.Get(key)
	return v
}

var filter = &function{
	check: func(c *call) error {
		list, ok := c.args.([]any)
		switch {
		case !ok:
			return value.Errorf(TypeError, `Argument to "%s" must be a list`, c.name)
		case len(list) != 2:
			return value.Errorf(ValueError, `"%s" expected 2 arguments of the form [values, sequence] but got %d arguments instead`,
				c.name, len(list))
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		from, err := e.resolve(args[1])
		if err != nil || !value.Truth(from) {
			return from, err
		}
		list, ok := from.([]any)
		if !ok {
			return nil, value.Errorf(TypeError, `"%s" only works with lists`, c.name)
		}
		v, err := e.resolve(args[0])
		if err != nil {
			return nil, err
		}
		if !value.Truth(v) {
			return from, nil
		}
		values, ok := v.([]any)
		if !ok {
			return nil, value.Errorf(TypeError, `"%s" filters a list of values`, c.name)
		}
		kept := []any{}
		for _, item := range list {
			if err := e.spend(len(values), 0); err != nil {
				return nil, err
			}
			if !value.In(item, values) {
				kept = append(kept, item)
			}
		}
		return kept, nil
	},
}

// concat makes list_concat, with each value once if it is unique.
func concat(unique bool) *function {
	return &function{result: func(e *evaluation, c *call) (any, error) {
		v, err := e.resolve(c.args)
		if err != nil {
			return nil, err
		}
		args, ok := v.([]any)
		if !ok {
			return nil, value.Errorf(TypeError, `Incorrect arguments to "%s" should be: "%s" : [ [ <value 1>, <value 2> ], `+
				`[ <value 3>, <value 4> ] ]`, c.name, c.name)
		}
		all := []any{}
		for _, arg := range args {
			list, ok := arg.([]any)
			if !ok && arg != nil {
				return nil, value.Errorf(TypeError, "Incorrect arguments: Items to concat must be lists. "+
					"%s contains an item that is not a list: %s", value.JSON(args, false), value.JSON(arg, false))
			}
			for _, item := range list {
				if unique {
					if err := e.spend(len(all), 0); err != nil {
						return nil, err
					}
					if value.In(item, all) {
						continue
					}
				}
				all = append(all, item)
			}
		}
		return all, e.spend(len(all), 0)
	}}
}

var (
	listConcat       = concat(false)
	listConcatUnique = concat(true)
)

var contains = &function{
	check: func(c *call) error {
		list, ok := c.args.([]any)
		switch {
		case !ok || len(list) == 0:
			return value.Errorf(TypeError, `Incorrect arguments to "%s" should be: "%s" : [ "value1", [ "value1", "value2"]]`, c.name, c.name)
		case len(list) != 2:
			return value.Errorf(ValueError, `Arguments to "%s" must be of the form: [value1, [value1, value2]]`, c.name)
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		v, err := e.resolve(args[0])
		if err != nil {
			return nil, err
		}
		in, err := e.resolve(args[1])
		if err != nil {
			return nil, err
		}
		switch all := in.(type) {
		case string:
			text, ok := v.(string)
			if !ok {
				return nil, value.Errorf(TypeError, "'in <string>' requires string as left operand, not %s", value.TypeName(v))
			}
			return strings.Contains(all, text), nil
		case []any:
			return value.In(v, all), e.spend(len(all), 0)
		}
		return nil, value.Errorf(TypeError, `Second argument to "%s" should be a sequence.`, c.name)
	},
}

var selectFrom = &function{
	check: func(c *call) error {
		list, err := unpack(c.args, 2)
		if Class(err) == ValueError {
			return value.Errorf(ValueError, `Arguments to "%s" must be of the form [index, collection]`, c.name)
		}
		if err == nil {
			c.args = list
		}
		return err
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		index, err := e.resolve(args[0])
		if err != nil {
			return nil, err
		}
		from, err := e.resolve(args[1])
		if err != nil {
			return nil, err
		}
		if text, isText := from.(string); isText {
			if text == "" {
				return "", nil
			}
			if from, err = value.ParseJSON(text); err != nil {
				return nil, value.Errorf(ValueError, `"%s": %s`, c.name, err)
			}
		}
		switch all := from.(type) {
		case nil:
			return "", nil
		case *value.Map:
			key, ok := index.(string)
			if !ok {
				return nil, value.Errorf(TypeError, `Index to "%s" must be a string`, c.name)
			}
			if v, there := all.Get(key); there {
				return v, nil
			}
			return "", nil
		case []any:
			n, err := toInt(index)
			if err != nil {
				return nil, value.Errorf(TypeError, `Index to "%s" must be an integer`, c.name)
			}
			if v, there := item(all, n); there {
				return v, nil
			}
			return "", nil
		}
		return nil, value.Errorf(TypeError, "Arguments to %s not fully resolved", c.name)
	},
}

var member = regexp.MustCompile(`^\.member\.([0-9]+)\.(.*)`)

var memberListToMap = &function{
	check: func(c *call) error {
		list, err := unpack(c.args, 3)
		if Class(err) == ValueError {
			return value.Errorf(TypeError, "Wrong Arguments try: \"\n            {'Fn::MemberListToMap': ['Name', 'Value',\n"+
				"                                     ['.member.0.Name=key',\n"+
				"                                      '.member.0.Value=door']]}\n            \"")
		}
		if err != nil {
			return err
		}
		c.args = list
		for i, what := range []string{"Key", "Value"} {
			if _, ok := list[i].(string); !ok {
				return value.Errorf(TypeError, "%s %s Name must be a string", c.name, what)
			}
		}
		return nil
	},
	result: func(e *evaluation, c *call) (any, error) {
		args := c.args.([]any)
		v, err := e.resolve(args[2])
		if err != nil {
			return nil, err
		}
		list, ok := sequence(v)
		if m, isMap := v.(*value.Map); isMap {
			list, ok = m.Keys(), true
		}
		if !ok {
			return nil, value.Errorf(TypeError, "Member list must be a list")
		}
		return members(list, args[0].(string), args[1].(string))
	},
}

// members groups ".member.N.key=value" by N, and takes the pairs of keyName and
// valueName.
func members(list []any, keyName, valueName string) (any, error) {
	pairs := &value.Map{}
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, value.Errorf(TypeError, "Member list items must be strings")
		}
		key, v, found := strings.Cut(text, "=")
		if !found {
			return nil, value.Errorf(ValueError, "dictionary update sequence element #%d has length 1; 2 is required", i)
		}
		pairs.Set(key, v)
	}
	type group struct{ number, key, value any }
	groups := map[string]*group{}
	numbers := []string{}
	for i := range pairs.Len() {
		name, v := pairs.At(i)
		match := member.FindStringSubmatch(name.(string))
		if match == nil {
			continue
		}
		number, ok := value.ToInt(match[1])
		if !ok {
			continue
		}
		at := number.String()
		if groups[at] == nil {
			groups[at] = &group{number: number}
			numbers = append(numbers, at)
		}
		switch match[2] {
		case keyName:
			groups[at].key = v
		case valueName:
			groups[at].value = v
		}
	}
	sort.SliceStable(numbers, func(i, j int) bool {
		order, _ := value.Compare(groups[numbers[i]].number, groups[numbers[j]].number)
		return order < 0
	})
	made := &value.Map{}
	for _, number := range numbers {
		if g := groups[number]; g.key != nil && g.value != nil {
			made.Set(g.key, g.value)
		}
	}
	return made, nil
}

var yaqlFunction = &function{
	check: func(c *call) error {
		m, ok := c.args.(*value.Map)
		if !ok {
			return value.Errorf(TypeError, `Arguments to "%s" must be a map.`, c.name)
		}
		if !m.Has("expression") || m.Without("expression", "data").Len() > 0 {
			return value.Errorf(KeyError, "\"%s\" syntax should be %s:\n              expression: $.data.var1.sum()\n"+
				"              data:\n                var1: [3, 2, 1]", c.name, c.name)
		}
		return nil
	},
	validate: func(_ *Stack, c *call, _ Schemas) error {
		expression := argument(c.args.(*value.Map), "expression")
		if isCall(expression) {
			return nil
		}
		_, err := parseYaql(c, expression)
		return err
	},
	result: func(e *evaluation, c *call) (any, error) {
		m := c.args.(*value.Map)
		text, err := e.resolve(argument(m, "expression"))
		if err != nil {
			return nil, err
		}
		expression, err := parseYaql(c, text)
		if err != nil {
			return nil, err
		}
		var data any = &value.Map{}
		if given, there := m.Get("data"); there {
			if data, err = e.resolve(given); err != nil {
				return nil, err
			}
		}
		v, steps, err := expression.Evaluate(value.NewMap("data", data), yaql.Limits{})
		if err != nil {
			return nil, err
		}
		return v, e.spend(steps, 0)
	},
}

func parseYaql(c *call, expression any) (*yaql.Expression, error) {
	text, ok := expression.(string)
	if !ok {
		return nil, value.Errorf(TypeError, `The "expression" argument to %s must contain a string.`, c.name)
	}
	parsed, err := yaql.Parse(text)
	if err != nil {
		return nil, value.Errorf(ValueError, "Bad expression %s.", err)
	}
	return parsed, nil
}
