package bmc

// The Redfish service: sessions, systems and their resets.

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Options of a service.
type Options struct {
	// Machines is how many systems it has.
	Machines int
	// Listen is an address of the loopback interface; empty is a free port.
	Listen string
	// Apart gives each machine an address of its own, as if it had a BMC of its own.
	Apart bool
	// Dir is where its authority's certificate goes.
	Dir string
	// Sessionless ones have no sessions: who enters says with each request who it is.
	Sessionless bool
	// User and Password are who may enter.
	User, Password string
	// Delay is how long a change of power takes.
	Delay time.Duration
	// Pace is what ramdisks take for a second; 0 is one.
	Pace time.Duration
}

// Service is one that runs.
type Service struct {
	Machines []*Machine
	// CAFile is the certificate of who has signed the service's.
	CAFile string

	o        Options
	listener net.Listener
	// apart are the listeners of the machines, if they are apart.
	apart    []net.Listener
	server   *http.Server
	mu       sync.Mutex
	sessions map[string]string // token by id
	// subscriptions are by id, subscribed is how many there have been, and drops has the
	// next one be made without an answer.
	subscriptions map[string]map[string]any
	subscribed    int
	drops         bool
	// certs are by address; wrong is shown instead of them, if it isn't nil.
	ca    *authority
	certs map[string]*tls.Certificate
	wrong *tls.Certificate
	// end ends what the machines run, and work is that.
	end  context.CancelFunc
	work sync.WaitGroup
}

// Start starts a service.
func Start(o Options) (*Service, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Pace == 0 {
		o.Pace = time.Second
	}
	s := &Service{o: o, sessions: map[string]string{}, certs: map[string]*tls.Certificate{}, subscriptions: map[string]map[string]any{}}
	life, end := context.WithCancel(context.Background())
	s.end = end
	for i := range o.Machines {
		name, mac := ordinal(i), fmt.Sprintf("52:54:00:bc:%02x:%02x", (i+1)>>8, (i+1)&0xff)
		s.Machines = append(s.Machines, &Machine{ID: name, UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("machine "+name)).String(),
			MAC: mac, parts: parts{8, []int64{20 << 30}, []string{mac}}, Delay: o.Delay, Pace: o.Pace, power: Off,
			boots: boots{life: life, work: &s.work, boot: own}, hardware: newHardware(), firmware: usualFirmware(), settings: settings{lamp: "Off", bios: usualBIOS()}})
	}
	var err error
	if s.CAFile, s.ca, err = certify(o.Dir); err != nil {
		return nil, err
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(life, "tcp", o.Listen); err != nil {
		return nil, fmt.Errorf("listen for Redfish: %w", err)
	}
	s.server = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate}}
	if o.Apart {
		if err := s.listenApart(life); err != nil {
			return nil, errors.Join(err, s.listener.Close())
		}
	}
	for _, l := range append(s.apart, s.listener) {
		go func() { _ = s.server.ServeTLS(l, "", "") }() // ends with Close
	}
	return s, nil
}

// listenApart has each machine listen at an address of its own.
func (s *Service) listenApart(ctx context.Context) error {
	for i := range s.Machines {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.addressOf(i).String()+":0")
		if err != nil {
			for _, l := range s.apart {
				err = errors.Join(err, l.Close())
			}
			return fmt.Errorf("listen for Redfish: %w", err)
		}
		s.apart = append(s.apart, l)
	}
	return nil
}

// certificate is that of the address which is spoken to.
func (s *Service) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	at := loopback
	if to, ok := hello.Conn.LocalAddr().(*net.TCPAddr); ok {
		at = to.IP
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != nil {
		return s.wrong, nil
	}
	if s.certs[at.String()] == nil {
		cert, err := s.ca.sign(at)
		if err != nil {
			return nil, err
		}
		s.certs[at.String()] = cert
	}
	return s.certs[at.String()], nil
}

