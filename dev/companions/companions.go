package companions

// All companions in one process.

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"holdfast.dev/dev/companions/identity"
	"holdfast.dev/dev/companions/image"
	"holdfast.dev/dev/companions/network"
	"holdfast.dev/dev/companions/network/dataplane"
	"holdfast.dev/dev/companions/service"
	"holdfast.dev/dev/companions/volume"
)

// Config is what the companions are run with. It holds passwords.
type Config struct {
	// DSN is the address of their database.
	DSN string
	// Dir keeps the data of images and volumes.
	Dir string
	// Ports on 127.0.0.1.
	IdentityPort, ImagePort, NetworkPort, VolumePort int
	// Seed is what the identity service has from its start.
	Seed identity.Seed
	// User is the service user that the companions call each other and compute as.
	User, Password, Project string
	// ComputeURL takes events about ports, and has servers go on on other volumes.
	ComputeURL string
	// DataPlane makes the networks real on this machine; it needs root.
	DataPlane bool
	// MetadataURL and MetadataSecret are the metadata service of the data plane.
	MetadataURL, MetadataSecret string
}

// Run serves until ctx ends.
func Run(ctx context.Context, cfg Config, log *slog.Logger) error {
	for name, files := range map[string]fs.FS{
		"identity": identity.Migrations(), "image": image.Migrations(), "network": network.Migrations(), "volume": volume.Migrations(),
	} {
		if err := service.Migrate(ctx, cfg.DSN, name, files); err != nil {
			return err
		}
	}
	pool, err := service.Open(ctx, cfg.DSN, 16)
	if err != nil {
		return err
	}
	defer pool.Close()
	group, ctx := errgroup.WithContext(ctx)
	if err := start(ctx, group, cfg, pool, log); err != nil {
		return err
	}
	return group.Wait()
}

// start makes the services and runs them in the group.
func start(ctx context.Context, group *errgroup.Group, cfg Config, pool *pgxpool.Pool, log *slog.Logger) error {
	identityURL := fmt.Sprintf("http://127.0.0.1:%d/v3", cfg.IdentityPort)
	people := identity.New(pool, identityURL, log)
	if err := people.Seed(ctx, cfg.Seed); err != nil {
		return fmt.Errorf("seed the identity service: %w", err)
	}
	auth := service.Keystone(identityURL)
	login := service.NewLogin(identityURL, cfg.User, cfg.Password, cfg.Project)
	images, err := image.New(image.Config{Pool: pool, Auth: auth, Log: log, Dir: filepath.Join(cfg.Dir, "images")})
	if err == nil {
		err = images.Sweep(ctx)
	}
	if err != nil {
		return fmt.Errorf("the image service: %w", err)
	}
	// QEMU's account passes through to volumes.
	if err := os.Chmod(cfg.Dir, 0o711); err != nil {
		return fmt.Errorf("the folder of data: %w", err)
	}
	volumes, err := volume.New(volume.Config{Pool: pool, Auth: auth, Log: log, Dir: filepath.Join(cfg.Dir, "volumes"),
		Images:  &volume.Images{URL: fmt.Sprintf("http://127.0.0.1:%d", cfg.ImagePort), Token: login.Token},
		Servers: &volume.Servers{URL: cfg.ComputeURL, Token: login.Token}})
	if err != nil {
		return err
	}
	plane := dataplane.New(dataplane.Config{Dir: filepath.Join(cfg.Dir, "networks"), MetadataURL: cfg.MetadataURL, Secret: cfg.MetadataSecret, Log: log})
	networks := network.New(network.Config{Pool: pool, Auth: auth, Log: log, Changed: plane.Kick,
		Compute: &network.Compute{URL: cfg.ComputeURL, Token: login.Token}})
	for _, s := range []struct {
		port    int
		handler http.Handler
	}{
		{cfg.IdentityPort, people.Handler()}, {cfg.ImagePort, images}, {cfg.NetworkPort, networks}, {cfg.VolumePort, volumes},
	} {
		listener, err := service.Listen(ctx, s.port)
		if err != nil {
			return err
		}
		group.Go(func() error { return service.Serve(ctx, listener, s.handler) })
	}
	group.Go(func() error { people.Purge(ctx); return nil })
	group.Go(func() error { return networks.Run(ctx) })
	group.Go(func() error { return volumes.Run(ctx) })
	if cfg.DataPlane {
		group.Go(func() error { return plane.Run(ctx, networks.Plan) })
	}
	return nil
}
