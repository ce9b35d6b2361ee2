package numa

// The CPU policies: which of a guest's CPUs are pinned, and how.

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/internal/extraspecs"
	"holdfast.dev/internal/faults"
)

// Policy says whether a guest's CPUs are pinned.
type Policy string

// Policies.
const (
	Shared    Policy = "shared"
	Dedicated Policy = "dedicated"
	Mixed     Policy = "mixed"
)

// ThreadPolicy says what is done with the threads of a core.
type ThreadPolicy string

// Thread policies: threads are used if there are, must not be there, must be.
const (
	Prefer  ThreadPolicy = "prefer"
	Isolate ThreadPolicy = "isolate"
	Require ThreadPolicy = "require"
)

// EmulatorThreads says where the emulator's own threads run.
type EmulatorThreads string

// Policies of emulator threads: on a pinned CPU of their own, or among the CPUs
// that guests share.
const (
	EmulatorIsolated EmulatorThreads = "isolate"
	EmulatorShared   EmulatorThreads = "share"
)

// Allowed values, in the order in which refusals list them.
var (
	policies        = []string{string(Dedicated), string(Shared), string(Mixed)}
	threadPolicies  = []string{string(Prefer), string(Isolate), string(Require)}
	emulatorThreads = []string{string(EmulatorIsolated), string(EmulatorShared)}
)

// policies sets the request's, and gives the CPUs that are pinned.
func (s *source) policies(r *Request) (pinned CPUs, err error) {
	if r.Policy, err = s.policy(); err != nil {
		return nil, err
	}
	if r.ThreadPolicy, err = s.threadPolicy(); err != nil {
		return nil, err
	}
	realtime, err := s.realtime()
	if err != nil {
		return nil, err
	}
	mask, err := s.dedicatedMask()
	if err != nil {
		return nil, err
	}
	if r.EmulatorThreads, err = s.emulatorThreads(); err != nil {
		return nil, err
	}
	if err := s.byResources(r); err != nil {
		return nil, err
	}
	return s.pinned(r, mask, realtime)
}

// pinned holds the policies against each other.
func (s *source) pinned(r *Request, mask, realtime CPUs) (CPUs, error) {
	switch r.Policy {
	case Dedicated:
		if mask != nil {
			return nil, errMaskWithoutMixed
		}
		return s.all()
	case Mixed:
		if (mask == nil) == (realtime == nil) {
			return nil, faults.New(faults.Invalid, "RequiredMixedOrRealtimeCPUMask",
				"Dedicated CPU set can be specified from either 'hw:cpu_dedicated_mask' or 'hw:cpu_realtime_mask' when using 'mixed' CPU policy. "+
					"'hw:cpu_dedicated_mask' and 'hw:cpu_realtime_mask' can not be specified at the same time, or be specified with none of them.")
		}
		return mask.Or(realtime), nil
	}
	switch {
	case r.ThreadPolicy != "":
		return nil, faults.New(faults.Invalid, "CPUThreadPolicyConfigurationInvalid",
			"Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy")
	case r.EmulatorThreads == EmulatorIsolated:
		return nil, faults.New(faults.Invalid, "BadRequirementEmulatorThreadsPolicy",
			"An isolated CPU emulator threads option requires a dedicated CPU policy option.")
	case mask != nil:
		return nil, errMaskWithoutMixed
	case realtime != nil:
		return nil, faults.New(faults.Invalid, "RealtimeConfigurationInvalid",
			"Cannot set realtime policy in a non dedicated cpu pinning policy")
	}
	return nil, nil
}

var errMaskWithoutMixed = faults.New(faults.Invalid, "RequiredMixedInstancePolicy",
	"Cannot specify 'hw:cpu_dedicated_mask' without the 'mixed' policy.")

