package dataplane

// The metadata proxy of one network. The network proves who asks: in a
// namespace, only its ports reach the listener.

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"holdfast.dev/dev/netns"
)

type proxy struct {
	server *http.Server
	done   chan struct{}
	ports  atomic.Pointer[map[netip.Addr]Port]
}

// startProxy listens in a namespace and forwards to the metadata service.
func startProxy(namespace, metadataURL, secret string, log *slog.Logger) (*proxy, error) {
	target, err := url.Parse(metadataURL)
	if err != nil {
		return nil, fmt.Errorf("the metadata service's address: %w", err)
	}
	listener, err := netns.Listen(namespace, metadataIP+":80")
	if err != nil {
		return nil, err
	}
	p := &proxy{done: make(chan struct{})}
	p.know(Network{})
	const longestRequest = 64 << 10
	p.server = &http.Server{Handler: http.MaxBytesHandler(p.handler(target, secret, log), longestRequest),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(listener); err != http.ErrServerClosed {
			log.Error("a metadata proxy ended", "namespace", namespace, "error", err)
		}
	}()
	return p, nil
}

func (p *proxy) stop() {
	if p == nil {
		return
	}
	_ = p.server.Close() // what is asked in this moment isn't answered
	<-p.done
}

// know takes the ports that may ask.
func (p *proxy) know(n Network) {
	ports := map[netip.Addr]Port{}
	for _, port := range n.Ports {
		for _, a := range port.Addresses {
			if port.Device != "" {
				ports[a.IP] = port
			}
		}
	}
	p.ports.Store(&ports)
}

// Headers by which the metadata service knows who asks; a guest's own are
// replaced.
const (
	instanceHeader  = "X-Instance-ID"
	tenantHeader    = "X-Tenant-ID"
	signatureHeader = "X-Instance-ID-Signature"
	forwardedHeader = "X-Forwarded-For"
)

func (p *proxy) handler(target *url.URL, secret string, log *slog.Logger) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			from, port, _ := p.asker(r.In)
			signature := hmac.New(sha256.New, []byte(secret))
			signature.Write([]byte(port.Device))
			r.Out.Header.Set(forwardedHeader, from.String())
			r.Out.Header.Set(instanceHeader, port.Device)
			r.Out.Header.Set(tenantHeader, port.Project)
			r.Out.Header.Set(signatureHeader, hex.EncodeToString(signature.Sum(nil)))
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			log.Warn("the metadata service can't be reached", "error", err)
			http.Error(w, "An unknown error has occurred. Please try your request again.", http.StatusInternalServerError)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, known := p.asker(r); !known {
			http.Error(w, "404 Not Found", http.StatusNotFound)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
		defer cancel()
		forward.ServeHTTP(w, r.WithContext(ctx))
	})
}

// asker is the port that a request comes from.
func (p *proxy) asker(r *http.Request) (netip.Addr, Port, bool) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, Port{}, false
	}
	address := from.Addr().Unmap()
	port, known := (*p.ports.Load())[address]
	return address, port, known
}
