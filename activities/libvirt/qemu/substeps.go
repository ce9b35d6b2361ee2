package qemu

// Sub-steps: the acts that a call is made of.

import "context"

// subStep is one act that observes first; nil only marks a place.
type subStep struct {
	name string
	act  func(ctx context.Context) error
}

// steps runs them in order until one fails or ctx ends.
func (g *guest) steps(ctx context.Context, all ...subStep) error {
	for _, s := range all {
		if g.driver.onStep != nil {
			g.driver.onStep(g.id, s.name)
		}
		if g.driver.hold != nil {
			if err := g.driver.hold(ctx, g.id, s.name); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.act == nil {
			continue
		}
		if err := s.act(ctx); err != nil {
			return err
		}
	}
	return nil
}
