package resources

// Resources that are users: whoever knows what such a one logs in with, or has what it
// has signed, may signal the resource and nothing else.

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// Users makes users for stacks, in a domain and in projects of such users. What is
// there is not made twice, and what is gone is no error. Errors: Unavailable, and
// whatever else keeps users from being made.
type Users interface {
	// Domain is the id of the domain.
	Domain(ctx context.Context) (string, error)
	Project(ctx context.Context, name string) (id string, err error)
	User(ctx context.Context, name, password, projectID string) (id string, err error)
	// Key gives a user a key pair for signatures.
	Key(ctx context.Context, userID, projectID, access, secret string) error
	Enable(ctx context.Context, userID string, enabled bool) error
	// EndUser takes a user away, by its id or, if that is empty, its name.
	EndUser(ctx context.Context, name, id string) error
}

// What a resource keeps of its user, by the original's names.
const (
	usernameKey = "username"
	passwordKey = "password"
	accessKey   = "access_key"
	secretKey   = "secret_key"
)

// expectant is a Type that writes down what it will make before it is called to, in the
// transaction that shows that its resource is worked on.
type expectant interface {
	expect(ctx context.Context, c *Call) error
}

// stackUser is a type whose resource is a user of its stack. It is there for as long as
// the resource, whatever its deletion policy: it is good for nothing without.
type stackUser struct{ *Activities }

// Instant implements Type: where stacks have no users, nobody is asked for one.
func (t stackUser) Instant() bool { return t.o.Users == nil }

// expect writes down the user's name, password and key, and that its project is about
// to be there. What an abandoned stack has left is another's user.
func (t stackUser) expect(ctx context.Context, c *Call) (err error) {
	if t.o.Users == nil {
		return nil
	}
	if c.kept(usernameKey) != c.Mark {
		c.Data = c.Data.Without(stacks.UserKey)
		for key, v := range map[string]string{usernameKey: c.Mark, passwordKey: rand.Text(), accessKey: hexText(), secretKey: rand.Text()} {
			c.Data.Set(key, v)
		}
	}
	c.userProject, err = orchestration.ExpectUserProject(ctx, c.tx, c.parent.ID)
	return err
}

// hexText is a random text of 32 hexadecimal digits.
func hexText() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // it never fails since Go 1.24
	return hex.EncodeToString(random)
}

// madeUser is the user of a resource.
type madeUser struct{ name, id, project string }

// user has the user be there; it is idempotent by what was expected.
func (t stackUser) user(ctx context.Context, c *Call) (u madeUser, err error) {
	if t.o.Users == nil {
		return u, faults.New(faults.Invalid, "NotSupported", "Signals by a user of the stack are not supported, since orchestration.stack_domain_admin is not set.")
	}
	project := c.userProject
	if project.ID == "" {
		if project.ID, err = t.o.Users.Project(ctx, project.Name); err != nil {
			return u, err
		}
	}
	if err := orchestration.PutUserProject(ctx, t.db.Pool, project, c.parent.ID); err != nil {
		return u, err
	}
	u = madeUser{name: c.kept(usernameKey), project: project.ID}
	if u.id, err = t.o.Users.User(ctx, u.name, c.kept(passwordKey), u.project); err != nil {
		return u, err
	}
	c.Data.Set(stacks.UserKey, u.id)
	c.PhysicalID = u.id
	return u, nil
}

// signs says whether there are users, and somewhere to signal by what they sign.
func (t stackUser) signs() bool { return t.o.Users != nil && t.o.SignedURL != "" }

// signed is a URL for signals at a path of the CloudFormation API, signed by the user
// at a time; the zero time has it be good for as long as the user is there.
func (t stackUser) signed(ctx context.Context, c *Call, path string, at time.Time) (string, error) {
	if t.o.SignedURL == "" {
		return "", faults.New(faults.Invalid, "NotSupported", "Signed URLs are not supported, since orchestration.cfn_guest_url is not set.")
	}
	u, err := t.user(ctx, c)
	if err != nil {
		return "", err
	}
	key := stacks.Key{Access: c.kept(accessKey), Secret: c.kept(secretKey)}
	if err := t.o.Users.Key(ctx, u.id, u.project, key.Access, key.Secret); err != nil {
		return "", err
	}
	return stacks.SignedURL(t.o.SignedURL, path, stacks.Place{ProjectID: c.ProjectID, StackName: c.parent.Name, StackID: c.parent.ID, Resource: c.Name}, key, at)
}

// Update has nothing to change.
func (stackUser) Update(context.Context, *Call, []string) (time.Duration, error) { return 0, nil }

// Suspend keeps the user from logging in; it is idempotent by that.
func (t stackUser) Suspend(ctx context.Context, c *Call) (time.Duration, error) {
	return 0, t.enable(ctx, c, false)
}

// Resume lets the user log in again; it is idempotent by that.
func (t stackUser) Resume(ctx context.Context, c *Call) (time.Duration, error) {
	return 0, t.enable(ctx, c, true)
}

func (t stackUser) enable(ctx context.Context, c *Call, enabled bool) error {
	id := c.kept(stacks.UserKey)
	if id == "" {
		return nil
	}
	if t.o.Users == nil {
		return errNobodyAsked
	}
	return t.o.Users.Enable(ctx, id, enabled)
}

// errNobodyAsked is the failure of what a user needs while nobody may ask for it.
var errNobodyAsked = faults.New(faults.Invalid, "NotSupported", "The user of the resource can't be changed, since orchestration.stack_domain_admin is not set.")

// Delete takes the user away, by its id or, where nobody has heard of that, its name.
func (t stackUser) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	name := c.kept(usernameKey)
	switch {
	case name == "" || name != c.Mark:
		return 0, nil
	case t.o.Users == nil:
		return 0, errNobodyAsked
	}
	return 0, t.o.Users.EndUser(ctx, name, c.kept(stacks.UserKey))
}

// isUser says whether resources of a type are users.
func isUser(t Type) bool { _, is := t.(expectant); return is }

// signalURL is where a resource is signalled by those who have a token of a project;
// null if guests can't reach the API.
func (a *Activities) signalURL(c *Call, project string) any {
	if a.o.GuestURL == "" {
		return nil
	}
	return strings.TrimSuffix(a.o.GuestURL, "/") + "/v1/" + strings.Join([]string{project, "stacks", url.PathEscape(c.parent.Name), c.parent.ID,
		"resources", url.PathEscape(c.Name), "signal"}, "/")
}
