package hot

// The versions of template formats: what each may hold, and which functions it
// knows.

import (
	"maps"
	"slices"
	"strings"
)

// The three keys that say what a template is.
const (
	keyHOT  = "heat_template_version"
	keyAWS  = "AWSTemplateFormatVersion"
	keyHeat = "HeatTemplateFormatVersion"
)

// Version is one version of a template format.
type Version struct {
	// Key is the key that names the version, and Name the version.
	Key, Name string
	// Type is "hot" or "cfn".
	Type string
	// Aliases are other names of the version.
	Aliases []string

	words      *words
	conditions bool
	// lowerPolicies lets deletion policies begin with a small letter.
	lowerPolicies bool
	external      bool
	modulo, tags  bool
	functions     table
	inConditions  table
}

// words are the names of the sections and keys of a format.
type words struct {
	description, parameters, groups, mappings, resources, outputs, conditions string

	typ, properties, metadata, dependsOn, deletionPolicy, updatePolicy, resourceDescription string
	externalID, condition                                                                   string

	value, outputDescription string
}

var (
	hotWords = words{"description", "parameters", "parameter_groups", "", "resources", "outputs", "conditions",
		"type", "properties", "metadata", "depends_on", "deletion_policy", "update_policy", "description",
		"external_id", "condition", "value", "description"}
	cfnWords = words{"Description", "Parameters", "", "Mappings", "Resources", "Outputs", "Conditions",
		"Type", "Properties", "Metadata", "DependsOn", "DeletionPolicy", "UpdatePolicy", "Description",
		"", "Condition", "Value", "Description"}
)

// Functions are the names of the functions of the version in their order;
// those that are only known to be refused aren't among them.
func (v *Version) Functions() []string { return v.functions.names() }

// ConditionFunctions are the names of the functions that may stand in
// conditions only or in conditions too.
func (v *Version) ConditionFunctions() []string {
	names := []string{}
	for _, name := range v.inConditions.names() {
		if v.inConditions[name] != notHere {
			names = append(names, name)
		}
	}
	return names
}

