package keystone

// The table against the development cloud's own identity service.

import (
	"crypto/rand"
	"log/slog"
	"testing"

	"holdfast.dev/dev/companions/identity"
	"holdfast.dev/dev/companions/service"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestCompanion(t *testing.T) {
	dsn := testenv.Database(t)
	if err := service.Migrate(t.Context(), dsn, "identity", identity.Migrations()); err != nil {
		t.Fatal(err)
	}
	pool, err := service.Open(t.Context(), dsn, 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	listener, err := service.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	companion := server{url: "http://" + listener.Addr().String() + "/v3", password: rand.Text()}
	s := identity.New(pool, companion.url, slog.New(slog.DiscardHandler))
	err = s.Seed(t.Context(), identity.Seed{
		Region:   "RegionOne",
		Projects: []string{"admin"},
		Users: []identity.SeedUser{{Name: "admin", Password: companion.password, DefaultProject: "admin",
			Roles: map[string][]string{"admin": {"admin"}, "": {"admin"}}}},
		Services: []identity.SeedService{{Type: "identity", Name: "keystone", URL: companion.url}},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := service.Serve(t.Context(), listener, s.Handler()); err != nil {
			t.Error(err)
		}
	}()
	// The cases run in parallel; the server outlives them.
	t.Run("cases", companion.run)
}
