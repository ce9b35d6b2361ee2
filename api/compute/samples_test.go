package compute_test

// Every sample of the contract that belongs to what is served: the running
// service is asked for its like, at the sample's microversion and at the last
// one before the next, and the answer has the same keys and JSON types.

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/contracttest"
)

// sample is a document of contracts/compute/api_samples.
type sample struct {
	folder, name string
	// from is its microversion, until the last one before another sample of the
	// name, both 2.x.
	from, until int
	document    any
	text        string
}

// sampleRequest says how to ask for a sample's like; {words} stand for things of
// the world. The token is its owner's, unless the sample shows what only
// administrators see. Of several the last is asked that is from the microversion
// or before.
type sampleRequest struct {
	from                      int
	token, method, path, body string
}

func TestAnswersHaveTheShapeOfTheSamples(t *testing.T) {
	t.Parallel()
	all := readSamples(t)
	w := newWorld(t)
	for _, key := range slices.Sorted(maps.Keys(sampleRequests)) {
		if len(all[key]) == 0 {
			t.Errorf("the contract has no sample %s", key)
		}
		for _, s := range all[key] {
			for _, minor := range slices.Compact([]int{s.from, w.lastOf(t, s, sampleRequests[key])}) {
				w.compare(t, requestAt(sampleRequests[key], minor), s, minor)
			}
		}
	}
}

// requestAt is the last of the requests that is from a microversion or before.
func requestAt(requests []sampleRequest, minor int) sampleRequest {
	at := requests[0]
	for _, r := range requests {
		if r.from <= minor {
			at = r
		}
	}
	return at
}

// lastOf is the last microversion that the sample's shape holds for: the one
// before another sample, or another response schema.
func (w *world) lastOf(t *testing.T, s sample, requests []sampleRequest) int {
	t.Helper()
	c, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	schema := func(minor int) string {
		r := requestAt(requests, minor)
		bare, _, _ := strings.Cut(w.fill(r.path, minor), "?")
		return c.find(r.method, bare, actionOf(bare, w.fill(r.body, minor)), minor)
	}
	last, first := s.from, schema(s.from)
	for last < s.until && schema(last+1) == first {
		last++
	}
	return last
}

// Samples that nobody asks for are named, each with why.
func TestSamplesAreAllAskedFor(t *testing.T) {
	t.Parallel()
	for _, key := range slices.Sorted(maps.Keys(readSamples(t))) {
		folder, _, _ := strings.Cut(key, "/")
		if !slices.Contains(sampleFolders, folder) || strings.Contains(key, "-req") {
			continue
		}
		_, asked := sampleRequests[key]
		_, left := samplesLeft[key]
		if asked == left {
			t.Errorf("%s: asked %v, left out %v", key, asked, left)
		}
	}
}

// compare asks for the sample's like at 2.minor.
func (w *world) compare(t *testing.T, request sampleRequest, s sample, minor int) {
	t.Helper()
	token := request.token
	if token == "" {
		token = "alice"
		if strings.Contains(s.text, `"OS-EXT-SRV-ATTR:host"`) || strings.Contains(s.text, `"traceback"`) {
			token = "root"
		}
	}
	version := fmt.Sprintf("2.%d", minor)
	if strings.Contains(request.path, "{fresh}") {
		w.words["{fresh}"] = w.fresh()
	}
	if strings.Contains(request.path, "{moving}") {
		w.words["{moving}"], w.words["{under way}"] = w.moving()
	}
	if strings.Contains(request.body, "{unique}") {
		w.unique++
		w.words["{unique}"] = fmt.Sprintf("unique-%d", w.unique)
	}
	path, body := w.fill(request.path, minor), w.fill(request.body, minor)
	path += w.more(s, token, path)
	status, got, _ := w.ask(token, version, request.method, path, body)
	if status >= 300 {
		t.Errorf("%s/%s at %s: %s %s %s: %d %v", s.folder, s.name, version, request.method, path, body, status, got)
		return
	}
	for _, difference := range differences("", any(got), s.document) {
		t.Errorf("%s/%s of 2.%d asked at %s: %s", s.folder, s.name, s.from, version, difference)
	}
}

// more is what a list's query needs: pages, if the sample has one, and all
// projects for an administrator, who has no servers.
func (w *world) more(s sample, token, path string) (query string) {
	if strings.Contains(s.text, `_links"`) || s.folder == "os-instance-actions" && strings.Contains(s.text, `"links"`) {
		query += "&limit=1"
	}
	if token == "root" && strings.HasPrefix(path, "/servers") && !strings.Contains(path, w.words["{server}"]) && !strings.Contains(path, "/migrations") {
		query += "&all_tenants=1&project_id=a11ce"
	}
	if query != "" && !strings.Contains(path, "?") {
		return "?" + query[1:]
	}
	return query
}

// laterKeys belong to what isn't served yet.
var laterKeys = []string{"server_groups"}

// freeKeys are objects whose keys are data.
var freeKeys = []string{"metadata", "addresses", "extra_specs", "properties", "hosts", "scheduler_hints", "cpu_info", "meta", "networks"}

