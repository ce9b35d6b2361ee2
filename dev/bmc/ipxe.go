package bmc

// iPXE: scripts, as far as what boots a ramdisk needs them.

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ipxe runs scripts.
type ipxe struct {
	network
	settings map[string]string
	until    time.Time // when its script has gone on for too long
	// kernel and ramdisk say what is loaded, and words what the kernel is told.
	kernel, ramdisk bool
	words           []string
	told            map[string]string // once something was booted
}

// ipxe runs the script that is at an address, or beside another.
func (n network) ipxe(beside *url.URL, script string) (map[string]string, error) {
	i := &ipxe{network: n, until: time.Now().Add(patience), settings: map[string]string{"mac": n.machine.MAC, "net0/mac": n.machine.MAC}}
	if err := i.chain(beside, script); err != nil {
		return nil, err
	}
	if i.told == nil {
		return nil, errNext
	}
	return i.told, nil
}

// chain runs a script until its end, or until something was booted.
func (i *ipxe) chain(beside *url.URL, script string) error {
	at, err := beside.Parse(script)
	if err != nil {
		return err
	}
	text, err := i.read(at, "")
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	if lines[0] != "#!ipxe" {
		return fmt.Errorf("%s is no script", at)
	}
	for next := 1; next < len(lines); {
		line := lines[next]
		next++
		to, err := i.line(at, line)
		if err != nil || i.told != nil {
			return err
		}
		if to != "" {
			if next = labelled(lines, to); next < 0 {
				return fmt.Errorf("%s has no label %s", at, to)
			}
		}
	}
	return nil
}

// labelled is where a label is; less than 0 for nowhere.
func labelled(lines []string, label string) int {
	for at, line := range lines {
		if strings.TrimSpace(line) == ":"+label {
			return at
		}
	}
	return -1
}

// line does the commands of a line: each is what is done if the one before it has failed.
func (i *ipxe) line(at *url.URL, line string) (to string, err error) {
	if strings.HasPrefix(line, ":") || strings.HasPrefix(line, "#") {
		return "", nil
	}
	for one := range strings.SplitSeq(line, "||") {
		words := strings.Fields(i.expand(one))
		if len(words) == 0 {
			return "", nil
		}
		if time.Now().After(i.until) {
			return "", errors.New("the script has no end")
		}
		if to, err = i.command(at, words[0], words[1:]); err == nil || errors.Is(err, errNext) || i.ctx.Err() != nil {
			break
		}
	}
	return to, err
}

// setting is one in a line, the innermost first.
var setting = regexp.MustCompile(`\$\{([^${}]*)\}`)

// expand puts the values of settings in their places.
func (i *ipxe) expand(line string) string {
	for setting.MatchString(line) {
		line = setting.ReplaceAllStringFunc(line, func(found string) string {
			name, format, _ := strings.Cut(found[2:len(found)-1], ":")
			value := i.settings[name]
			if format == "hexhyp" {
				value = strings.ReplaceAll(value, ":", "-")
			}
			return value
		})
	}
	return line
}

// errFalse is a command that has failed without more to say.
var errFalse = errors.New("it isn't so")

// command does one, and says where the script goes on; empty is with the next line.
func (i *ipxe) command(at *url.URL, name string, words []string) (to string, err error) {
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		words = words[1:]
	}
	word := func(n int) string {
		if n < len(words) {
			return words[n]
		}
		return ""
	}
	of, _, _ := strings.Cut(word(0), ":")
	switch name {
	case "echo":
	case "set":
		i.settings[of] = strings.Join(words[min(1, len(words)):], " ")
	case "inc":
		was, err := strconv.Atoi(i.settings[of])
		i.settings[of] = strconv.Itoa(was + 1)
		return "", err
	case "iseq":
		if word(0) != word(1) {
			return "", errFalse
		}
	case "isset":
		if len(words) == 0 {
			return "", errFalse
		}
	case "goto":
		return word(0), nil
	case "chain":
		return "", i.chain(at, word(0))
	case "imgfree":
		i.kernel, i.ramdisk = false, false
	case "kernel":
		err = i.load(at, word(0))
		i.kernel, i.words = err == nil, words[min(1, len(words)):]
	case "initrd":
		err = i.load(at, word(0))
		i.ramdisk = err == nil
	case "boot":
		if !i.kernel || !i.ramdisk {
			return "", errFalse
		}
		i.told = parameters(i.words)
	case "sleep":
		seconds, err := strconv.Atoi(word(0))
		if err != nil {
			return "", err
		}
		return "", pause(i.ctx, time.Duration(seconds)*i.machine.Pace)
	case "exit":
		return "", errNext
	default:
		return "", fmt.Errorf("there is no command %q", name)
	}
	return "", err
}
