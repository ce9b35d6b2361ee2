package qemu

// What the host can do, by the names of os-traits.

import (
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"
)

// always are traits of every host that this driver runs.
var always = []string{
	"COMPUTE_NODE", "COMPUTE_DEVICE_TAGGING", "COMPUTE_RESCUE_BFV",
	"COMPUTE_IMAGE_TYPE_QCOW2", "COMPUTE_IMAGE_TYPE_RAW", "COMPUTE_IMAGE_TYPE_ISO",
	"COMPUTE_STORAGE_BUS_VIRTIO", "COMPUTE_NET_VIF_MODEL_VIRTIO", "COMPUTE_NET_VIF_MODEL_E1000",
}

// otherNames are features of x86 processors whose traits aren't named after
// them (os-traits, HW_CPU_X86_*).
var otherNames = map[string]string{
	"aes": "AESNI", "bmi1": "BMI", "pclmuldq": "CLMUL", "fma": "FMA3", "sha-ni": "SHA",
	"sse4.1": "SSE41", "sse4.2": "SSE42", "vaes": "AVX512VAES", "gfni": "AVX512GFNI", "vpclmulqdq": "AVX512VPCLMULQDQ",
	"amx-bf16": "AMXBF16", "amx-int8": "AMXINT8", "amx-tile": "AMXTILE",
}

// ownNames are those whose traits are.
var ownNames = []string{
	"3dnow", "abm", "avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512er", "avx512f", "avx512pf", "avx512vl", "avx512vnni",
	"avx512vbmi", "avx512ifma", "avx512vbmi2", "avx512bitalg", "bmi2", "f16c", "fma4", "mmx", "mpx",
	"sse", "sse2", "sse3", "sse4a", "ssse3", "svm", "tbm", "vmx", "xop",
}

// traits names what the processor and this driver can do.
func traits(cpu cpuInfo) []string {
	all := slices.Clone(always)
	if cpu.Arch != "" {
		all = append(all, "HW_ARCH_"+strings.ToUpper(cpu.Arch))
	}
	for _, feature := range cpu.Features {
		if name, ok := otherNames[feature]; ok {
			all = append(all, "HW_CPU_X86_"+name)
		} else if slices.Contains(ownNames, feature) {
			all = append(all, "HW_CPU_X86_"+strings.ToUpper(feature))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// supported lists the kinds of guest that libvirtd offers: architecture,
// hypervisor and mode of each.
func supported(caps libvirtxml.Caps) (kinds [][3]string) {
	for _, guest := range caps.Guests {
		for _, domain := range guest.Arch.Domains {
			kinds = append(kinds, [3]string{guest.Arch.Name, domain.Type, guest.OSType})
		}
	}
	return kinds
}
