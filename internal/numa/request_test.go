package numa

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// specs reads "hw:numa_nodes=2 hw_cpu_policy=shared": extra specs and properties.
func specs(text string) (flavor, image map[string]string) {
	flavor, image = map[string]string{}, map[string]string{}
	for _, one := range strings.Fields(text) {
		name, value, _ := strings.Cut(one, "=")
		if strings.Contains(name, ":") {
			flavor[name] = value
		} else {
			image[name] = value
		}
	}
	return flavor, image
}

// What is asked for, by a flavor of four CPUs and 1024 MiB.
func TestRead(t *testing.T) {
	t.Parallel()
	const incomplete = "CPU and memory allocation must be provided for all NUMA nodes"
	for asked, want := range map[string]string{
		"":                        "<nil>",
		"hw:cpu_policy=shared":    "<nil>",
		"hw:numa_nodes=2":         "&{[{0-1  512 0} {2-3  512 0}]   }",
		"hw_numa_nodes=1":         "&{[{0-3  1024 0}]   }",
		"hw:cpu_policy=dedicated": "&{[{ 0-3 1024 0}] dedicated  }",
		"hw_cpu_policy=dedicated": "&{[{ 0-3 1024 0}] dedicated  }",
		"hw:cpu_policy=dedicated hw_cpu_policy=shared":                                     "&{[{ 0-3 1024 0}] dedicated  }",
		"hw:cpu_policy=mixed hw:cpu_dedicated_mask=^0":                                     "&{[{0 1-3 1024 0}] mixed  }",
		"hw:cpu_policy=mixed hw:cpu_realtime=yes hw:cpu_realtime_mask=2-3":                 "&{[{0-1 2-3 1024 0}] mixed  }",
		"resources:PCPU=4 trait:HW_CPU_HYPERTHREADING=required":                            "&{[{ 0-3 1024 0}] dedicated require }",
		"resources:VCPU=4 hw:numa_nodes=1":                                                 "&{[{0-3  1024 0}] shared  }",
		"hw:mem_page_size=large hw_mem_page_size=1GB":                                      "&{[{0-3  1024 1048576}]   }",
		"hw:mem_page_size=2MB":                                                             "&{[{0-3  1024 2048}]   }",
		"hw:mem_page_size=2048":                                                            "&{[{0-3  1024 2048}]   }",
		"hw:mem_page_size=16Mib":                                                           "&{[{0-3  1024 2048}]   }",
		"hw:cpu_policy=dedicated hw:cpu_thread_policy=prefer hw_cpu_thread_policy=isolate": "&{[{ 0-3 1024 0}] dedicated isolate }",
		"hw:cpu_policy=dedicated hw:emulator_threads_policy=isolate":                       "&{[{ 0-3 1024 0}] dedicated  isolate}",

		"hw:cpu_policy=exclusive":                      "CPU policy requested from 'flavor extra specs' is invalid, given: 'exclusive', available: '('dedicated', 'shared', 'mixed')'.",
		"hw_cpu_policy=exclusive":                      "CPU policy requested from 'image properties' is invalid, given: 'exclusive', available: '('dedicated', 'shared', 'mixed')'.",
		"hw:cpu_policy=shared hw_cpu_policy=dedicated": "Image property 'hw_cpu_policy' is not permitted to override CPU pinning policy set against the flavor",
		"hw:cpu_policy=mixed hw_cpu_policy=dedicated":  "Image property 'hw_cpu_policy' is not permitted to override CPU pinning policy set against the flavor",
		"hw:cpu_thread_policy=isolate":                 "Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy",
		"hw:cpu_thread_policy=often":                   "CPU thread policy requested from 'flavor extra specs' is invalid, given: 'often', available: '('prefer', 'isolate', 'require')'.",
		"hw:cpu_policy=dedicated hw:cpu_thread_policy=require hw_cpu_thread_policy=isolate":       "Image property 'hw_cpu_thread_policy' is not permitted to override CPU thread pinning policy set against the flavor",
		"hw:emulator_threads_policy=isolate":                                                      "An isolated CPU emulator threads option requires a dedicated CPU policy option.",
		"hw:emulator_threads_policy=here":                                                         "CPU emulator threads option requested is invalid, given: 'here', available: '('isolate', 'share')'.",
		"hw:cpu_dedicated_mask=0":                                                                 "Cannot specify 'hw:cpu_dedicated_mask' without the 'mixed' policy.",
		"hw:cpu_policy=dedicated hw:cpu_dedicated_mask=0":                                         "Cannot specify 'hw:cpu_dedicated_mask' without the 'mixed' policy.",
		"hw:cpu_policy=mixed":                                                                     "Dedicated CPU set can be specified from either 'hw:cpu_dedicated_mask' or 'hw:cpu_realtime_mask' when using 'mixed' CPU policy. 'hw:cpu_dedicated_mask' and 'hw:cpu_realtime_mask' can not be specified at the same time, or be specified with none of them.",
		"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0-3":                                           "Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU. See 'hw:cpu_dedicated_mask'.",
		"hw:cpu_policy=mixed hw:cpu_dedicated_mask=3-4":                                           "Mixed instance dedicated vCPU(s) mask is not a subset of vCPUs in the flavor. See \"hw:cpu_dedicated_mask\"",
		"hw:cpu_realtime=yes hw:cpu_realtime_mask=^0":                                             "Cannot set realtime policy in a non dedicated cpu pinning policy",
		"hw:cpu_policy=dedicated hw:cpu_realtime=yes":                                             "Use of realtime CPUs requires either one or more non-realtime CPU(s) or offloaded emulator threads.",
		"hw:cpu_policy=shared resources:PCPU=4":                                                   "It is not possible to use the 'resources:VCPU' or 'resources:PCPU' extra specs in combination with the 'hw:cpu_policy' extra spec or 'hw_cpu_policy' image metadata property; use one or the other",
		"resources:VCPU=2 resources1:PCPU=2":                                                      "It is not possible to specify both 'resources:VCPU' and 'resources:PCPU' extra specs; use one or the other",
		"resources:VCPU=many":                                                                     `extra spec resources:VCPU: "many" is no amount of a resource`,
		"resources:PCPU=3":                                                                        "There is a mismatch between the number of PCPUs requested via 'resourcesNN:PCPU' and the flavor); you must allocate exactly flavor.vcpus PCPUs",
		"resources:PCPU=4 hw:emulator_threads_policy=isolate":                                     "You have requested 'hw:emulator_threads_policy=isolate' but have not requested sufficient PCPUs to handle this policy; you must allocate exactly flavor.vcpus + 1 PCPUs.",
		"hw:numa_nodes=2 hw_numa_nodes=2":                                                         "Image property 'hw_numa_nodes' is not permitted to override NUMA configuration set against the flavor",
		"hw:numa_nodes=0":                                                                         "The property 'numa_nodes' cannot be '0'. It must be a number greater than 0",
		"hw_numa_nodes=two":                                                                       "The property 'numa_nodes' cannot be 'two'. It must be a number greater than 0",
		"hw:numa_nodes=3":                                                                         "Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes. Explicit assignment of CPUs and memory to nodes is required",
		"hw:numa_nodes=1 hw:numa_cpus.0=0-3":                                                      incomplete,
		"hw:numa_nodes=2 hw:numa_cpus.0=0-3 hw:numa_mem.0=1024":                                   incomplete,
		"hw:numa_nodes=1 hw:numa_cpus.0=0-4 hw:numa_mem.0=1024":                                   "CPU number 4 is larger than max 3",
		"hw:numa_nodes=1 hw:numa_cpus.0=0-1 hw:numa_mem.0=1024":                                   "CPU number {2, 3} is not assigned to any node",
		"hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=1000":                                   "1000 MB of memory assigned, but expected 1024 MB",
		"hw:numa_nodes=2 hw:numa_cpus.0=0-3 hw:numa_cpus.1=3 hw:numa_mem.0=512 hw:numa_mem.1=512": "CPU number 3 is assigned to two nodes",
		"hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=1024 hw_numa_mem.0=1024":                "Image property 'hw_numa_mem' is not permitted to override NUMA configuration set against the flavor",
		"hw:numa_nodes=1 hw:numa_cpus.0=a hw:numa_mem.0=1024":                                     "Invalid inclusion expression 'a'",
		"hw:numa_nodes=1 hw_numa_cpus.0=0-3 hw_numa_mem.0=much":                                   "'much' is no amount of memory for a NUMA node",
		"hw_mem_page_size=large":                                                                  "Page size large forbidden against '<empty>'",
		"hw:mem_page_size=small hw_mem_page_size=large":                                           "Page size large forbidden against 'small'",
		"hw:mem_page_size=huge":                                                                   "Invalid memory page size 'huge'",
		"hw:mem_page_size=1b":                                                                     "Invalid memory page size '1b'",
	} {
		flavor, image := specs(asked)
		r, err := Read(flavor, image, 4, 1024)
		got := fmt.Sprint(r)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", asked, got, want)
		}
	}
}

