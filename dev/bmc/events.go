package bmc

// The event service: whom it tells of events. It only remembers them.

import (
	"encoding/json"
	"net/http"
	"strconv"
)

const eventService = root + "EventService"

// Subscriptions are how many there are.
func (s *Service) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subscriptions)
}

// DropSubscription has the next subscription be made without an answer.
func (s *Service) DropSubscription() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops = true
}

func (s *Service) eventRoutes(mux *http.ServeMux) {
	const all = eventService + "/Subscriptions"
	mux.HandleFunc("GET "+eventService, s.entered(func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"@odata.id": eventService, "Id": "EventService", "Name": "Event Service", "Subscriptions": link(all),
			"EventTypesForSubscription": []string{"Alert", "StatusChange"}})
	}))
	mux.HandleFunc("GET "+all, s.entered(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		members := []any{}
		for id := range s.subscriptions {
			members = append(members, link(all+"/"+id))
		}
		s.mu.Unlock()
		send(w, http.StatusOK, map[string]any{"@odata.id": all, "Name": "Subscriptions", "Members@odata.count": len(members), "Members": members})
	}))
	mux.HandleFunc("POST "+all, s.entered(s.subscribe))
	mux.HandleFunc("GET "+all+"/{id}", s.entered(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		one, ok := s.subscriptions[r.PathValue("id")]
		s.mu.Unlock()
		if !ok {
			refuse(w, http.StatusNotFound, "The resource was not found.")
			return
		}
		send(w, http.StatusOK, one)
	}))
	mux.HandleFunc("DELETE "+all+"/{id}", s.entered(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		delete(s.subscriptions, r.PathValue("id"))
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
}

func (s *Service) subscribe(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || in["Destination"] == nil {
		refuse(w, http.StatusBadRequest, "The request is no subscription.")
		return
	}
	self, drops := s.Subscribe(in)
	if drops {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Location", self)
	send(w, http.StatusCreated, in)
}

// Subscribe makes a subscription, and gives where it is, and whether nobody is to be told.
func (s *Service) Subscribe(whom map[string]any) (self string, silently bool) {
	delete(whom, "HttpHeaders") // they are secrets, and told nobody
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribed++
	id := strconv.Itoa(s.subscribed)
	self, silently = eventService+"/Subscriptions/"+id, s.drops
	whom["@odata.id"], whom["Id"], whom["Name"] = self, id, "Subscription"
	s.subscriptions[id], s.drops = whom, false
	return self, silently
}
