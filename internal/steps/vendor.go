package steps

// Commands that only some vendors' BMCs know.

// The commands.
const (
	// Subscribe has a BMC tell somebody of its events, Unsubscribe no longer.
	Subscribe   NodeCommand = "subscribe"
	Unsubscribe NodeCommand = "unsubscribe"
	// ResetBMC has a BMC begin anew, and SendRaw sends it what is sealed in Secret; the
	// requests are answered before.
	ResetBMC NodeCommand = "bmc_reset"
	SendRaw  NodeCommand = "send_raw"
)