// A flavor may have more CPUs than any machine: they are not counted out, whatever
// is asked for them.
func TestReadOfMoreThanAnyMachineHas(t *testing.T) {
	t.Parallel()
	const tooMany = "CPU number 2147483646 is larger than max 16383"
	for asked, want := range map[string]string{
		"":                                            "<nil>",
		"hw:cpu_policy=shared":                        "<nil>",
		"resources:VCPU=2147483647":                   "<nil>",
		"hw:cpu_policy=dedicated":                     tooMany,
		"hw_cpu_policy=dedicated":                     tooMany,
		"resources:PCPU=2147483647":                   tooMany,
		"hw:numa_nodes=1":                             tooMany,
		"hw_numa_nodes=2147483647":                    tooMany,
		"hw:mem_page_size=small":                      tooMany,
		"hw:cpu_realtime=yes":                         tooMany,
		"hw:cpu_dedicated_mask=^0":                    tooMany,
		"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0": tooMany,
		"hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=2147483647":     tooMany,
		"hw:cpu_policy=mixed hw:cpu_realtime=yes hw:cpu_realtime_mask=^0": tooMany,
	} {
		flavor, image := specs(asked)
		r, err := Read(flavor, image, math.MaxInt32, math.MaxInt32)
		got := fmt.Sprint(r)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", asked, got, want)
		}
	}
}

// A guest that goes to another host while it runs has the pages there that it has,
// and lies on no cell if it lies on none.
func TestRunning(t *testing.T) {
	t.Parallel()
	asked, err := Read(map[string]string{"hw:mem_page_size": "any", "hw:numa_nodes": "2"}, nil, 4, 1024)
	if err != nil {
		t.Fatal(err)
	}
	running := asked.Running(&Placement{Cells: []Placed{{PageKB: 4}, {PageKB: 2048}}})
	if running.Cells[0].PageKB != 4 || running.Cells[1].PageKB != 2048 || asked.Cells[0].PageKB != PageAny {
		t.Errorf("%+v of %+v", running, asked)
	}
	if r := asked.Running(nil); r != nil {
		t.Errorf("%+v", r)
	}
}
