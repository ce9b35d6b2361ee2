package compute_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// Row 20 of the list of failures that the original has had: each rebuild of a
// server added its claim once more (CVE-2017-17051), until its host was full.
// Here a claim is set for its consumer and never added: whatever operations ask
// for it again, and however often, the host counts the server once.
func TestAnchor20AClaimIsSetAndNeverAdded(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	host := computetest.AddHost(t, db, "h", computetest.Room)
	s := computetest.AddServer(t, db, "p")
	for n := range 50 {
		computetest.InTx(t, db, func(tx store.Tx) error {
			ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, fmt.Sprint("rebuild ", n), compute.Claim{Room: s.Size()})
			if err == nil && !ok {
				t.Errorf("claim %d was refused", n)
			}
			return err
		})
	}
	h, err := compute.GetHost(t.Context(), db.Pool, host)
	if err != nil {
		t.Fatal(err)
	}
	if used := fmt.Sprint(h.VCPUsUsed, h.MemoryMBUsed, h.DiskGBUsed, h.Servers); used != "1 512 1 1" {
		t.Errorf("the host counts %s, want 1 512 1 1", used)
	}
	computetest.CheckSums(t, db)
}