func (t table) names() []string {
	names := []string{}
	for name, fn := range t {
		if fn != removed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// FullName is the version as the API writes it.
func (v *Version) FullName() string { return v.Key + "." + v.Name }

// sections says which keys a template of the version may have.
func (v *Version) section(name string) bool {
	w := v.words
	switch name {
	case "":
		return false
	case w.description, w.parameters, w.groups, w.mappings, w.resources, w.outputs:
		return true
	case w.conditions:
		return v.conditions
	case keyAWS, keyHeat:
		return v.Type == "cfn"
	}
	return name == v.Key
}

// resourceKey says which keys a resource of the version may have.
func (v *Version) resourceKey(name string) bool {
	w := v.words
	switch name {
	case "":
		return false
	case w.typ, w.properties, w.metadata, w.dependsOn, w.deletionPolicy, w.updatePolicy, w.resourceDescription:
		return true
	case w.condition:
		return v.conditions
	}
	return v.external && name == w.externalID
}

var deletionPolicies = map[string]string{"Delete": "Delete", "Retain": "Retain", "Snapshot": "Snapshot"}

// deletionPolicy is a policy's own spelling; false if the version has none of
// that name.
func (v *Version) deletionPolicy(name string) (string, bool) {
	if v.lowerPolicies && name != "" && name == strings.ToLower(name) {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	policy, ok := deletionPolicies[name]
	return policy, ok
}

// all are the versions by key and name.
var all = versions()

// Versions are all versions in the order of their full names.
func Versions() []*Version {
	list := []*Version{}
	for _, v := range all {
		if !slices.Contains(v.Aliases, v.Name) && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *Version) int { return strings.Compare(a.FullName(), b.FullName()) })
	return list
}

// FindVersion is the version of a full name or the full name of an alias.
func FindVersion(full string) (*Version, bool) {
	v, ok := all[full]
	return v, ok
}

// versions builds the table: each HOT version is the one before it with
// something added or taken away.
func versions() map[string]*Version {
	removedCFN := table{}
	for _, name := range []string{"Fn::GetAZs", "Fn::Join", "Fn::Split", "Fn::Replace", "Fn::Base64", "Fn::MemberListToMap",
		"Fn::ResourceFacade", "Ref"} {
		removedCFN[name] = removed
	}
	cfn := table{
		"Fn::FindInMap": findInMap, "Fn::GetAZs": getAZs, "Ref": ref, "Fn::GetAtt": cfnGetAtt, "Fn::Select": selectFrom,
		"Fn::Join": join2, "Fn::Split": cfnSplit, "Fn::Replace": cfnReplace, "Fn::Base64": base64Text,
		"Fn::MemberListToMap": memberListToMap, "Fn::ResourceFacade": facadeOf("Metadata", "DeletionPolicy", "UpdatePolicy"),
	}
	aws := &Version{Key: keyAWS, Name: "2010-09-09", Type: "cfn", words: &cfnWords, conditions: true,
		functions: with(cfn, table{"Fn::If": ifFunction}),
		inConditions: table{"Fn::Equals": equals, "Ref": paramRef, "Fn::FindInMap": findInMap, "Fn::Not": cfnNot, "Fn::And": and,
			"Fn::Or": or}}
	heat := &Version{Key: keyHeat, Name: "2012-12-12", Type: "cfn", words: &cfnWords, functions: cfn}

	first := &Version{Key: keyHOT, Name: "2013-05-23", Type: "hot", words: &hotWords, functions: with(cfn, table{
		"Fn::FindInMap": nil, "Fn::GetAtt": nil,
		"get_param": getParam, "get_resource": getResource, "get_attr": getAttThenSelect, "list_join": join2,
		"str_replace": strReplace, "resource_facade": facadeOf("metadata", "deletion_policy", "update_policy"), "get_file": getFile})}
	list := []*Version{aws, heat, first}
	last := first
	add := func(name string, change func(v *Version)) {
		v := *last
		v.Name, v.Aliases, v.functions, v.inConditions = name, nil, maps.Clone(last.functions), maps.Clone(last.inConditions)
		change(&v)
		list = append(list, &v)
		last = &v
	}
	add("2014-10-16", func(v *Version) {
		v.functions = with(v.functions, with(removedCFN, table{"get_attr": getAtt}))
	})
	add("2015-04-30", func(v *Version) {
		v.functions = with(v.functions, table{"repeat": repeat, "digest": digest})
	})
	add("2015-10-15", func(v *Version) {
		v.functions = with(v.functions, table{"get_attr": getAttAll, "list_join": joinMany, "str_replace": strReplaceJSON,
			"str_split": strSplit, "Fn::Select": removed})
	})
	add("2016-04-08", func(v *Version) { v.functions = with(v.functions, table{"map_merge": mapMerge}) })
	add("2016-10-14", func(v *Version) {
		v.Aliases = []string{"newton"}
		v.conditions, v.external, v.lowerPolicies = true, true, true
		v.functions = with(v.functions, table{"repeat": repeatMaps, "yaql": yaqlFunction, "map_replace": mapReplace, "if": ifFunction})
		v.inConditions = table{"get_param": getParam, "equals": equals, "not": not, "and": and, "or": or}
	})
	add("2017-02-24", func(v *Version) {
		v.Aliases, v.modulo = []string{"ocata"}, true
		v.functions = with(v.functions, table{"filter": filter, "str_replace_strict": strReplaceStrict})
	})
	add("2017-09-01", func(v *Version) {
		v.Aliases = []string{"pike"}
		v.functions = with(v.functions, table{"repeat": repeatNested, "make_url": makeURL, "list_concat": listConcat,
			"str_replace_vstrict": strReplaceVeryStrict, "list_concat_unique": listConcatUnique, "contains": contains})
		v.inConditions = with(v.inConditions, table{"yaql": yaqlFunction, "contains": contains})
	})
	add("2018-03-02", func(v *Version) { v.Aliases, v.tags = []string{"queens"}, true })
	add("2018-08-31", func(v *Version) { v.Aliases = []string{"rocky"} })
	add("2021-04-16", func(v *Version) {
		v.Aliases = []string{"wallaby"}
		v.functions = with(v.functions, table{"if": ifNullable})
	})

	named := map[string]*Version{}
	for _, v := range list {
		v.inConditions = refusedElsewhere(v.functions, v.inConditions)
		named[v.FullName()] = v
		for _, alias := range v.Aliases {
			named[v.Key+"."+alias] = v
		}
	}
	return named
}

// with is a table with some functions added, changed, or taken away (nil).
func with(functions, changes table) table {
	t := maps.Clone(functions)
	for name, fn := range changes {
		if fn == nil {
			delete(t, name)
			continue
		}
		t[name] = fn
	}
	return t
}

// refusedElsewhere is the table for conditions: what may stand there, and for
// every other function of the version the refusal.
func refusedElsewhere(functions, inConditions table) table {
	t := table{}
	for name, fn := range functions {
		t[name] = notHere
		if fn == removed {
			t[name] = removed
		}
	}
	return with(t, inConditions)
}
