package resources

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"sync"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// Options of the steps.
type Options struct {
	// Box opens and seals what is secret of stacks.
	Box *secrets.Box
	// Registry says what there is to know of types, Types what they do.
	Registry *resourcetype.Registry
	Types    Types
	// MaxResources bounds the resources of a stack and all that are nested in it;
	// less than 0 is no bound.
	MaxResources int
	// MaxConfigs bounds the software configs of a project; less than 0 is no bound.
	MaxConfigs int
	// GuestURL is where guests reach the API, SignedURL where they reach that of
	// CloudFormation; empty is nowhere.
	GuestURL, SignedURL string
	// Users makes users for stacks; nil is nobody. They log in at AuthURL, in Region.
	Users           Users
	AuthURL, Region string
	// Cloud has the services that resources are made by; nil is none.
	Cloud Cloud
	// Offer is told of operations on nested stacks that may start; nil leaves them
	// to the dispatcher. It must not block.
	Offer func(operationID string)
	// Heartbeat sends one; nil is Temporal's.
	Heartbeat func(context.Context)
}

// Activities implements steps.ResourcesActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	o      Options
	// definitions that were put together lately, by their templates.
	mu          sync.Mutex
	definitions map[int64]*stacks.Definition
	lately      []int64
}

var _ steps.ResourcesActivities = (*Activities)(nil)

// New gives the steps.
func New(db *store.DB, e *engine.Engine, o Options) *Activities {
	a := &Activities{db: db, engine: e, o: o, definitions: map[int64]*stacks.Definition{}}
	a.o.Types = maps.Clone(o.Types)
	if a.o.Types == nil {
		a.o.Types = Types{}
	}
	for name, made := range map[string]func(context.Context, *Call) (any, error){"OS::Heat::SoftwareConfig": asGiven, "OS::Heat::StructuredConfig": asGiven,
		"OS::Heat::CloudConfig": forCloudInit, "OS::Heat::MultipartMime": multipartMime} {
		a.o.Types[name] = config{Activities: a, made: made}
	}
	user := stackUser{a}
	a.o.Types["OS::Heat::WaitConditionHandle"] = handle{user}
	a.o.Types["OS::Heat::UpdateWaitConditionHandle"] = signedHandle{user}
	a.o.Types["AWS::CloudFormation::WaitConditionHandle"] = signedHandle{user}
	a.o.Types["OS::Heat::WaitCondition"] = waitCondition{a, heatWords}
	a.o.Types["AWS::CloudFormation::WaitCondition"] = waitCondition{a, amazonWords}
	a.o.Types["OS::Heat::ResourceGroup"] = nested{Activities: a, made: groupMade, rolls: groupRolls, read: readGroup}
	a.o.Types["OS::Heat::AutoScalingGroup"] = nested{Activities: a, made: scalingMade, rolls: scalingRolls, read: readScaling}
	a.o.Types["OS::Heat::InstanceGroup"] = nested{Activities: a, made: a.instancesMade, rolls: a.instancesRoll, read: readInstances}
	a.o.Types["AWS::AutoScaling::LaunchConfiguration"] = launch{}
	a.o.Types["OS::Heat::ScalingPolicy"] = scalingPolicy{user}
	a.o.Types["OS::Heat::AccessPolicy"] = None{}
	a.o.Types["OS::Heat::ResourceChain"] = nested{Activities: a, made: chainMade, read: readChain}
	a.o.Types["OS::Heat::Stack"] = nested{Activities: a, made: stackMade, read: readStack}
	a.o.Types[stacks.Provider] = nested{Activities: a, made: providerMade, read: readProvider}
	return a
}

// maxDefinitions is how many definitions are kept at hand.
const maxDefinitions = 32

// definition gives what a stack was asked to be by a template, which never
// changes once it has the zones that it asks for.
func (a *Activities) definition(ctx context.Context, q store.Queryer, s *orchestration.Stack, template int64) (*stacks.Definition, error) {
	a.mu.Lock()
	d := a.definitions[template]
	a.mu.Unlock()
	if d != nil {
		return d, nil
	}
	row, err := orchestration.GetTemplate(ctx, q, template)
	if err != nil {
		return nil, err
	}
	if d, err = stacks.Load(s, row, a.o.Box, a.o.Registry); err != nil {
		return nil, err
	}
	if d.WantsZones() {
		return d, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.definitions[template] == nil {
		a.definitions[template] = d
		if a.lately = append(a.lately, template); len(a.lately) > maxDefinitions {
			delete(a.definitions, a.lately[0])
			a.lately = a.lately[1:]
		}
	}
	return d, nil
}

// job is one call of a step for an operation's stack.
type job struct {
	*Activities
	op    engine.Locked
	stack *orchestration.Stack
	phase steps.Phase
	// traversal is what rows remember of having been done. One that recovers another goes
	// on with that one's.
	traversal string
	// kind and input are what the operation was asked for, or the one that it recovers.
	kind  operations.Kind
	input steps.TraversalInput
}

// open checks the fence and reads the stack, both locked until the transaction ends.
func (a *Activities) open(ctx context.Context, tx store.Tx, f steps.Fence, phase steps.Phase) (*job, error) {
	op, err := a.engine.CheckFence(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	stack := op.ResourceID
	if op.ResourceType == operations.Snapshot {
		if stack, err = orchestration.StackOfSnapshot(ctx, tx, op.ResourceID); err != nil {
			return nil, err
		}
	}
	s, err := orchestration.GetStack(ctx, tx, "", stack)
	if err != nil {
		return nil, err
	}
	asked, err := a.engine.Asked(ctx, tx, op.Operation)
	if err != nil {
		return nil, err
	}
	j := &job{Activities: a, op: op, stack: s, phase: phase, traversal: asked.ID + " " + string(phase), kind: asked.Kind}
	if len(asked.Input) > 0 {
		if err := json.Unmarshal(asked.Input, &j.input); err != nil {
			return nil, faults.Wrap(err, faults.Internal, "InternalError", "the operation's input can't be read")
		}
	}
	return j, nil
}

// asked is the template that the operation is to make the stack by.
func (j *job) asked() int64 {
	if j.phase == steps.Back {
		return j.input.Previous
	}
	return cmp.Or(j.input.Template, j.stack.TemplateID)
}
