package resources

// Provider templates, OS::Heat::Stack and OS::Heat::ResourceChain: resources that are
// stacks by a template.

import (
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// providerMade has the file's template, with the properties as its parameters.
func providerMade(c *Call, _ become, _ batch, _ int) (*stacks.Nested, error) {
	def := c.definition.Resource(c.Name)
	t, err := c.definition.TypeOf(def)
	if err != nil {
		return nil, err
	}
	return c.definition.ProviderOf(def, t, c.Properties, c.world)
}

// ownID is the output that says what get_resource gives of the stack.
const ownID = "OS::stack_id"

// readProvider has the outputs be the attributes.
func readProvider(c *Call, of become) error {
	c.Attributes = outputsOf(of)
	c.Reference = "arn:openstack:heat::" + of.stack.ProjectID + ":stacks/" + of.stack.Name + "/" + of.stack.ID
	if id, is := c.Attributes.Get(ownID); is {
		c.Reference = id
	}
	_, _, err := stacks.KeepMembers(c.Data, of.world, of.rows)
	return err
}

// outputsOf are a stack's outputs by their names; one that can't be worked out is
// null.
func outputsOf(of become) *value.Map {
	all := &value.Map{}
	valueOf := of.definition.Values(of.world)
	for _, o := range of.definition.Outputs() {
		v, err := valueOf(o)
		if err != nil || !o.Enabled {
			v = nil
		}
		all.Set(o.Name, v)
	}
	return all
}

// stackMade has the template that is the property.
func stackMade(c *Call, _ become, _ batch, _ int) (*stacks.Nested, error) {
	made, err := stacks.StackOf(c.Properties)
	if err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "StackValidationFailed", "Failed validating stack template using Heat endpoint at region \"\" due to \"%s\"", err)
	}
	return made, nil
}

// readStack has the outputs be one attribute.
func readStack(c *Call, of become) error {
	c.Attributes.Set("stack_name", of.stack.Name)
	c.Attributes.Set("outputs", outputsOf(of))
	return nil
}

// chainMade has a resource of each type.
func chainMade(c *Call, _ become, _ batch, most int) (*stacks.Nested, error) {
	given, _ := c.Properties.Get("resources")
	if types, _ := given.([]any); len(types) > most {
		return nil, tooMany()
	}
	return stacks.Made(stacks.ChainTemplate(c.Properties))
}

// readChain has the members be read through the chain.
func readChain(c *Call, of become) error {
	slices.SortFunc(of.rows, func(a, b *orchestration.Resource) int { return byNumber(a.Name, b.Name) })
	refs, _, err := stacks.KeepMembers(c.Data, of.world, of.rows)
	c.Attributes.Set("refs", refs)
	return err
}