// quiet has those who trust no certificate of ours not be told of.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

// ordinal names the one of several at a place.
func ordinal(i int) string { return strconv.Itoa(i + 1) }

// URL is where the service is.
func (s *Service) URL() string { return "https://" + s.listener.Addr().String() }

// URLOf is where the machine at a place has its BMC.
func (s *Service) URLOf(i int) string {
	if s.apart == nil {
		return s.URL()
	}
	return "https://" + s.apart[i].Addr().String()
}

// Close ends it, and what its machines run.
func (s *Service) Close() error {
	err := s.server.Close()
	s.end()
	s.work.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ChangeCertificate shows one that a stranger has signed from now on.
func (s *Service) ChangeCertificate() error {
	cert, err := strange(loopback)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = cert
	return nil
}

// ChangeCertificateOf has the machine at a place, which is apart, show one that a
// stranger has signed, until RestoreCertificateOf has it show its own again.
func (s *Service) ChangeCertificateOf(i int) error {
	at := s.addressOf(i)
	cert, err := strange(at)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certs[at.String()] = cert
	return nil
}

// RestoreCertificateOf is the end of that.
func (s *Service) RestoreCertificateOf(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.certs, s.addressOf(i).String())
}

// addressOf is that of a machine which is apart.
func (s *Service) addressOf(i int) net.IP { return net.IPv4(127, 16, byte(i>>8), byte(i)) }

// Sessions is how many are open.
func (s *Service) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

const root = "/redfish/v1/"

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		said := map[string]any{"@odata.id": root, "Id": "RootService", "Name": "Root Service", "RedfishVersion": "1.15.0", "Systems": link(root + "Systems")}
		if !s.o.Sessionless {
			said["SessionService"], said["Links"] = link(root+"SessionService"), map[string]any{"Sessions": link(root + "SessionService/Sessions")}
		}
		send(w, http.StatusOK, said)
	})
	mux.HandleFunc("POST "+root+"SessionService/Sessions", s.login)
	mux.HandleFunc("DELETE "+root+"SessionService/Sessions/{id}", s.entered(s.logout))
	mux.HandleFunc("GET "+root+"SessionService", s.entered(func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"@odata.id": root + "SessionService", "Id": "SessionService", "Name": "Session Service",
			"Sessions": link(root + "SessionService/Sessions")})
	}))
	mux.HandleFunc("GET "+root+"Systems", s.entered(func(w http.ResponseWriter, _ *http.Request) {
		members := []any{}
		for _, m := range s.Machines {
			members = append(members, link(root+"Systems/"+m.ID))
		}
		send(w, http.StatusOK, map[string]any{"@odata.id": root + "Systems", "Name": "Systems", "Members@odata.count": len(members), "Members": members})
	}))
	mux.HandleFunc("GET "+root+"Systems/{id}", s.entered(s.of(showSystem)))
	mux.HandleFunc("POST "+root+"Systems/{id}/Actions/ComputerSystem.Reset", s.entered(s.of(resetSystem)))
	s.inventoryRoutes(mux)
	s.mediaRoutes(mux)
	s.settingsRoutes(mux)
	s.biosRoutes(mux)
	s.raidRoutes(mux)
	s.firmwareRoutes(mux)
	s.eventRoutes(mux)
	return mux
}

func link(to string) map[string]any { return map[string]any{"@odata.id": to} }

// of finds the machine of the path.
func (s *Service) of(f func(http.ResponseWriter, *http.Request, *Machine)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, m := range s.Machines {
			if m.ID == r.PathValue("id") {
				f(w, r, m)
				return
			}
		}
		refuse(w, http.StatusNotFound, "The resource was not found.")
	}
}

