package identity

// EC2 keys, and whose key signed a request (signature versions 2 and 4).

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// key is the blob of a credential of type ec2; its id is the SHA-256 of access.
type key struct {
	Access string `json:"access"`
	Secret string `json:"secret"`
}

// The type of such credentials, and the method of tokens that they give.
const (
	ec2Type   = "ec2"
	ec2Method = "ec2credential"
)

// readKey is the key in a client's own blob.
func readKey(blob string) (key, error) {
	var k key
	if err := json.Unmarshal([]byte(blob), &k); err != nil {
		return k, service.Fail(http.StatusBadRequest, "Invalid blob in credential")
	}
	if k.Access == "" {
		return k, service.Fail(http.StatusBadRequest, "Expecting to find access in credential. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.")
	}
	return k, nil
}

func keyID(access string) string {
	sum := sha256.Sum256([]byte(access))
	return hex.EncodeToString(sum[:])
}

func (s *Service) ec2Routes(rt *service.Router) {
	const path = "/v3/users/{user}/credentials/OS-EC2"
	rt.Handle("GET "+path, s.listKeys)
	rt.Handle("POST "+path, s.createKey)
	rt.Handle("GET "+path+"/{access}", s.showKey)
	rt.Handle("DELETE "+path+"/{access}", s.deleteKey)
	rt.Handle("POST /v3/ec2tokens", s.ec2Token)
}

// mayTouchKeys refuses those whom the rule refuses, and delegates.
func (s *Service) mayTouchKeys(r *http.Request, may rule, caller *service.Caller, user, action string) error {
	if err := enforce(may, caller, user, action); err != nil {
		return err
	}
	return s.byItself(r.Context(), caller)
}

type keyRow struct{ UserID, ProjectID, Blob string }

func (row keyRow) view() (document, error) {
	var k key
	err := json.Unmarshal([]byte(row.Blob), &k)
	return document{"user_id": row.UserID, "tenant_id": row.ProjectID, "access": k.Access, "secret": k.Secret, "trust_id": nil, "links": document{}}, err
}

func (s *Service) createKey(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user := r.PathValue("user")
	if err := s.mayTouchKeys(r, adminOrSelf, caller, user, "ec2_create_credential"); err != nil {
		return err
	}
	var in struct {
		Project string `json:"tenant_id"`
	}
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	k := key{Access: newID(), Secret: newID()}
	blob, err := json.Marshal(k)
	if err != nil {
		return err
	}
	tag, err := s.db.Exec(r.Context(), `INSERT INTO identity.credentials (id, user_id, project_id, type, blob)
		SELECT $1, $2, id, 'ec2', $4 FROM identity.projects WHERE id = $3`, keyID(k.Access), user, in.Project, string(blob))
	if service.Violates(err, "") || err == nil && tag.RowsAffected() == 0 {
		return notFound("user or project", in.Project)
	}
	if err != nil {
		return err
	}
	view, err := keyRow{user, in.Project, string(blob)}.view()
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusCreated, document{"credential": view})
}

func (s *Service) listKeys(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user := r.PathValue("user")
	if err := s.mayTouchKeys(r, overseerOrSelf, caller, user, "ec2_list_credentials"); err != nil {
		return err
	}
	rows, err := s.db.Query(r.Context(), `SELECT user_id, COALESCE(project_id, ''), blob FROM identity.credentials WHERE user_id = $1 AND type = 'ec2' ORDER BY id`, user)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[keyRow])
	if err != nil {
		return err
	}
	shown := []document{}
	for _, row := range found {
		view, err := row.view()
		if err != nil {
			return err
		}
		shown = append(shown, view)
	}
	return service.JSON(w, http.StatusOK, document{"credentials": shown, "links": pageLinks(r)})
}

// key finds a user's key by its access id; nil if there is none.
func (s *Service) key(r *http.Request, user, access string) (*keyRow, error) {
	rows, err := s.db.Query(r.Context(), `SELECT user_id, COALESCE(project_id, ''), blob FROM identity.credentials
		WHERE id = $1 AND type = 'ec2' AND ($2 = '' OR user_id = $2)`, keyID(access), user)
	return first[keyRow](rows, err)
}

func (s *Service) showKey(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user, access := r.PathValue("user"), r.PathValue("access")
	if err := s.mayTouchKeys(r, overseerOrSelf, caller, user, "ec2_get_credential"); err != nil {
		return err
	}
	row, err := s.key(r, user, access)
	if err == nil && row == nil {
		err = notFound("credential", access)
	}
	if err != nil {
		return err
	}
	view, err := row.view()
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, document{"credential": view})
}