// policy is the flavor's; an image may ask for less where the flavor allows it.
func (s *source) policy() (Policy, error) {
	flavor, image := s.both(specPolicy)
	for _, given := range []struct{ value, source string }{{flavor, "flavor extra specs"}, {image, "image properties"}} {
		if given.value != "" && !slices.Contains(policies, given.value) {
			return "", faults.New(faults.Invalid, "InvalidCPUAllocationPolicy",
				"CPU policy requested from '%s' is invalid, given: '%s', available: '%s'.", given.source, given.value, tuple(policies))
		}
	}
	stricter := Policy(flavor) == Mixed && Policy(image) == Dedicated ||
		Policy(flavor) == Shared && (Policy(image) == Mixed || Policy(image) == Dedicated)
	if stricter {
		return "", faults.New(faults.Invalid, "ImageCPUPinningForbidden",
			"Image property 'hw_cpu_policy' is not permitted to override CPU pinning policy set against the flavor")
	}
	if flavor != "" {
		return Policy(flavor), nil
	}
	return Policy(image), nil
}

func (s *source) threadPolicy() (ThreadPolicy, error) {
	flavor, image := s.both(specThreadPolicy)
	for _, given := range []struct{ value, source string }{{flavor, "flavor extra specs"}, {image, "image properties"}} {
		if given.value != "" && !slices.Contains(threadPolicies, given.value) {
			return "", faults.New(faults.Invalid, "InvalidCPUThreadAllocationPolicy",
				"CPU thread policy requested from '%s' is invalid, given: '%s', available: '%s'.", given.source, given.value, tuple(threadPolicies))
		}
	}
	switch {
	case flavor == "" || ThreadPolicy(flavor) == Prefer && image != "":
		return ThreadPolicy(image), nil
	case image != "" && image != flavor:
		return "", faults.New(faults.Invalid, "ImageCPUThreadPolicyForbidden",
			"Image property 'hw_cpu_thread_policy' is not permitted to override CPU thread pinning policy set against the flavor")
	}
	return ThreadPolicy(flavor), nil
}

func (s *source) emulatorThreads() (EmulatorThreads, error) {
	value := s.flavor[specEmulator]
	if value != "" && !slices.Contains(emulatorThreads, value) {
		return "", faults.New(faults.Invalid, "InvalidEmulatorThreadsPolicy",
			"CPU emulator threads option requested is invalid, given: '%s', available: '%s'.", value, tuple(emulatorThreads))
	}
	return EmulatorThreads(value), nil
}

// tuple writes names as Python does.
func tuple(names []string) string { return "('" + strings.Join(names, "', '") + "')" }

// all are the guest's CPUs. Errors: Invalid for more than any machine has, before
// they are counted out.
func (s *source) all() (CPUs, error) {
	if s.vcpus > MaxCPU {
		return nil, faults.New(faults.Invalid, "ImageNUMATopologyCPUOutOfRange", "CPU number %d is larger than max %d", s.vcpus-1, MaxCPU-1)
	}
	return upTo(s.vcpus), nil
}

// mask reads CPUs of the guest; one that begins with an exclusion is of all.
func (s *source) mask(text string) (CPUs, error) {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "^") {
		text = fmt.Sprintf("0-%d,%s", s.vcpus-1, text)
	}
	return ParseCPUs(text)
}

func (s *source) dedicatedMask() (CPUs, error) {
	text := s.flavor[specDedicated]
	if text == "" {
		return nil, nil
	}
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	cpus, err := s.mask(text)
	switch {
	case err != nil:
		return nil, err
	case len(cpus) == 0 || len(all.Less(cpus)) == 0:
		return nil, faults.New(faults.Invalid, "InvalidMixedInstanceDedicatedMask",
			"Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU. See 'hw:cpu_dedicated_mask'.")
	case len(cpus.Less(all)) > 0:
		return nil, faults.New(faults.Invalid, "InvalidMixedInstanceDedicatedMask",
			"Mixed instance dedicated vCPU(s) mask is not a subset of vCPUs in the flavor. See \"hw:cpu_dedicated_mask\"")
	}
	return cpus, nil
}

