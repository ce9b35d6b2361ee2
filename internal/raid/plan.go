package raid

// Of which drives logical disks are made.

import (
	"maps"
	"slices"
	"strings"
)

// Drive is one of a machine's.
type Drive struct {
	ID, Controller  string
	Bytes           int64
	Media, Protocol string
}

// level is a kind of RAID: of a span, or of spans of another level.
type level struct {
	redfish string
	// least and most are how many drives a span has, overhead how many of those hold no
	// data of their own.
	least, most, overhead int
	// of is the level of each span, if there are some.
	of string
}

// levels are those that there are, names their names in their order.
var (
	names  = []string{"0", "1", "5", "6", "1+0", "5+0", "6+0"}
	levels = map[string]level{
		"0": {redfish: "RAID0", least: 1, most: 1000}, "1": {redfish: "RAID1", least: 2, most: 2, overhead: 1},
		"5": {redfish: "RAID5", least: 3, most: 1000, overhead: 1}, "6": {redfish: "RAID6", least: 4, most: 1000, overhead: 2},
		"1+0": {redfish: "RAID10", of: "1"}, "5+0": {redfish: "RAID50", of: "5"}, "6+0": {redfish: "RAID60", of: "6"},
	}
)

// Redfish is what Redfish calls a level, and Level the level that it calls so; empty for
// none.
func Redfish(name string) string { return levels[name].redfish }

// Level is the level that Redfish calls a word; empty for none.
func Level(word string) string {
	for name, l := range levels {
		if l.redfish == word {
			return name
		}
	}
	return ""
}

// spans is of how many spans a level has so many drives be.
func spans(name string, drives int) int {
	switch name {
	case "1+0":
		return drives / 2
	case "5+0", "6+0":
		return 2
	}
	return 1
}

// span is what each span of a level is.
func span(name string) level {
	if of := levels[name].of; of != "" {
		name = of
	}
	return levels[name]
}

// stripe is in what pieces drives are given away.
const stripe = 64 << 20

// place tells a drive from all others: its id is its controller's alone.
type place struct{ controller, id string }

func (d Drive) place() place { return place{d.Controller, d.ID} }

// free is how much of each drive is left.
type free map[place]int64

// take gives parts of drives to a logical disk that is made of them. Errors: Invalid, they
// don't make it.
func (f free) take(d Disk, drives []Drive) error {
	n := len(drives)
	count := spans(d.Level, n)
	switch {
	case n == 0:
		return failed("none of the physical disks %s is there", strings.Join(d.Drives, ", "))
	case slices.ContainsFunc(drives, func(of Drive) bool { return of.Controller != drives[0].Controller }):
		return failed("the physical disks %s are not of one controller", strings.Join(d.Drives, ", "))
	case count == 0 || n%count != 0:
		return failed("For RAID level %s, the number of physical disks provided (%d) must be a multiple of the spans count (%d)", d.Level, n, count)
	case levels[d.Level].of != "" && count == 1:
		return failed("Spanned RAID volumes cannot contain a single span")
	}
	overhead := span(d.Level).overhead * count
	if n <= overhead {
		return failed("The number of physical drives (%d) is too few for the required number of overhead drives (%d)", n, overhead)
	}
	least := f[drives[0].place()]
	for _, drive := range drives {
		least = min(least, f[drive.place()])
	}
	data := int64(n - overhead)
	most, size := least/stripe*stripe*data, d.Bytes
	switch {
	case size == 0 && most == 0:
		return failed("size set to 'MAX' but could not allocate physical disk space")
	case size == 0:
		size = most
	case size > most:
		return failed("The physical disk space (%d bytes) is not enough for the size of the logical disk (%d bytes)", most, size)
	}
	each := ceil(ceil(size, stripe), data) * stripe
	for _, drive := range drives {
		if f[drive.place()] < each {
			return failed("The free space of a disk (%d bytes) is not enough for the per-disk size of the logical disk (%d bytes)", f[drive.place()], each)
		}
		f[drive.place()] -= each
	}
	return nil
}

func ceil(n, by int64) int64 { return (n + by - 1) / by }

// kind is what the drives of a logical disk have in common that chooses them itself.
type kind struct {
	controller, media, protocol string
	bytes                       int64
}

func (d Drive) kind() kind { return kind{d.Controller, d.Media, d.Protocol, d.Bytes} }

// maxTries bounds in how many ways logical disks are tried to be made: those of each
// multiply those of all others.
const maxTries = 10_000

// planner chooses drives.
type planner struct {
	// open are those that may be chosen.
	open []Drive
	// tries is how many ways have been tried.
	tries int
}

