package bmc

// Redfish, by gofish. bmclib's own calls for power repeat a reset by other means
// when it fails, so they are not used for what must not happen twice.

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"
	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store/baremetal"
)

// redfish is a session with a Redfish service, about one system.
type redfish struct {
	address string
	client  *gofish.APIClient
	system  *rf.ComputerSystem
	// fresh says that the system was read when the session began, and nothing has been
	// asked of it since.
	fresh bool
	lease *baremetal.Lease
	// leave gives the service back, with the last error.
	leave func(error)
	last  error
}

// openRedfish connects to a service and finds the machine's system.
func (s *session) openRedfish(ctx context.Context, to nodes.Redfish) (driver, error) {
	trust, err := trustOf(to)
	if err != nil {
		return nil, err
	}
	leave, err := s.limits.enter(ctx, to.Address)
	if err != nil {
		return nil, err
	}
	d := &redfish{address: to.Address, leave: leave, lease: s.Lease}
	guard := s.guard
	guard.TLS = trust
	client := guard.Client()
	client.Transport = things{client.Transport}
	config := gofish.ClientConfig{Endpoint: to.Address, Username: to.Username, Password: to.Password, HTTPClient: client, BasicAuth: to.Auth == nodes.AuthBasic}
	d.client, err = gofish.ConnectContext(ctx, config)
	if to.Auth == nodes.AuthAuto && (refused(err) || sessionless(err)) {
		config.BasicAuth = true
		d.client, err = gofish.ConnectContext(ctx, config)
	}
	if err == nil {
		d.system, err = d.find(to.SystemID)
		d.fresh = err == nil
	}
	if err != nil {
		err = d.fault(err)
		d.close(ctx)
		return nil, err
	}
	return d, nil
}

// things refuses answers that are null, which gofish takes for something that is there.
type things struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t things) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := bufio.NewReader(answer.Body)
	err = skipSpace(body)
	if first, _ := body.Peek(len("null")); err == nil && string(first) == "null" {
		err = errors.New("the BMC answered with nothing")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, answer.Body.Close())
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{body, answer.Body}
	return answer, nil
}

// skipSpace has the first byte that is no white space be the next one to be read.
func skipSpace(r *bufio.Reader) error {
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return err
		case strings.IndexByte(" \t\r\n", b) < 0:
			return r.UnreadByte()
		}
	}
}

// CloseIdleConnections lets http.Client's reach the transport.
func (t things) CloseIdleConnections() {
	if idle, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// byRedfish is the session's, for an interface of the node that is Redfish's. Errors:
// Invalid.
func (s *session) byRedfish(iface string) (*redfish, error) {
	d, ok := s.driver.(*redfish)
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has the %s interface redfish with the power interface redfish alone", iface)
	}
	return d, nil
}

