package resources

// OS::Heat::RandomString: a random text, made once and kept.

import (
	"context"
	"crypto/rand"
	"math/big"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// RandomString is OS::Heat::RandomString.
type RandomString struct{ None }

const (
	lowercase = "abcdefghijklmnopqrstuvwxyz"
	uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits    = "0123456789"
)

// classes are the classes of characters by the names that templates use.
var classes = map[string]string{
	"lettersdigits": lowercase + uppercase + digits, "letters": lowercase + uppercase, "lowercase": lowercase, "uppercase": uppercase,
	"digits": digits, "hexdigits": digits + "ABCDEF", "octdigits": "01234567",
}

// demand is a set of characters, and how many of them there must be at least.
type demand struct {
	from  []rune
	least int
}

// Create is idempotent by the text, which is kept.
func (RandomString) Create(_ context.Context, c *Call) (time.Duration, error) {
	if c.PhysicalID != "" {
		return 0, nil
	}
	demands, length, err := demandsOf(c)
	if err != nil {
		return 0, err
	}
	text := random(demands, length)
	c.PhysicalID, c.Reference = c.Mark, text
	c.Attributes.Set("value", text)
	c.Data.Set("value", text)
	return 0, nil
}

func demandsOf(c *Call) (demands []demand, length int, err error) {
	count := func(m *value.Map) int {
		v, _ := m.Get("min")
		return int(number(v))
	}
	each := func(name string, f func(*value.Map)) {
		v, _ := c.Properties.Get(name)
		list, _ := v.([]any)
		for _, item := range list {
			if m, ok := item.(*value.Map); ok {
				f(m)
			}
		}
	}
	each("character_sequences", func(m *value.Map) {
		v, _ := m.Get("sequence")
		demands = append(demands, demand{[]rune(value.Str(v)), count(m)})
	})
	if sequence := c.text("sequence"); sequence != "" {
		demands = append(demands, demand{[]rune(classes[sequence]), 1})
	} else {
		each("character_classes", func(m *value.Map) {
			v, _ := m.Get("class")
			demands = append(demands, demand{[]rune(classes[value.Str(v)]), count(m)})
		})
	}
	n, _ := c.Properties.Get("length")
	length = int(number(n))
	total := 0
	for _, d := range demands {
		if total += d.least; len(d.from) == 0 {
			return nil, 0, faults.New(faults.Invalid, hot.ValueError, "a character sequence has no characters")
		}
	}
	if total > length || len(demands) == 0 {
		return nil, 0, &hot.Error{Class: hot.ValidationFailed,
			Message: "Length property cannot be smaller than combined character class and character sequence minimums"}
	}
	return demands, length, nil
}

// random is a text that has what is demanded, in any order.
func random(demands []demand, length int) string {
	var all, text []rune
	for _, d := range demands {
		all = append(all, d.from...)
		for range d.least {
			text = append(text, d.from[below(len(d.from))])
		}
	}
	for len(text) < length {
		text = append(text, all[below(len(all))])
	}
	for i := len(text) - 1; i > 0; i-- {
		j := below(i + 1)
		text[i], text[j] = text[j], text[i]
	}
	return string(text)
}

// below is a random number from 0 to n-1 that nobody can guess.
func below(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0 // crypto/rand never fails since Go 1.24
	}
	return int(i.Int64())
}