// named are the drives that a logical disk names: those of its controller that have these
// ids, or of the only one that has all of them.
func (d Disk) named(drives []Drive) []Drive {
	all, of := []Drive{}, map[string][]Drive{}
	for _, drive := range drives {
		if slices.Contains(d.Drives, drive.ID) {
			all = append(all, drive)
			of[drive.Controller] = append(of[drive.Controller], drive)
		}
	}
	if own := of[d.Controller]; own != nil {
		return own
	}
	whole := slices.DeleteFunc(slices.Collect(maps.Values(of)), func(some []Drive) bool { return len(some) < len(d.Drives) })
	if len(whole) == 1 {
		return whole[0]
	}
	return all
}

// Plan says of which drives logical disks are made, in their order, and by which
// controllers. Drives are as if nothing were on them. Errors: Invalid, they can't be made.
func Plan(disks []Disk, drives []Drive) ([]Disk, error) {
	made, p, left := slices.Clone(disks), planner{}, free{}
	var taken, spare []Drive
	for _, d := range disks {
		switch {
		case len(d.Drives) == 0:
		case !d.Shares:
			taken = append(taken, d.named(drives)...)
		case d.Bytes == 0:
			spare = append(spare, d.named(drives)...) // what is left of them is as much as can be
		}
	}
	for _, drive := range drives {
		left[drive.place()] = drive.Bytes
		if !slices.Contains(taken, drive) && !slices.Contains(spare, drive) {
			p.open = append(p.open, drive)
		}
	}
	take := func(sized bool) error {
		for i, d := range made {
			if len(disks[i].Drives) == 0 || (d.Bytes != 0) != sized {
				continue
			}
			named := d.named(drives)
			if err := left.take(d, named); err != nil {
				return err
			}
			made[i] = by(d, named)
		}
		return nil
	}
	if err := take(true); err != nil {
		return nil, err
	}
	var chosen []int
	for i, d := range disks {
		if len(d.Drives) == 0 {
			chosen = append(chosen, i)
		}
	}
	after, ok := p.choose(made, chosen, left)
	if !ok {
		for _, drive := range spare {
			if !slices.Contains(taken, drive) && !slices.Contains(p.open, drive) {
				p.open = append(p.open, drive)
			}
		}
		if p.tries < maxTries {
			after, ok = p.choose(made, chosen, left)
		}
		switch {
		case !ok && p.tries == maxTries:
			return nil, failed("failed to find matching physical disks for all logical disks in %d tries; name the physical disks of some of them", maxTries)
		case !ok:
			return nil, failed("failed to find matching physical disks for all logical disks")
		}
	}
	left = after
	return made, take(false)
}

// by is a logical disk that is made of drives, by their controller.
func by(d Disk, drives []Drive) Disk {
	d.Controller, d.Drives = drives[0].Controller, nil
	for _, drive := range drives {
		d.Drives = append(d.Drives, drive.ID)
	}
	return d
}

// choose finds drives for the first of some logical disks and for the others, and says what
// is left then; it gives up after maxTries.
func (p *planner) choose(made []Disk, which []int, left free) (free, bool) {
	if len(which) == 0 {
		return left, true
	}
	d := made[which[0]]
	for _, drives := range p.fitting(d, left) {
		for n := 1; n <= len(drives); n++ {
			if !d.takes(n, len(drives)) {
				continue
			}
			if p.tries == maxTries {
				return nil, false
			}
			p.tries++
			after := maps.Clone(left)
			if after.take(d, drives[:n]) != nil {
				continue
			}
			if after, ok := p.choose(made, which[1:], after); ok {
				made[which[0]] = by(d, drives[:n])
				return after, true
			}
		}
	}
	return nil, false
}

// takes says whether a logical disk may be made of n of some drives.
func (d Disk) takes(n, of int) bool {
	s := span(d.Level)
	most := spans(d.Level, of)
	if d.Count != 0 && d.Count != n || n < s.least*min(2, most) || n > s.most*most {
		return false
	}
	return levels[d.Level].of == "" || n%2 == 0
}

// fitting are the drives that a logical disk may be made of, those of a kind together, the
// ones with the least left first.
func (p *planner) fitting(d Disk, left free) (all [][]Drive) {
	var kinds []kind
	byKind := map[kind][]Drive{}
	for _, drive := range p.open {
		of := drive.kind()
		if d.Media != "" && !strings.EqualFold(d.Media, drive.Media) || d.Protocol != "" && !strings.EqualFold(d.Protocol, drive.Protocol) ||
			left[drive.place()] <= 0 || !d.Shares && left[drive.place()] != drive.Bytes {
			continue
		}
		if byKind[of] == nil {
			kinds = append(kinds, of)
		}
		byKind[of] = append(byKind[of], drive)
	}
	for _, of := range kinds {
		slices.SortStableFunc(byKind[of], func(a, b Drive) int { return int(min(max(left[a.place()]-left[b.place()], -1), 1)) })
		all = append(all, byKind[of])
	}
	return all
}