// differences lists where a document isn't shaped like a sample. Null is of any
// type: the schemas say where it may be.
func differences(at string, got, want any) (all []string) {
	if slices.Contains(laterKeys, path.Base(at)) {
		return nil
	}
	differ := func(format string, args ...any) { all = append(all, at+": "+fmt.Sprintf(format, args...)) }
	switch want := want.(type) {
	case nil:
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			differ("%v is no object", got)
			return all
		}
		if slices.Contains(freeKeys, path.Base(at)) {
			return all
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[key]; !ok {
				differ("%s is missing", key)
				continue
			}
			all = append(all, differences(at+"/"+key, got[key], want[key])...)
		}
		for _, key := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[key]; !ok {
				differ("%s isn't in the sample", key)
			}
		}
	case []any:
		got, ok := got.([]any)
		switch {
		case !ok:
			differ("%v is no list", got)
		case len(want) > 0 && len(got) == 0:
			differ("empty, the sample isn't")
		case len(want) > 0:
			for i, one := range got {
				all = append(all, differences(at+"/"+fmt.Sprint(i), one, want[min(i, len(want)-1)])...)
			}
		}
	default:
		if got != nil && fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
			differ("%v, the sample has %v", got, want)
		}
	}
	return all
}

// readSamples gives the samples by folder and name, oldest first.
func readSamples(t *testing.T) map[string][]sample {
	t.Helper()
	root, err := contracttest.Folder()
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "compute", "api_samples")
	all := map[string][]sample{}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".json") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		parts := strings.Split(filepath.ToSlash(relative), "/")
		s := sample{folder: parts[0], name: strings.TrimSuffix(parts[len(parts)-1], ".json"), from: 1, until: compute.Versions.Max.Minor, text: string(text)}
		if len(parts) == 3 {
			s.from = minor(strings.TrimPrefix(parts[1], "v"))
		}
		// Some samples of requests aren't JSON, and a cell that is down there is not.
		if json.Unmarshal(text, &s.document) == nil && !strings.Contains(s.text, `"UNKNOWN"`) {
			all[s.folder+"/"+s.name] = append(all[s.folder+"/"+s.name], s)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("set HOLDFAST_CONTRACTS to the folder of the contract data: %v", err)
	}
	for key, samples := range all {
		slices.SortFunc(samples, func(a, b sample) int { return a.from - b.from })
		for i := range samples {
			if i+1 < len(samples) {
				samples[i].until = samples[i+1].from - 1
			}
			if last, ok := lastMinors[key]; ok {
				samples[i].until = min(samples[i].until, last)
			}
		}
	}
	return all
}

func TestVersionDocumentsHaveTheShapeOfTheSamples(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	samples := readSamples(t)
	for name, url := range map[string]string{"versions/versions-get-resp": "http://cloud/", "versions/v21-version-get-resp": "http://cloud/v2.1/"} {
		answer := httptest.NewRecorder()
		c.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, url, nil))
		var got any
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", url, answer.Code, answer.Body)
		}
		for _, difference := range differences("", got, samples[name][0].document) {
			t.Errorf("%s: %s", url, difference)
		}
	}
}

// Every answer at every microversion is as its schema says; cloud.ask checks it.
func TestEveryMicroversionIsTheSchemas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for minor := 1; minor <= compute.Versions.Max.Minor; minor++ {
		version := fmt.Sprintf("2.%d", minor)
		for _, token := range []string{"alice", "root"} {
			for _, path := range []string{"/servers/{server}", "/servers", "/servers/detail", "/servers/{server}/metadata", "/servers/{server}/ips",
				"/servers/{server}/os-security-groups", "/servers/{server}/os-server-password", "/servers/{server}/os-instance-actions", "/servers/{server}/os-instance-actions/{request}",
				"/servers/{server}/os-volume_attachments", "/servers/{server}/os-volume_attachments/6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0003",
				"/flavors", "/flavors/detail", "/flavors/1", "/flavors/1/os-extra_specs", "/os-keypairs", "/os-availability-zone", "/limits", "/os-quota-sets/a11ce", "/os-quota-sets/a11ce/defaults",
				"/os-quota-sets/a11ce/detail", "/extensions"} {
				w.shows(t, token, version, w.fill(path, minor)+w.more(sample{}, token, w.fill(path, minor)))
			}
		}
		for _, path := range []string{"/os-hypervisors", "/os-hypervisors/detail", "/os-hypervisors/{id of host}", "/os-services", "/os-availability-zone/detail",
			"/os-quota-class-sets/default", "/flavors/private/os-flavor-access", "/os-migrations"} {
			w.shows(t, "root", version, w.fill(path, minor))
		}
		if minor >= 23 {
			w.shows(t, "root", version, w.fill("/servers/{server}/migrations", minor))
			w.shows(t, "root", version, w.fill("/servers/{server}/migrations/{migration}", minor))
		}
		w.shows(t, "alice", version, "/os-keypairs/key")
	}
}

func (w *world) shows(t *testing.T, token, version, path string) {
	t.Helper()
	if status, body, _ := w.ask(token, version, http.MethodGet, path, ""); status != http.StatusOK {
		t.Errorf("%s at %s: %d %v", path, version, status, body)
	}
}
