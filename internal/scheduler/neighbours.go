package scheduler

// Near to or far from other servers: server groups and hints.

func isOnSameHost(r *Request) func(*Host) bool {
	if r.SameHost == nil {
		return nil
	}
	return func(h *Host) bool { return r.SameHost[h.ID] }
}

func isOnDifferentHost(r *Request) func(*Host) bool {
	if len(r.DifferentHost) == 0 {
		return nil
	}
	return func(h *Host) bool { return !r.DifferentHost[h.ID] }
}

func isNear(r *Request) func(*Host) bool {
	if !r.Near.IsValid() {
		return nil
	}
	return func(h *Host) bool { return r.Near.Contains(h.IP) }
}

// joinsGroup holds affinity: where the group is, once it is anywhere.
func joinsGroup(r *Request) func(*Host) bool {
	if !r.isOf(Affinity) || len(r.Group.Members) == 0 {
		return nil
	}
	return func(h *Host) bool { return r.Group.Members[h.ID] > 0 }
}

// avoidsGroup holds anti-affinity.
func avoidsGroup(r *Request) func(*Host) bool {
	if !r.isOf(AntiAffinity) {
		return nil
	}
	return func(h *Host) bool { return r.Group.Members[h.ID] < max(1, r.Group.MaxServersPerHost) }
}

func softAffinity(r *Request) func(*Host) float64 {
	if !r.isOf(SoftAffinity) {
		return nil
	}
	return func(h *Host) float64 { return float64(r.Group.Members[h.ID]) }
}

func softAntiAffinity(r *Request) func(*Host) float64 {
	if !r.isOf(SoftAntiAffinity) {
		return nil
	}
	return func(h *Host) float64 { return -float64(r.Group.Members[h.ID]) }
}

// isOf says whether the server is in a group of the policy.
func (r *Request) isOf(p Policy) bool { return r.Group != nil && r.Group.Policy == p }
