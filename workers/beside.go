package workers

// Work beside all else.

import "sync"

// beside runs work of which each has a name, once at a time.
type beside[K comparable] struct {
	mu   sync.Mutex
	busy map[K]bool
	wait sync.WaitGroup
}

// begin begins what isn't under way already, unless as much is as may be at once: then
// it is for a later call.
func (b *beside[K]) begin(name K, most int, work func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[name] || len(b.busy) >= most {
		return
	}
	if b.busy == nil {
		b.busy = map[K]bool{}
	}
	b.busy[name] = true
	b.wait.Go(func() {
		work()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.busy, name)
	})
}