func (s *Service) deleteKey(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user, access := r.PathValue("user"), r.PathValue("access")
	if err := s.mayTouchKeys(r, adminOrSelf, caller, user, "ec2_delete_credential"); err != nil {
		return err
	}
	tag, err := s.db.Exec(r.Context(), `DELETE FROM identity.credentials WHERE id = $1 AND user_id = $2 AND type = 'ec2'`, keyID(access), user)
	if err == nil && tag.RowsAffected() == 0 {
		err = notFound("credential", access)
	}
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

// signedRequest is a request as the service that got it tells of it.
type signedRequest struct {
	Access    string            `json:"access"`
	Signature string            `json:"signature"`
	Host      string            `json:"host"`
	Verb      string            `json:"verb"`
	Path      string            `json:"path"`
	Params    map[string]string `json:"params"`
	Headers   map[string]string `json:"headers"`
	BodyHash  string            `json:"body_hash"`
}

// ec2Token answers services with a token of the user whose key signed.
func (s *Service) ec2Token(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	serviceOnly := func(c *service.Caller, _ string) bool { return c.Admin() || c.Has("service") }
	if err := enforce(serviceOnly, caller, "", "ec2tokens"); err != nil {
		return err
	}
	var in struct {
		Credentials    *signedRequest `json:"credentials"`
		EC2Credentials *signedRequest `json:"ec2Credentials"`
	}
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	request := in.Credentials
	if request == nil {
		request = in.EC2Credentials
	}
	if request == nil || request.Signature == "" {
		return service.Unauthorized()
	}
	row, err := s.key(r, "", request.Access)
	if err != nil {
		return err
	}
	if row == nil {
		return service.Fail(http.StatusNotFound, "EC2 access key not found.")
	}
	var k key
	if err := json.Unmarshal([]byte(row.Blob), &k); err != nil {
		return err
	}
	if !request.recent(time.Now()) || !request.signedBy(k.Secret) {
		return service.Unauthorized()
	}
	t := s.fresh(row.UserID, ec2Method)
	t.ProjectID = &row.ProjectID
	return s.answerTokenAs(w, r, t, http.StatusOK)
}

// signatureLife is how old a signed request may be (auth_ttl).
const signatureLife = 15 * time.Minute

// recent says whether a request was signed a while ago at most. One that doesn't say
// when is meant to be good for as long as its key.
func (q *signedRequest) recent(now time.Time) bool {
	text := cmp.Or(q.Params["Timestamp"], q.header("X-Amz-Date"), q.Params["X-Amz-Date"])
	if text == "" {
		return true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "20060102T150405Z"} {
		if t, err := time.Parse(layout, text); err == nil {
			return now.Sub(t) <= signatureLife
		}
	}
	return false
}

func (q *signedRequest) header(name string) string {
	for key, value := range q.Headers {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

func (q *signedRequest) signedBy(secret string) bool {
	want := q.version4(secret)
	if q.Params["SignatureVersion"] == "2" {
		want = q.version2(secret)
	}
	return want != "" && hmac.Equal([]byte(want), []byte(q.Signature))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text)) // a hash never fails to be written to
	return mac.Sum(nil)
}

// query is the parameters in the order and form that is signed.
func (q *signedRequest) query() string {
	var pairs []string
	for name, value := range q.Params {
		if name != "Signature" && name != "X-Amz-Signature" {
			pairs = append(pairs, escape(name)+"="+escape(value))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

func (q *signedRequest) version2(secret string) string {
	text := strings.Join([]string{q.Verb, strings.ToLower(q.Host), q.Path, q.query()}, "\n")
	return base64.StdEncoding.EncodeToString(sign([]byte(secret), text))
}

// version4 takes scope and signed headers from the Authorization header, or
// from the parameters of a presigned address.
func (q *signedRequest) version4(secret string) string {
	scope, names := q.Params["X-Amz-Credential"], q.Params["X-Amz-SignedHeaders"]
	date := q.Params["X-Amz-Date"]
	if auth := q.header("Authorization"); auth != "" {
		date = q.header("X-Amz-Date")
		for _, part := range strings.Split(strings.TrimPrefix(auth, "AWS4-HMAC-SHA256 "), ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "Credential":
				scope = value
			case "SignedHeaders":
				names = value
			}
		}
	}
	parts := strings.Split(scope, "/") // access, day, region, service, aws4_request
	if len(parts) != 5 || names == "" {
		return ""
	}
	var headers strings.Builder
	for _, name := range strings.Split(names, ";") {
		value := q.header(name)
		if name == "host" && value == "" {
			value = q.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical := strings.Join([]string{q.Verb, q.Path, q.query(), headers.String(), names, q.BodyHash}, "\n")
	hash := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", date, strings.Join(parts[1:], "/"), hex.EncodeToString(hash[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range parts[1:] {
		key = sign(key, part)
	}
	return hex.EncodeToString(sign(key, text))
}