// realtime are the CPUs that run before everything else on theirs; nil if there
// are none.
func (s *source) realtime() (CPUs, error) {
	if !slices.Contains([]string{"1", "t", "true", "on", "y", "yes"}, strings.ToLower(strings.TrimSpace(s.flavor[specRealtime]))) {
		return nil, nil
	}
	mask, image := s.both(specRealtimeMask)
	if image != "" {
		mask = image
	}
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	cpus := all
	if mask != "" {
		if cpus, err = s.mask(mask); err != nil {
			return nil, err
		}
	}
	switch {
	case len(cpus) == 0, len(all.Less(cpus)) == 0 && len(cpus.Less(all)) == 0 && s.flavor[specEmulator] == "":
		return nil, faults.New(faults.Invalid, "RealtimeMaskNotFoundOrInvalid",
			"Use of realtime CPUs requires either one or more non-realtime CPU(s) or offloaded emulator threads.")
	case len(cpus.Less(all)) > 0:
		return nil, faults.New(faults.Invalid, "RealtimeMaskNotFoundOrInvalid",
			"Realtime policy vCPU(s) mask is configured with RT vCPUs that are not a subset of the vCPUs in the flavor. "+
				"See hw:cpu_realtime_mask or hw_cpu_realtime_mask")
	}
	return cpus, nil
}

// Realtime are the CPUs of a guest that run before everything else on theirs.
// Errors: as Read's.
func Realtime(extraSpecs, image map[string]string, vcpus int) (CPUs, error) {
	return (&source{flavor: extraSpecs, image: image, vcpus: vcpus}).realtime()
}

// byResources lets the resource classes VCPU and PCPU and the trait of threads say
// what the policies say otherwise.
func (s *source) byResources(r *Request) error {
	asked, err := extraspecs.Resources(s.flavor)
	if err != nil {
		return err
	}
	shared, pinned := asked["VCPU"] > 0, asked["PCPU"] > 0
	switch {
	case r.Policy != "" && (shared || pinned):
		return request("It is not possible to use the 'resources:VCPU' or 'resources:PCPU' extra specs in combination with the " +
			"'hw:cpu_policy' extra spec or 'hw_cpu_policy' image metadata property; use one or the other")
	case shared && pinned:
		return request("It is not possible to specify both 'resources:VCPU' and 'resources:PCPU' extra specs; use one or the other")
	case pinned && r.EmulatorThreads == EmulatorIsolated && asked["PCPU"] != int64(s.vcpus)+1:
		return request("You have requested 'hw:emulator_threads_policy=isolate' but have not requested sufficient PCPUs to handle this policy; " +
			"you must allocate exactly flavor.vcpus + 1 PCPUs.")
	case pinned && r.EmulatorThreads != EmulatorIsolated && asked["PCPU"] != int64(s.vcpus):
		return request("There is a mismatch between the number of PCPUs requested via 'resourcesNN:PCPU' and the flavor); " +
			"you must allocate exactly flavor.vcpus PCPUs")
	case pinned:
		r.Policy = Dedicated
	case shared:
		r.Policy = Shared
	}
	const trait = "trait:HW_CPU_HYPERTHREADING"
	threads := s.flavor[trait]
	if threads == "" {
		threads = s.image[trait]
	}
	switch {
	case threads != "" && r.ThreadPolicy != "":
		return request("It is not possible to use the 'trait:HW_CPU_HYPERTHREADING' extra spec in combination with the " +
			"'hw:cpu_thread_policy' extra spec or 'hw_cpu_thread_policy' image metadata property; use one or the other")
	case threads == "forbidden":
		r.ThreadPolicy = Isolate
	case threads == "required":
		r.ThreadPolicy = Require
	}
	return nil
}

func request(text string) error { return faults.New(faults.Invalid, "InvalidRequest", "%s", text) }
