package workers

// Getting the images that a host is to have before servers ask for them.

import (
	"context"
	"log/slog"
	"time"
)

const (
	// maxPrefetches is how many images a host gets at once beside its servers' own.
	maxPrefetches = 2
	// prefetchTime bounds one, as the step libvirt.PrepareImage is bounded.
	prefetchTime = 20 * time.Minute
)

// prefetcher gets images. It keeps nothing: what a host was killed over is listed again,
// and found or made anew then.
type prefetcher struct {
	// get has an image in the host's cache, settled tells the API that it is there or
	// can't be.
	get, settled func(ctx context.Context, imageID string) error
	log          *slog.Logger
	under        beside[string]
}

// begin gets the images that are listed, few at once: the others are listed again.
func (p *prefetcher) begin(ctx context.Context, images []string) {
	for _, id := range images {
		p.under.begin(id, maxPrefetches, func() { p.one(ctx, id) })
	}
}

// one gets an image. One that can't be had is given up, as nobody waits for it; one that
// was cut short, since the host ends, is still wanted.
func (p *prefetcher) one(ctx context.Context, id string) {
	limited, cancel := context.WithTimeout(ctx, prefetchTime)
	defer cancel()
	log := p.log.With("image", id)
	switch err := p.get(limited, id); {
	case ctx.Err() != nil:
		return
	case err != nil:
		log.WarnContext(ctx, "an image is not cached", "error", err)
	default:
		log.InfoContext(ctx, "an image is cached")
	}
	if err := p.settled(ctx, id); err != nil {
		log.WarnContext(ctx, "the API does not hear of an image; it will list it again", "error", err)
	}
}
