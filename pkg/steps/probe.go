package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// MetricsPath is the path under which the exporter serves its metrics.
const MetricsPath = "/metrics"

// ErrForeign is the cause of an Answers to which a foreign process answered.
var ErrForeign = errors.New("a foreign process answers")

// ErrUnreachable is the cause of a Probe that could not connect, or whose connection was
// closed before an answer, as by a service mesh that requires mutual TLS.
var ErrUnreachable = errors.New("unreachable")

// Prober asks an endpoint whether it serves metrics.
type Prober interface {
	// Probe returns nil when the process's port at the address answers as it
	// should, an error that is ErrUnreachable when it cannot be reached, and
	// another *transport.Error when it answers otherwise, or not in time. It
	// ends in bounded time.
	Probe(ctx context.Context, address string, p *v1alpha1.JavaProcess) error
	// Answers asks whether the process still serves the endpoint that its record
	// has. It returns an error that is ErrUnreachable when that cannot be
	// reached, ErrForeign when a foreign process answers, and another one
	// when nobody there speaks HTTP. One who takes the connection and
	// is slow is there: a JVM that collects garbage is the same JVM. It ends in
	// bounded time, and asks for nothing that costs the application more than an
	// answer.
	Answers(ctx context.Context, p *v1alpha1.JavaProcess) error
}

const (
	connectTimeout = 3 * time.Second
	// answerTimeout is Prometheus' own default for a scrape: the agent collects
	// before the first byte.
	answerTimeout = 10 * time.Second
	// healthTimeout is longer than connectTimeout, so that the two can be told
	// apart.
	healthTimeout = 5 * time.Second
	// maxProbed bounds what is read of the answer: it is not parsed, only seen to come,
	// to its end, since the stock exporter prints a stack trace on the application's
	// output when somebody hangs up.
	maxProbed = 16 << 20
)

// HTTPProber asks over HTTP, directly and without following redirects.
type HTTPProber struct {
	client *http.Client
	seam   effects.Seam
	// patience is how long Answers waits for one.
	patience time.Duration
}

// NewHTTPProber returns a Prober whose requests pass the seam.
func NewHTTPProber(seam effects.Seam) *HTTPProber {
	return &HTTPProber{seam: seam, patience: healthTimeout, client: &http.Client{
		Timeout:       connectTimeout + answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// No proxy and no idle connections: each pod is asked once.
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
			ResponseHeaderTimeout:  answerTimeout,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}}
}

// Probe implements Prober.
func (p *HTTPProber) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	host := net.JoinHostPort(address, strconv.Itoa(int(process.Port)))
	path := MetricsPath
	if secured(process) { // the metrics may take credentials, which the operator does not have
		path = healthPath
	}
	effect := effects.Effect{Kind: effects.HTTP, What: "probe", On: host}
	return p.seam(ctx, effect, func(ctx context.Context) error { return p.get(ctx, p.page(process, secured(process), host, path)) })
}

// healthPath is the stock exporter's, and ours.
const healthPath = "/-/healthy"

// Answers implements Prober.
func (p *HTTPProber) Answers(ctx context.Context, process *v1alpha1.JavaProcess) error {
	host := net.JoinHostPort(process.Endpoint.Address, strconv.Itoa(int(process.Endpoint.Port)))
	return p.seam(ctx, effects.Effect{Kind: effects.HTTP, What: "health", On: host}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, p.patience)
		defer cancel()
		response, err := p.ask(ctx, p.page(process, process.Endpoint.TLS, host, healthPath))
		if timedOut(err) && !errors.Is(err, ErrUnreachable) {
			return nil
		}
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if foreign(process, response) {
			return ErrForeign
		}
		return nil
	})
}

// foreign reports whether an answer for its health comes from another process than
// the one asked, as far as can be told. An identity proves it. That there is none
// does where our agent was told one: the stock exporter, and an agent that was told
// none, show none. It proves nothing in an answer that a proxy or a service mesh
// may give in front of the agent: one that refuses, redirects or fails.
func foreign(p *v1alpha1.JavaProcess, answer *http.Response) bool {
	if who := answer.Header.Get(helperapi.IdentityHeader); who != "" {
		return who != cmp.Or(p.Identity, Fingerprint(p))
	}
	return p.Identity != "" && (answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusNotFound)
}

// page is where something is asked for, and the client to ask with.
type page struct {
	client *http.Client
	url    url.URL
}

func (p *HTTPProber) page(of *v1alpha1.JavaProcess, tls bool, host, path string) page {
	if tls {
		return page{pinned(p.client, of.CertificateSHA256), url.URL{Scheme: "https", Host: host, Path: path}}
	}
	return page{p.client, url.URL{Scheme: "http", Host: host, Path: path}}
}

func (p *HTTPProber) ask(ctx context.Context, page page) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.url.String(), nil)
	if err != nil {
		return nil, err
	}
	var answered atomic.Bool
	request = request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }}))
	response, err := page.client.Do(request)
	if err != nil && !errors.Is(err, ErrForeign) && !answered.Load() && (notConnected(err) || !timedOut(err)) {
		err = errors.Join(ErrUnreachable, err)
	}
	return response, err
}

func (p *HTTPProber) get(ctx context.Context, page page) error {
	path := page.url.Path
	response, err := p.ask(ctx, page)
	switch {
	case errors.Is(err, ErrUnreachable):
		return notServing("The endpoint cannot be reached.", err)
	case errors.Is(err, ErrForeign):
		return notServing("A foreign process answers at the endpoint: its certificate is not the agent's.", err)
	case err != nil:
		return notServing(fmt.Sprintf("%s does not answer within %s, or does not speak HTTP.", path, answerTimeout), err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return notServing(fmt.Sprintf("%s answers with HTTP status %d instead of 200.", path, response.StatusCode), nil)
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxProbed)); err != nil {
		return notServing(path+" closes the connection before the response is complete.", err)
	}
	return nil
}

func notConnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func notServing(message string, err error) error {
	return &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: message, Err: err}
}
