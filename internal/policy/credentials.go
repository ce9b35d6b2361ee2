package policy

// Who asks, in the terms that rules use.

import (
	"strconv"
	"strings"
)

// Credentials are what a token proves of the caller. An empty string is what
// the originals have as None, and compares as such.
type Credentials struct {
	UserID         string
	UserName       string
	UserDomainID   string
	UserDomainName string

	// One scope: a project, a domain, or the system ("all").
	ProjectID         string
	ProjectName       string
	ProjectDomainID   string
	ProjectDomainName string
	DomainID          string
	DomainName        string
	SystemScope       string

	Roles []string
	// IsAdmin is what the check is_admin:True asks for: that the rule
	// context_is_admin allows these credentials.
	IsAdmin bool
	// IsAdminProject is true unless Keystone says that the token's project
	// isn't the admin project.
	IsAdminProject bool

	// The service that passed the request on, by its own token.
	ServiceUserID          string
	ServiceUserDomainID    string
	ServiceProjectID       string
	ServiceProjectDomainID string
	ServiceRoles           []string

	// Extra are further attributes of a service's own, nested maps and lists
	// included: rules reach into them by dots, "token.project.domain.id".
	Extra map[string]any
}

// attributes are the names that rules know the fields by (oslo.context,
// RequestContext.to_policy_values, and what Ironic and Skyline add to it).
var attributes = map[string]func(*Credentials) string{
	"user_id":                   func(c *Credentials) string { return c.UserID },
	"user_name":                 func(c *Credentials) string { return c.UserName },
	"username":                  func(c *Credentials) string { return c.UserName },
	"user_domain_id":            func(c *Credentials) string { return c.UserDomainID },
	"user_domain_name":          func(c *Credentials) string { return c.UserDomainName },
	"project_id":                func(c *Credentials) string { return c.ProjectID },
	"tenant_id":                 func(c *Credentials) string { return c.ProjectID },
	"project_name":              func(c *Credentials) string { return c.ProjectName },
	"project_domain_id":         func(c *Credentials) string { return c.ProjectDomainID },
	"project_domain_name":       func(c *Credentials) string { return c.ProjectDomainName },
	"domain_id":                 func(c *Credentials) string { return c.DomainID },
	"domain_name":               func(c *Credentials) string { return c.DomainName },
	"system_scope":              func(c *Credentials) string { return c.SystemScope },
	"is_admin_project":          func(c *Credentials) string { return pyBool(c.IsAdminProject) },
	"service_user_id":           func(c *Credentials) string { return c.ServiceUserID },
	"service_user_domain_id":    func(c *Credentials) string { return c.ServiceUserDomainID },
	"service_project_id":        func(c *Credentials) string { return c.ServiceProjectID },
	"service_project_domain_id": func(c *Credentials) string { return c.ServiceProjectDomainID },
}

// lists are the attributes with several values: one that fits is enough.
var lists = map[string]func(*Credentials) []string{
	"roles":         func(c *Credentials) []string { return c.Roles },
	"service_roles": func(c *Credentials) []string { return c.ServiceRoles },
}

// scope is the kind of the credentials' scope, as scope types name it.
func (c *Credentials) scope() string {
	switch {
	case c.SystemScope != "":
		return "system"
	case c.DomainID != "":
		return "domain"
	default:
		return "project"
	}
}

// hasRole compares role names as Keystone does, without regard to case. The
// name is given in lower case.
func (c *Credentials) hasRole(name string) bool {
	for _, role := range c.Roles {
		if strings.ToLower(role) == name {
			return true
		}
	}
	return false
}

// none is Python's text for a missing value.
const none = "None"

// text is a value as Python's str writes it; false for what isn't a scalar,
// which nothing equals.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return none, true
	case string:
		return v, true
	case bool:
		return pyBool(v), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *string:
		if v == nil {
			return none, true
		}
		return *v, true
	default:
		return "", false
	}
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