// find gives the system that a node is: the one that is named, or the only one.
func (d *redfish) find(id string) (*rf.ComputerSystem, error) {
	if id != "" {
		if !strings.HasPrefix(id, "/") {
			id = common.DefaultServiceRoot + "Systems/" + id
		}
		return rf.GetComputerSystem(d.client, id)
	}
	all, err := d.client.Service.Systems()
	if err == nil && len(all) != 1 {
		err = faults.New(faults.Invalid, "InvalidParameterValue", "the BMC has %d systems; redfish_system_id says which one the node is", len(all))
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// powers are what the words of Redfish mean.
var powers = map[rf.PowerState]provision.Power{
	rf.OnPowerState: provision.PowerOn, rf.PoweringOnPowerState: provision.PowerOn,
	rf.OffPowerState: provision.PowerOff, rf.PoweringOffPowerState: provision.PowerOff,
}

func (d *redfish) power(context.Context) (provision.Power, error) {
	if d.fresh {
		d.fresh = false
		return powers[d.system.PowerState], nil
	}
	system, err := rf.GetComputerSystem(d.client, d.system.ODataID)
	if err != nil {
		return "", d.fault(err)
	}
	d.system = system
	return powers[system.PowerState], nil
}

func (d *redfish) reset(_ context.Context, r reset) error {
	d.fresh = false
	return d.fault(d.system.Reset(rf.ResetType(r)))
}

func (d *redfish) restarts() bool { return true }

// close ends the session at the service, and lets go of it.
func (d *redfish) close(ctx context.Context) {
	if d.client != nil {
		d.logout(ctx)
		d.client.HTTPClient.CloseIdleConnections()
	}
	d.leave(d.last)
}

// logout ends the session, of which a service has only a few, also when the step has
// ended: gofish asks for nothing under a context that is over.
func (d *redfish) logout(ctx context.Context) {
	session, err := d.client.GetSession()
	if ctx.Err() == nil || err != nil {
		d.client.Logout()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	again, err := gofish.ConnectContext(ctx, gofish.ClientConfig{Endpoint: d.address, HTTPClient: d.client.HTTPClient, Session: session})
	if err == nil {
		again.Logout()
	}
}

// refused says whether the service itself said no.
func refused(err error) bool {
	var said *common.Error
	return errors.As(err, &said) && said.HTTPReturnedStatusCode >= 400 && said.HTTPReturnedStatusCode < 500
}

// sessionless says whether the service was heard and has no sessions to be opened: gofish
// has no word of its own for it.
func sessionless(err error) bool {
	var said *common.Error
	var unheard *url.Error
	return err != nil && !errors.As(err, &said) && !errors.As(err, &unheard)
}

// redfishPrefix begins what users read of one that fails.
const redfishPrefix = "Redfish exception occurred. Error: "

// fault words an error of the service's, and remembers it. What it refuses is
// Invalid, its login too; what it can't do now is Unavailable. That the step was
// told to end says nothing of the service.
func (d *redfish) fault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	d.last = redfishFault(err)
	return d.last
}

func redfishFault(err error) error {
	var known *faults.Error
	if errors.As(err, &known) {
		return known
	}
	var said *common.Error
	if !errors.As(err, &said) {
		var wrong *tls.CertificateVerificationError
		if errors.As(err, &wrong) {
			return faults.Wrap(err, faults.Invalid, "RedfishConnectionError", redfishPrefix+"the BMC's certificate is not trusted: %s", wrong.Err)
		}
		return faults.Wrap(err, faults.Unavailable, "RedfishConnectionError", redfishPrefix+"the BMC could not be reached or answered nonsense")
	}
	kind := faults.Invalid
	switch code := said.HTTPReturnedStatusCode; {
	case code >= 500, code == 408, code == 429, code == 409:
		kind = faults.Unavailable
	}
	return faults.Wrap(err, kind, "RedfishError", redfishPrefix+"the BMC answered with status %d%s", said.HTTPReturnedStatusCode, messageOf(said))
}

// maxMessage bounds what a BMC may have a user read.
const maxMessage = 200

func messageOf(said *common.Error) string {
	text := strings.TrimSpace(said.Message)
	if text == "" {
		return ""
	}
	return ": " + bounded(text)
}

// bounded is what a BMC says, as a user may read it.
func bounded(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// minTLS are the least versions of TLS by their names.
var minTLS = map[string]uint16{"1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// trustOf says which certificates a service may show.
func trustOf(to nodes.Redfish) (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: !to.Verify}
	if v, set := minTLS[to.MinTLS]; set {
		trust.MinVersion = v
	}
	if to.CA == "" {
		return trust, nil
	}
	trust.RootCAs = x509.NewCertPool()
	files := []string{to.CA}
	if info, err := os.Stat(to.CA); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(to.CA, "*")); err != nil {
			return nil, noCA(to.CA, err)
		}
	}
	var found bool
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil && len(files) == 1 {
			return nil, noCA(to.CA, err)
		}
		found = trust.RootCAs.AppendCertsFromPEM(text) || found
	}
	if !found {
		return nil, noCA(to.CA, fs.ErrNotExist)
	}
	return trust, nil
}

func noCA(path string, err error) error {
	return faults.Wrap(err, faults.Invalid, "InvalidParameterValue", "redfish_verify_ca: %q holds no certificates that the conductor can read", path)
}
