package identity

// Keystone's default policies, as far as the companion has what they speak of.

import (
	"net/http"

	"holdfast.dev/dev/companions/service"
)

// rule says whether the caller may do something to the thing with this id.
type rule func(c *service.Caller, id string) bool

func anybody(*service.Caller, string) bool         { return true }
func adminOnly(c *service.Caller, _ string) bool   { return c.Admin() }
func selfOnly(c *service.Caller, user string) bool { return c.User.ID == user }

// overseer is an administrator or a reader of the whole system.
func overseer(c *service.Caller, _ string) bool { return c.Admin() || c.System && c.Has("reader") }

func overseerOrSelf(c *service.Caller, user string) bool { return overseer(c, "") || c.User.ID == user }
func adminOrSelf(c *service.Caller, user string) bool    { return c.Admin() || c.User.ID == user }

func overseerOrInProject(c *service.Caller, project string) bool {
	return overseer(c, "") || c.ProjectID() == project
}

func overseerOrOfDomain(c *service.Caller, domain string) bool {
	return overseer(c, "") || c.User.Domain.ID == domain ||
		c.Domain != nil && c.Domain.ID == domain || c.Project != nil && c.Project.Domain.ID == domain
}

// enforce gives Keystone's 403 unless the rule lets the caller pass.
func enforce(may rule, c *service.Caller, id, action string) error {
	if may(c, id) {
		return nil
	}
	return service.Fail(http.StatusForbidden, "You are not authorized to perform the requested action: identity:%s.", action)
}

// notFound is Keystone's 404.
func notFound(what, id string) error {
	return service.Fail(http.StatusNotFound, "Could not find %s: %s.", what, clip(id))
}
