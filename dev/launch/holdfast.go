// Holdfast's own processes, and the configuration they read.

package launch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/statedir"
)

// HoldfastOptions says how one role of the binary is run.
type HoldfastOptions struct {
	Name    string   // "api"
	Program string   // the binary
	Config  string   // its configuration file
	Args    []string // "worker", "--role", "control"
	// Telemetry is the address at which the process shows itself.
	Telemetry string
	LogFile   string
}

// Holdfast returns the process of a role. It is ready when it answers at all:
// with what it needs down it answers that.
func Holdfast(o HoldfastOptions) *supervise.Process {
	return &supervise.Process{
		Name:    o.Name,
		Args:    append([]string{o.Program, "--config", o.Config}, o.Args...),
		LogFile: o.LogFile,
		Ready:   Answers("http://" + o.Telemetry + "/metrics"),
	}
}

// Answers is the readiness of what answers GET of a URL with a status below 500.
func Answers(url string) func(context.Context) error {
	client := &http.Client{Timeout: 5 * time.Second}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)); err != nil {
			return err
		}
		if answer.StatusCode >= http.StatusInternalServerError {
			return fmt.Errorf("%s answers with status %d", url, answer.StatusCode)
		}
		return nil
	}
}

// WriteConfig writes a configuration, given by dotted key, for its owner's eyes
// only.
func WriteConfig(path string, flat map[string]any) error {
	tree := map[string]map[string]any{}
	for key, value := range flat {
		section, name, _ := strings.Cut(key, ".")
		if tree[section] == nil {
			tree[section] = map[string]any{}
		}
		tree[section][name] = value
	}
	text, err := yaml.Marshal(tree)
	if err == nil {
		err = statedir.Write(path, text)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
