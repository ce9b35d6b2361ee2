package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/config"
)

// freeAddress is a loopback address that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	return socket.Addr().String()
}

// A stopping server answers the request that runs, and takes no other.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		_, _ = io.WriteString(w, "answered") // the reader checks what came
	})
	address := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, slog.New(slog.DiscardHandler), time.Minute,
			listener{name: "test", address: address, handler: handler, longest: time.Minute}, listener{name: "nowhere"})
	}()
	answers := make(chan string, 1)
	go func() { answers <- get(address) }()
	<-began
	stop()
	for refused(address) == false {
		time.Sleep(5 * time.Millisecond)
	}
	close(finish)
	if got := <-answers; got != "200 OK answered" {
		t.Errorf("the running request got %q", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// get asks until somebody listens.
func get(address string) string {
	for {
		answer, err := http.Get("http://" + address)
		if err != nil && strings.Contains(err.Error(), "refused") {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err.Error()
		}
		return answer.Status + " " + string(text)
	}
}

func refused(address string) bool {
	socket, err := net.Dial("tcp", address)
	if err == nil {
		_ = socket.Close()
	}
	return err != nil
}

func TestServeSaysWhatItCantListenOn(t *testing.T) {
	t.Parallel()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	err = serve(t.Context(), slog.New(slog.DiscardHandler), time.Second,
		listener{name: "first", address: freeAddress(t), handler: http.NotFoundHandler(), longest: time.Second},
		listener{name: "service APIs", address: socket.Addr().String(), handler: http.NotFoundHandler(), longest: time.Second})
	if err == nil || !strings.HasPrefix(err.Error(), "listen for service APIs: ") {
		t.Errorf("got %v", err)
	}
}

// Without a way to check tokens the API doesn't start.
func TestNoTokensNoAPI(t *testing.T) {
	t.Parallel()
	p := &process{cfg: &config.Config{}, log: slog.New(slog.DiscardHandler)}
	if _, _, err := p.authenticator(); err == nil || !strings.Contains(err.Error(), "dev.static_tokens") {
		t.Errorf("got %v", err)
	}
}

func TestHostSpecs(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Host: config.Host{Name: "sim", StateDir: "/state", Driver: "simulated"}}
	one, err := hostSpecs(cfg, 1)
	if err != nil || len(one) != 1 || one[0].Name != "sim" || one[0].StateDir != "/state" {
		t.Errorf("one: %+v, %v", one, err)
	}
	three, err := hostSpecs(cfg, 3)
	if err != nil || len(three) != 3 || three[2].Name != "sim-3" || three[2].StateDir != filepath.Join("/state", "sim-3") {
		t.Errorf("three: %+v, %v", three, err)
	}
	for _, c := range []struct {
		host  config.Host
		count int
		want  string
	}{
		{config.Host{Name: "sim", StateDir: "/state", Driver: "simulated"}, 0, "--hosts"},
		{config.Host{Name: "sim", Driver: "simulated"}, 1, "host.state_dir is not set"},
		{config.Host{Name: "sim", StateDir: "/state", Driver: "xen"}, 1, "must be libvirt, simulated or ironic"},
	} {
		if _, err := hostSpecs(&config.Config{Host: c.host}, c.count); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v x %d: %v, want %q in it", c.host, c.count, err, c.want)
		}
	}
}
