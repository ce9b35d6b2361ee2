package scheduler

// The weighers: which of the hosts that can take a request should.

// Weigher gives a host a weight in any unit; the heaviest is tried first.
type Weigher struct {
	Name string
	// Multiplier says how much the weigher counts among the others; a negative
	// one prefers light hosts.
	Multiplier float64
	Weigh      func(*Request, *Host) float64
}

// Weighers spread servers over hosts by free memory (Nova: ram_weight_multiplier 1.0).
var Weighers = []Weigher{
	{"RAMWeigher", 1, func(_ *Request, h *Host) float64 { return h.Memory.Free() }},
}
