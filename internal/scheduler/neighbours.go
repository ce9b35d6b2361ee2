package scheduler

// Near to or far from other servers: server groups and hints.

func isOnSameHost(r *Request, h *Host) bool { return r.SameHost == nil || r.SameHost[h.ID] }

func isOnDifferentHost(r *Request, h *Host) bool { return !r.DifferentHost[h.ID] }

func isNear(r *Request, h *Host) bool { return !r.Near.IsValid() || r.Near.Contains(h.IP) }

// joinsGroup holds affinity: where the group is, once it is anywhere.
func joinsGroup(r *Request, h *Host) bool {
	return r.Group == nil || r.Group.Policy != Affinity || len(r.Group.Members) == 0 || r.Group.Members[h.ID] > 0
}

// avoidsGroup holds anti-affinity.
func avoidsGroup(r *Request, h *Host) bool {
	return r.Group == nil || r.Group.Policy != AntiAffinity || r.Group.Members[h.ID] < max(1, r.Group.MaxServersPerHost)
}

func softAffinity(r *Request, h *Host) float64 { return membersIf(SoftAffinity, r, h) }

func softAntiAffinity(r *Request, h *Host) float64 { return -membersIf(SoftAntiAffinity, r, h) }

func membersIf(policy Policy, r *Request, h *Host) float64 {
	if r.Group == nil || r.Group.Policy != policy {
		return 0
	}
	return float64(r.Group.Members[h.ID])
}
