package orchestration_test

// Signals by URLs that are signed, and by users that stacks have made.

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/stacks"
	store_ "holdfast.dev/internal/store/orchestration"
)

// keys are whose keys there are; what was asked about is signed if its signature says
// what the request is.
type keys map[string]policy.Credentials

func (k keys) EC2(_ context.Context, r identity.EC2Request) (who identity.Identity, err error) {
	creds, known := k[r.Access]
	switch {
	case r.Access == "down":
		return who, faults.New(faults.Unavailable, "KeystoneUnavailable", "The Keystone service is temporarily unavailable.")
	case !known:
		return who, faults.New(faults.NotFound, "KeystoneRefused", "EC2 access key not found.")
	case r.Signature != r.Verb+" "+r.Host+r.Path:
		return who, faults.New(faults.Unauthorized, "KeystoneRefused", "Invalid EC2 signature.")
	}
	return identity.Identity{Credentials: creds}, nil
}

// signed asks by a key and reads what is answered.
func (c *cloud) signed(access, method, path, body, query string) (status int, contentType, text string) {
	c.Helper()
	signature := strings.NewReplacer(" ", "%20", "/", "%2F", ":", "%3A").Replace(method + " guests" + strings.NewReplacer("%3A", ":", "%253A", "%3A").Replace(path))
	request := httptest.NewRequest(method, "http://cloud"+path+"?AWSAccessKeyId="+access+"&Signature="+signature+query, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl has it
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, request)
	return answer.Code, answer.Header().Get("Content-Type"), answer.Body.String()
}

