package simulated

// What is to go wrong, and where.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

// Keys of a flavor's extra specs.
const (
	failKey  = "simulated:fail"
	delayKey = "simulated:delay"
)

// hang is a wait that only the end of the context ends.
const hang = time.Duration(-1)

// rules say what happens at sub-steps, by name.
type rules struct {
	fail  map[string]failure
	delay map[string]time.Duration
}

type failure struct {
	kind faults.Kind
	// times is how often, per guest; 0 is always.
	times int
}

func parseRules(fail, delay string) (rules, error) {
	r := rules{fail: map[string]failure{}, delay: map[string]time.Duration{}}
	err := eachPair(fail, func(name, value string) error {
		kind, times, limited := strings.Cut(value, ":")
		f := failure{kind: faults.Kind(kind)}
		if !f.kind.Known() {
			return fmt.Errorf("%q is no kind of fault", kind)
		}
		if limited {
			n, err := strconv.Atoi(times)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number of times", times)
			}
			f.times = n
		}
		r.fail[name] = f
		return nil
	})
	return r, errors.Join(err, eachPair(delay, func(name, value string) error {
		if value == "hang" {
			r.delay[name] = hang
			return nil
		}
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is no duration", value)
		}
		r.delay[name] = d
		return nil
	}))
}

func eachPair(list string, f func(name, value string) error) error {
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q is not name=value", pair)
		}
		if err := f(name, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// readRules reads simulated.json; without the file there are none.
func readRules(path string) (rules, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return rules{}, nil
	}
	var lists struct{ Fail, Delay string }
	if err == nil {
		err = json.Unmarshal(data, &lists)
	}
	if err != nil {
		return rules{}, fmt.Errorf("%s: %w", path, err)
	}
	return parseRules(lists.Fail, lists.Delay)
}

// over lays r over below.
func (r rules) over(below rules) rules {
	both := rules{fail: map[string]failure{}, delay: map[string]time.Duration{}}
	for _, layer := range []rules{below, r} {
		maps.Copy(both.fail, layer.fail)
		maps.Copy(both.delay, layer.delay)
	}
	return both
}

// pause waits as long as the sub-step is to be delayed.
func (r rules) pause(ctx context.Context, name string) error {
	d := r.delay[name]
	if d == 0 {
		return ctx.Err()
	}
	var timer <-chan time.Time
	if d != hang {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer:
		return nil
	}
}
