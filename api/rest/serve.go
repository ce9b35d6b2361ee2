package rest

// The story of one request of a service.

import (
	"cmp"
	"errors"
	"net/http"

	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/telemetry"
)

// serve answers a request for one of rows, which share method and path.
func (s *Server) serve(w http.ResponseWriter, from *http.Request, service *Service, rows []Operation) {
	e := exchangeOf(from.Context())
	r := newRequest(from, e, service)
	response, err := s.answer(w.Header(), from, e, r, rows)
	if err != nil {
		s.fail(w, from, service, err)
		return
	}
	if response == nil {
		response = &Response{}
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	status := response.Status
	if status == 0 {
		status = e.operation.StatusAt(r.Version)
	}
	s.write(w, from, status, cmp.Or(response.ContentType, "application/json"), response.Body)
}

// answer goes in the originals' order, since it decides which of several things
// wrong a client is told: token, microversion, content type, action, JSON,
// project in the path, the operation's microversions, removal, schemas, policy.
func (s *Server) answer(h http.Header, from *http.Request, e *exchange, r *Request, rows []Operation) (response *Response, err error) {
	if rows[0].Anonymous {
		e.operation = &rows[0]
		r.locate(e)
		if e.operation.Versioned {
			if err = r.negotiate(h, from); err != nil {
				return nil, err
			}
		}
		return e.operation.Handler(r)
	}
	if !rows[0].Public {
		if r.Identity, err = s.authenticate(from, e); err != nil {
			return nil, err
		}
	}
	r.judge()
	if err = r.negotiate(h, from); err != nil {
		return nil, err
	}
	if err = r.readBody(from, rows[0].Bodied); err != nil {
		return nil, err
	}
	candidates, err := choose(rows, r)
	if err != nil {
		return nil, err
	}
	if err = r.parseBody(); err != nil {
		return nil, err
	}
	if err = projectMatches(e); err != nil {
		return nil, err
	}
	if e.operation, err = within(candidates, r.Version); err != nil {
		return nil, err
	}
	r.locate(e)
	if err = r.admit(from.URL.RawQuery, e.operation); err != nil {
		return nil, err
	}
	return e.operation.Handler(r)
}

// admit is the last gate before the handler: what is gone, what the schemas
// refuse, what the policy doesn't allow.
func (r *Request) admit(rawQuery string, o *Operation) error {
	if o.Removed {
		return NewFault(http.StatusGone, "This resource is no longer available. No forwarding address is given.")
	}
	if err := o.body.Check(r.Version, r.value); err != nil {
		return err
	}
	if err := r.readQuery(rawQuery, o); err != nil {
		return err
	}
	return r.permit(o)
}

// authenticate finds out who asks, and through which service, if one passed the
// request on with a token of its own.
func (s *Server) authenticate(r *http.Request, e *exchange) (who Identity, err error) {
	if signed := e.service.Authenticate; signed != nil {
		e.identity, err = signed(r)
		return e.identity, err
	}
	if own := e.service.Tokens; own != nil {
		if who, known, err := own(r.Context(), r.Header.Get("X-Auth-Token")); known {
			e.identity = who
			return who, err
		}
	}
	who, err = s.owner(r, "X-Auth-Token")
	e.identity = who
	if err != nil || r.Header.Get("X-Service-Token") == "" {
		return who, err
	}
	service, err := s.owner(r, "X-Service-Token")
	if err != nil {
		return Identity{}, err
	}
	return who.Through(service)
}

// owner is whom the token in a header belongs to.
func (s *Server) owner(r *http.Request, header string) (Identity, error) {
	token := r.Header.Get(header)
	if token == "" {
		return Identity{}, errUnauthorized
	}
	return s.Authenticator.Authenticate(r.Context(), token)
}

// negotiate finds the microversion and tells it.
func (r *Request) negotiate(h http.Header, from *http.Request) (err error) {
	if r.service.Versions == nil {
		return nil
	}
	if r.Version, err = r.service.Versions.Negotiate(from.Header.Values); err == nil {
		r.announce(h)
	}
	return err
}

// announce tells the client the version that its answer has.
func (r *Request) announce(h http.Header) {
	scheme := r.service.Versions
	h.Set("OpenStack-API-Version", scheme.Service+" "+r.Version.String())
	h.Add("Vary", "OpenStack-API-Version")
	if scheme.Legacy != "" {
		h.Set(scheme.Legacy, r.Version.String())
		h.Add("Vary", scheme.Legacy)
	}
}

// announceRange tells with every answer which versions there are, where the
// dialect has it so.
func announceRange(h http.Header, scheme *microversion.Scheme) {
	if scheme != nil && scheme.MinHeader != "" {
		h.Set(scheme.MinHeader, scheme.Min.String())
		h.Set(scheme.MaxHeader, scheme.Max.String())
	}
}

// fail answers an error in the service's words.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, service *Service, err error) {
	var bare *bareFault
	if errors.As(err, &bare) {
		writeBare(w, r, bare.status)
		return
	}
	if service == nil {
		writeBare(w, r, http.StatusInternalServerError)
		return
	}
	ctx := r.Context()
	status, body := service.answerFor(ctx, s.Log, telemetry.From(ctx).Request, err)
	contentType := service.Faults.ContentType
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		contentType = ""
		if s.AuthURI != "" {
			w.Header().Set("WWW-Authenticate", `Keystone uri="`+s.AuthURI+`"`)
		}
	}
	if contentType == "" {
		contentType = "application/json"
	}
	s.write(w, r, status, contentType, body)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, contentType string, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	err := encoded(body, func(text []byte) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		if _, err := w.Write(text); err != nil {
			s.Log.DebugContext(r.Context(), "the client has gone", "error", err)
		}
	})
	if err != nil {
		s.Log.ErrorContext(r.Context(), "the answer can't be written as JSON", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}
