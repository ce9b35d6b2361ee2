package main

// Whom tokens belong to: Keystone, or the fixed tokens of tests.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/telemetry"
)

// authenticator is Keystone, by the service user that is configured. Static
// tokens take its place: tests have a service user without it. With neither
// nobody could be let in, so the API doesn't start.
func (p *process) authenticator() (rest.Authenticator, []telemetry.Probe, error) {
	if tokens := p.cfg.Dev.StaticTokens; len(tokens) > 0 {
		p.log.Warn("dev.static_tokens are in use: whoever knows one is let in, and Keystone isn't asked")
		return staticTokens(tokens), nil, nil
	}
	if p.cfg.OpenStack.AuthURL == "" {
		return nil, nil, faults.New(faults.Invalid, "NoAuthenticator",
			"there is nothing to check tokens with: set openstack.auth_url and the service user, or dev.static_tokens (development and tests only)")
	}
	keystone, err := p.keystone()
	if err != nil {
		return nil, nil, err
	}
	return keystone, []telemetry.Probe{{Name: "keystone", Run: keystone.Ping}}, nil
}

// keystone is Keystone as Holdfast's service user reaches it, the same each time.
func (p *process) keystone() (_ *identity.Keystone, err error) {
	if p.known == nil {
		user, how := p.cfg.OpenStack, p.cfg.Keystone
		p.known, err = identity.New(identity.Options{
			AuthURL:  user.AuthURL,
			Username: user.Username, Password: user.Password, UserDomain: user.UserDomain,
			Project: user.Project, ProjectDomain: user.ProjectDomain,
			CAFile: how.CAFile, Timeout: how.Timeout,
			CacheTime: how.TokenCacheTime, CacheSize: how.TokenCacheSize,
			Log: p.log,
		})
	}
	return p.known, err
}

func staticTokens(tokens []config.StaticToken) rest.Authenticator {
	who := map[string]policy.Credentials{}
	for _, t := range tokens {
		creds := policy.Credentials{UserID: t.User, ProjectID: t.Project, Roles: t.Roles}
		if t.System {
			creds.SystemScope = "all"
		}
		who[t.Token] = creds
	}
	return rest.NewStaticTokens(who)
}