func TestSignedSignals(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", "template": {"heat_template_version": "2021-04-16", "resources": {
		"handle": {"type": "OS::Heat::WaitConditionHandle"}, "amazon": {"type": "AWS::CloudFormation::WaitConditionHandle"}, "none": {"type": "OS::Heat::None"}}}}`)
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	stackUser := func(user, project string) policy.Credentials {
		return policy.Credentials{UserID: user, ProjectID: project, Roles: []string{identity.StackUser}}
	}
	c.keys["own"], c.keys["amazons"], c.keys["stranger"] = stackUser("user", "inner"), stackUser("amazon user", "inner"), stackUser("user", "elsewhere")
	c.keys["alice"] = policy.Credentials{UserID: "alice", ProjectID: "p1", Roles: []string{"member"}}
	for name, typ := range map[string]string{"handle": "OS::Heat::WaitConditionHandle", "amazon": "AWS::CloudFormation::WaitConditionHandle", "none": "OS::Heat::None"} {
		user := map[string]string{"handle": "user", "amazon": "amazon user"}[name]
		c.made(id, []*store_.Resource{{Name: name, Type: typ, PhysicalID: name}}, &stacks.State{Properties: &value.Map{}, Attributes: &value.Map{}, Data: value.NewMap(stacks.UserKey, user)})
	}
	c.exec(`UPDATE orchestration.stacks SET stack_user_project_id = 'inner'`)
	at := func(path, resource string) string {
		return "/cloudformation/v1/" + path + "/arn%3Aopenstack%3Aheat%3A%3Ap1%3Astacks/one/" + id + "/resources/" + resource
	}
	refused := func(code, kind, text string) string {
		return "<ErrorResponse><Error><Type>" + kind + "</Type><Code>" + code + "</Code><Message>" + text + "</Message></Error></ErrorResponse>"
	}
	const whole = `{"Status": "SUCCESS", "UniqueId": "7", "Data": "d", "Reason": "r"}`
	badValue := func(text string) string {
		return refused("InvalidParameterValue", "Sender", "A bad or out-of-range value was supplied"+text)
	}
	for _, row := range []struct {
		access, method, path, body, query string
		status                            int
		text                              string
	}{
		{"own", "PUT", at("waitcondition", "handle"), `{"data": "x", "id": "1"}`, "", 200, "<resource>handle</resource>"},
		{"own", "PUT", at("waitcondition", "handle"), `{"data": "y", "id": "1"}`, "&ContentType=JSON", 200,
			`{"metadata":{"1":{"reason":"Signal 2 received","data":"y","status":"SUCCESS"}},"resource":"handle"}`},
		{"own", "POST", at("signal", "handle"), "", "", 200, ""},
		{"alice", "POST", at("signal", "handle"), "", "&ContentType=JSON", 200, "null"},
		{"amazons", "PUT", at("waitcondition", "amazon"), whole, "", 200, "<resource>amazon</resource>"},
		{"amazons", "PUT", at("waitcondition", "amazon"), "", "", 200, "<resource>amazon</resource>"},
		{"amazons", "PUT", at("waitcondition", "amazon"), `{"Status": "SUCCESS"}`, "", 400, badValue(":Metadata format invalid")},
		{"own", "PUT", at("waitcondition", "handle"), `{"more": 1}`, "", 400, badValue(":Metadata format invalid")},
		{"own", "PUT", at("waitcondition", "handle"), `{`, "", 400, badValue("")},
		{"alice", "POST", at("signal", "none"), "", "", 400, badValue(":signal is not supported for resource.")},
		{"alice", "POST", at("signal", "gone"), "", "", 400, badValue(":The Resource (gone) could not be found in Stack one.")},
		{"own", "PUT", at("waitcondition", "amazon"), whole, "", 403, refused("AccessDenied", "Sender", "User is not authorized to perform action")},
		{"stranger", "PUT", at("waitcondition", "handle"), "", "", 400, badValue(":The Stack (one) could not be found.")},
		{"nobody", "PUT", at("waitcondition", "handle"), "", "", 403, refused("InvalidClientTokenId", "Sender", "The certificate or AWS Key ID provided does not exist")},
		{"down", "PUT", at("waitcondition", "handle"), "", "", 503, refused("ServiceUnavailable", "Server", "Service temporarily unavailable")},
		{"", "PUT", at("waitcondition", "handle"), "", "", 403, refused("MissingAuthenticationToken", "Sender", "Does not contain a valid AWS Access Key or certificate")},
		{"own", "PUT", at("waitcondition", "handle"), "", "&Signature=none", 200, "<resource>handle</resource>"},
	} {
		status, contentType, text := c.signed(row.access, row.method, row.path, row.body, row.query)
		if status != row.status || text != row.text || (text != "" && !strings.Contains(row.query, "JSON")) != (contentType == "application/xml") {
			t.Errorf("%s %s %.40s: %d %s %s, want %d %s", row.access, row.path, row.body, status, contentType, text, row.status, row.text)
		}
	}
	// The signature is looked at, and one must be there.
	for query, code := range map[string]string{"AWSAccessKeyId=own&Signature=wrong": "AccessDenied", "AWSAccessKeyId=own": "IncompleteSignature"} {
		request, answer := httptest.NewRequest("PUT", "http://cloud"+at("waitcondition", "handle")+"?"+query, nil), httptest.NewRecorder()
		c.ServeHTTP(answer, request)
		if !strings.Contains(answer.Body.String(), "<Code>"+code+"</Code>") {
			t.Errorf("%s: %d %s", query, answer.Code, answer.Body)
		}
	}
	// As that user it is signalled by the API, too, at its own project; and nothing else is.
	for _, row := range []struct {
		path string
		want int
	}{
		{"/resources/handle/signal", 200}, {"/resources/amazon/signal", 403},
	} {
		if status, answer, _ := c.ask("inner", "POST", "/v1/inner/stacks/one/"+id+row.path, ""); status != row.want {
			t.Errorf("%s: %d %v", row.path, status, answer)
		}
	}
	for path, want := range map[string]int{"/resources/handle/metadata": 200, "/resources/amazon/metadata": 403, "/resources/none/metadata": 403, "/resources": 403, "": 403} {
		if status, answer, _ := c.ask("inner", "GET", "/v1/inner/stacks/one/"+id+path, ""); status != want {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
	if status, _, headers := c.ask("inner", "GET", "/v1/inner/stacks/one", ""); status != 302 || !strings.HasSuffix(headers.Get("Location"), "/v1/p1/stacks/one/"+id) {
		t.Errorf("%d %v", status, headers)
	}
}
