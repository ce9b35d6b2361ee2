package servers

// InstanceName is what the hypervisor calls a server, and what clients are
// shown as OS-EXT-SRV-ATTR:instance_name. Ids shorter than 8 characters are
// taken whole.
func InstanceName(id string) string { return "instance-" + id[:min(8, len(id))] }
