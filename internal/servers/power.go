package servers

// OutOfStep says that a server's state and its guest's power can't both stay:
// the guest went off by itself, or runs although it was stopped. Then it is
// stopped, as the original does (nova/compute/manager.py,
// _sync_instance_power_state). Other differences only show.
func OutOfStep(vm VMState, power PowerState) bool {
	off := power == PowerShutdown || power == PowerCrashed
	switch vm {
	case VMActive, VMPaused:
		return off
	case VMStopped:
		return !off && power != PowerNone
	}
	return false
}