func showSystem(w http.ResponseWriter, r *http.Request, m *Machine) {
	if pause(r.Context(), m.Tells) != nil {
		return
	}
	switch next(m, &m.readFaults) {
	case Slow:
		if pause(r.Context(), m.Lag) != nil {
			return
		}
	case Unavailable:
		refuse(w, http.StatusServiceUnavailable, "The service is temporarily unavailable.")
		return
	case Drops:
		panic(http.ErrAbortHandler)
	}
	self := root + "Systems/" + m.ID
	allowed := []string{}
	for how := range resets {
		allowed = append(allowed, how)
	}
	send(w, http.StatusOK, map[string]any{"@odata.id": self, "Id": m.ID, "Name": "machine " + m.ID, "UUID": m.UUID, "PowerState": m.Power(),
		"Status": map[string]any{"State": "Enabled", "Health": "OK"}, "SystemType": "Physical", "Boot": m.shownBoot(), "IndicatorLED": m.Lamp(),
		"Links":      map[string]any{"ManagedBy": []any{link(root + "Managers/" + m.ID)}},
		"SecureBoot": link(self + "/SecureBoot"), "Bios": link(self + "/Bios"), "BiosVersion": m.Firmware("bios"), "Processors": link(self + "/Processors"), "Storage": link(self + "/Storage"),
		"EthernetInterfaces": link(self + "/EthernetInterfaces"), "Manufacturer": "Holdfast", "Model": "simulated", "SerialNumber": m.UUID,
		"MemorySummary":    map[string]any{"TotalSystemMemoryGiB": m.made().memory},
		"ProcessorSummary": map[string]any{"Count": 1, "LogicalProcessorCount": 4},
		"Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{"target": self + "/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues": allowed}}})
}

func resetSystem(w http.ResponseWriter, r *http.Request, m *Machine) {
	var in struct{ ResetType string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "The request is no JSON.")
		return
	}
	if _, known := resets[in.ResetType]; !known {
		refuse(w, http.StatusBadRequest, "The value of ResetType is not allowed.")
		return
	}
	switch m.Obey(in.ResetType) {
	case Slow:
		select {
		case <-time.After(m.Lag):
		case <-r.Context().Done():
		}
	case Unavailable:
		refuse(w, http.StatusServiceUnavailable, "The service is temporarily unavailable.")
		return
	case Refuses:
		refuse(w, http.StatusBadRequest, "The system can't do that.")
		return
	case Garbage:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>not now</html>")) // to somebody who may be gone
		return
	case Drops:
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusNoContent)
}

// entered lets in who has logged in, by a session or by each request.
func (s *Service) entered(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		known := false
		for _, token := range s.sessions {
			known = known || token == r.Header.Get("X-Auth-Token")
		}
		s.mu.Unlock()
		user, password, basic := r.BasicAuth()
		if !known && !(basic && s.may(user, password)) {
			refuse(w, http.StatusUnauthorized, "The user name or password is wrong.")
			return
		}
		f(w, r)
	}
}

func (s *Service) may(user, password string) bool {
	return subtle.ConstantTimeCompare([]byte(user+"\x00"+password), []byte(s.o.User+"\x00"+s.o.Password)) == 1
}

func (s *Service) login(w http.ResponseWriter, r *http.Request) {
	var in struct{ UserName, Password string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || !s.may(in.UserName, in.Password) {
		refuse(w, http.StatusUnauthorized, "The user name or password is wrong.")
		return
	}
	id, token := uuid.NewString(), rand.Text()
	s.mu.Lock()
	s.sessions[id] = token
	s.mu.Unlock()
	self := root + "SessionService/Sessions/" + id
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", self)
	send(w, http.StatusCreated, map[string]any{"@odata.id": self, "Id": id, "Name": "Session", "UserName": in.UserName})
}

func (s *Service) logout(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	delete(s.sessions, r.PathValue("id"))
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to somebody who may be gone
}

func refuse(w http.ResponseWriter, status int, message string) {
	send(w, status, map[string]any{"error": map[string]any{"code": "Base.1.8.GeneralError", "message": message}})
}
