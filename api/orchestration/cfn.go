package orchestration

// The CloudFormation API, as far as signed URLs need it.

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/stacks"
)

// Signers say whose key has signed a request. Errors: NotFound, nobody's; Unauthorized,
// it isn't signed with it, or too long ago; Unavailable.
type Signers interface {
	EC2(ctx context.Context, request identity.EC2Request) (identity.Identity, error)
}

// CloudFormation is the API as api/rest serves it.
func (a *API) CloudFormation() *rest.Service {
	const path = "/{arn}/{stack_name}/{stack_id}/resources/{resource_name}"
	return &rest.Service{
		Name: "cloudformation", Mount: "/cloudformation", Prefix: "/v1", Faults: amazonFaults, MaxBody: maxBody, AnyType: true, Authenticate: a.signer,
		Operations: []rest.Operation{
			{Method: http.MethodPut, Path: "/" + stacks.WaitConditionPath + path, Success: http.StatusOK, Handler: a.signedSignal(true)},
			{Method: http.MethodPost, Path: "/" + stacks.SignalPath + path, Success: http.StatusOK, Handler: a.signedSignal(false)},
		},
	}
}

// amazonWords are what the original says of errors, by Amazon's names of them.
var amazonWords = map[string]struct {
	status            int
	kind, explanation string
}{
	"IncompleteSignature":        {400, "Sender", "The request signature does not conform to AWS standards"},
	"MissingAuthenticationToken": {403, "Sender", "Does not contain a valid AWS Access Key or certificate"},
	"InvalidClientTokenId":       {403, "Sender", "The certificate or AWS Key ID provided does not exist"},
	"AccessDenied":               {403, "Sender", "User is not authorized to perform action"},
	"InvalidParameterValue":      {400, "Sender", "A bad or out-of-range value was supplied"},
	"InvalidAction":              {400, "Sender", "The action or operation requested is invalid"},
	"RequestLimitExceeded":       {400, "Sender", "Payload exceeds maximum allowed size"},
	"ServiceUnavailable":         {503, "Server", "Service temporarily unavailable"},
	"InternalFailure":            {500, "Server", "The request processing has failed due to an internal error"},
}

// amazon is an error by its name.
func amazon(name, detail string) error {
	kind := faults.Invalid
	if amazonWords[name].status == http.StatusForbidden {
		kind = faults.Forbidden
	}
	return faults.New(kind, name, "%s", detail)
}

// amazonOf is the error that the original makes of one of the engine's.
func amazonOf(err error) error {
	f := faults.As(err)
	class, text := hot.Class(err), err.Error()
	if class == "" {
		class, text = f.Code, f.Message
	}
	switch {
	case class == hot.LimitExceeded:
		return amazon("RequestLimitExceeded", text)
	case f.Kind == faults.Forbidden:
		return amazon("AccessDenied", "")
	case f.Kind == faults.Invalid, f.Kind == faults.NotFound:
		return amazon("InvalidParameterValue", text)
	case f.Kind == faults.Conflict:
		return amazon("InvalidAction", text)
	}
	return err
}

// xmlError is an error as Amazon's clients read it.
type xmlError struct {
	XMLName struct{} `xml:"ErrorResponse"`
	Type    string   `xml:"Error>Type"`
	Code    string   `xml:"Error>Code"`
	Message string   `xml:"Error>Message"`
}

var amazonFaults = rest.Faults{
	ContentType: "application/xml",
	Classed: func(status int, class, message string) any {
		of, known := amazonWords[class]
		if !known {
			class = "InternalFailure"
			switch status {
			case http.StatusServiceUnavailable:
				class = "ServiceUnavailable"
			case http.StatusBadRequest:
				class = "InvalidParameterValue"
			case http.StatusNotFound, http.StatusMethodNotAllowed:
				class = "InvalidAction"
			}
			of, message = amazonWords[class], ""
		}
		text := of.explanation
		if message != "" {
			text += ":" + message
		}
		return xmlText(xmlError{Type: of.kind, Code: class, Message: text})
	},
	Internal: func(string) string { return "" },
}

func xmlText(v any) rest.Text {
	text, err := xml.Marshal(v)
	if err != nil {
		return "" // it has nothing but texts
	}
	return rest.Text(text)
}

// signer is whoever has signed a request.
func (a *API) signer(from *http.Request) (who identity.Identity, err error) {
	query := from.URL.Query()
	asked := identity.EC2Request{Verb: from.Method, Params: map[string]string{}, Access: query.Get("AWSAccessKeyId"), Signature: query.Get("Signature")}
	switch {
	case asked.Signature == "":
		return who, amazon("IncompleteSignature", "")
	case asked.Access == "":
		return who, amazon("MissingAuthenticationToken", "")
	case a.Signers == nil:
		return who, amazon("AccessDenied", "")
	}
	for name := range query {
		if name != "Signature" {
			asked.Params[name] = query.Get(name)
		}
	}
	if asked.Host, asked.Path, err = a.signedAt(from); err != nil {
		return who, amazon("IncompleteSignature", "")
	}
	who, err = a.Signers.EC2(from.Context(), asked)
	switch {
	case faults.Is(err, faults.NotFound):
		return who, amazon("InvalidClientTokenId", "")
	case faults.Is(err, faults.Unauthorized), faults.Is(err, faults.Forbidden):
		return who, amazon("AccessDenied", "")
	}
	return who, err
}

// signedAt is the host and the path that a request was signed for: where guests reach
// the API, whatever stands in between.
func (a *API) signedAt(from *http.Request) (host, path string, err error) {
	if a.SignedURL != "" {
		base, err := url.Parse(strings.ToLower(strings.TrimSuffix(a.SignedURL, "/")))
		if err != nil {
			return "", "", err
		}
		return base.Host, base.Path + from.URL.Path, nil
	}
	sent, _, _ := strings.Cut(from.RequestURI, "?")
	path, err = url.PathUnescape(sent)
	return from.Host, path, err
}

// signedSignal signals the resource that a signed URL names. A wait condition's handle
// is asked for its signals, any other resource for nothing.
func (a *API) signedSignal(told bool) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		at, err := stacks.PlaceOf(strings.Join([]string{r.Param("arn"), r.Param("stack_name"), r.Param("stack_id"), "resources", r.Param("resource_name")}, "/"))
		if err != nil {
			return nil, amazonOf(err)
		}
		s, err := a.livingAt(r, at.StackName, at.StackID)
		if err == nil && at.ProjectID != s.ProjectID {
			err = faults.New(faults.Invalid, "InvalidTenant", "Searching Tenant %s from Tenant %s forbidden.", at.ProjectID, r.Identity.ProjectID)
		}
		if err != nil {
			return nil, amazonOf(err)
		}
		metadata, err := a.deliver(r, s, at.Resource)
		if err != nil {
			return nil, amazonOf(err)
		}
		asJSON := r.Query.Get("ContentType") == "JSON"
		switch {
		case asJSON && told:
			return rest.JSON(map[string]any{"resource": at.Resource, "metadata": json.RawMessage(metadata)}), nil
		case asJSON:
			return rest.JSON(json.RawMessage("null")), nil
		case told:
			return &rest.Response{ContentType: "application/xml", Body: xmlText(xmlResource{Name: at.Resource})}, nil
		}
		return nil, nil
	}
}

// xmlResource is what the original says in XML of a resource that was signalled.
type xmlResource struct {
	XMLName struct{} `xml:"resource"`
	Name    string   `xml:",chardata"`
}
