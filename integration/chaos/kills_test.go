package chaos

// SIGKILL of every process under load.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// Twenty servers are asked for while each process of the cloud is killed and
// started again, at points that the seed draws. All twenty end ACTIVE, none
// twice, and nothing is left over.
func TestKillsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := cloud.Start(t, cloud.Options{Delay: "build.image=200ms,build.disk=200ms,build.define=200ms,build.start=200ms,build.done=200ms"})
			r := rand.New(rand.NewPCG(seed, 0))
			names := numbered("kill", 20)
			pauses := make([]time.Duration, len(names))
			for i := range pauses {
				pauses[i] = between(r, 0, 6*time.Second)
			}
			var ids []string
			created := make(chan error, 1)
			go func() {
				var err error
				ids, err = createAll(t.Context(), c, names, func(i int) time.Duration { return pauses[i] })
				created <- err
			}()
			victims := append([]cloud.Name(nil), cloud.Names...)
			r.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
			for _, victim := range victims {
				time.Sleep(between(r, 100*time.Millisecond, 1500*time.Millisecond))
				c.Kill(victim)
				t.Logf("%s is killed", victim)
				time.Sleep(between(r, 100*time.Millisecond, 2*time.Second))
				c.Restart(victim)
			}
			if err := <-created; err != nil {
				t.Fatal(err)
			}
			allAre(t, c, ids, "ACTIVE", 2*time.Minute)
			onlyOnce(t, c, names)
			c.Audit()
			once(t, c, ids)
		})
	}
}
