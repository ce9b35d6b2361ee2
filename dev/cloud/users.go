package cloud

// Users, and their passwords.

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"holdfast.dev/internal/statedir"
)

// user is one that the cloud has from its start.
type user struct {
	Name    string
	Project string
	Roles   []string
}

// users are those a person logs in as; each has a cloud of its name in
// clouds.yaml.
var users = []user{
	{"admin", "admin", []string{"admin"}},
	{"demo", "demo", []string{"member"}},
	{"reader", "demo", []string{"reader"}},
}

// The service user, its project, the region, and what the metadata service and
// the networks' proxies share.
const (
	serviceUser    = "nova"
	serviceProject = "service"
	region         = "RegionOne"
	metadataSecret = "metadata"
	// The domain of users that stacks make, and its administrator.
	stackDomain      = "heat"
	stackDomainAdmin = "heat_domain_admin"
)

// password gives a user's, made when it is asked for first and kept in the
// cloud's folder.
func (c *cloud) password(name string) (string, error) {
	dir := c.path("passwords")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("password of %s: %w", name, err)
	}
	file := c.path("passwords", name)
	text, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	password := strings.ToLower(rand.Text())
	if errors.Is(err, fs.ErrNotExist) {
		err = statedir.Write(file, []byte(password+"\n"))
	}
	if err != nil {
		return "", fmt.Errorf("password of %s: %w", name, err)
	}
	return password, nil
}
