package probe

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
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const (
	connectTimeout = 3 * time.Second
	// answerTimeout is the default scrape timeout of Prometheus: the agent collects
	// before it sends the first byte.
	answerTimeout = 10 * time.Second
	// healthTimeout is longer than connectTimeout, so that the two can be distinguished.
	healthTimeout = 5 * time.Second
	// maxProbed limits how much of the response is read. The response is not parsed, but
	// read to its end, as Prometheus does.
	maxProbed = 16 << 20
)

// HTTP probes over HTTP, directly and without following redirects.
type HTTP struct {
	client *http.Client
	seam   effects.Seam
	// patience is the timeout of Answers.
	patience time.Duration
}

// NewHTTP returns a Prober whose requests pass through the seam.
func NewHTTP(seam effects.Seam) *HTTP {
	return &HTTP{seam: seam, patience: healthTimeout, client: &http.Client{
		Timeout:       connectTimeout + answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// No proxy and no idle connections: each pod is probed once.
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
			ResponseHeaderTimeout:  answerTimeout,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}}
}

// Probe implements Prober.
func (p *HTTP) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	host := net.JoinHostPort(address, strconv.Itoa(int(process.Port)))
	effect := effects.Effect{Kind: effects.HTTP, What: "probe", On: host}
	return p.seam(ctx, effect, func(ctx context.Context) error { return p.get(ctx, process, host, Path(process)) })
}

// Path returns the path to probe at an endpoint. It is the health page where the
// metrics may need credentials, which the operator does not have, and for the stock
// exporter, which prints a stack trace on the application's output when a client gives up
// on a slow collection.
func Path(p *v1alpha1.JavaProcess) string {
	if record.Secured(p) || p.Adopted {
		return healthPath
	}
	return MetricsPath
}

// healthPath is the health endpoint of both the stock exporter and the operator's agent.
const healthPath = "/-/healthy"

// Answers implements Prober.
func (p *HTTP) Answers(ctx context.Context, process *v1alpha1.JavaProcess) (notices *helperapi.Notices, err error) {
	host := net.JoinHostPort(process.Endpoint.Address, strconv.Itoa(int(process.Endpoint.Port)))
	err = p.seam(ctx, effects.Effect{Kind: effects.HTTP, What: "health", On: host}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, p.patience)
		defer cancel()
		response, err := p.ask(ctx, process, process.Endpoint.TLS, host, healthPath)
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
		notices = noticesIn(response)
		return nil
	})
	return notices, err
}

// noticesIn returns the notices in a health response that is not foreign; nil if it is not
// from the operator's agent, as far as that can be determined, or from an older one.
func noticesIn(answer *http.Response) *helperapi.Notices {
	said := answer.Header.Values(helperapi.NoticesHeader)
	if answer.StatusCode != http.StatusOK || answer.Header.Get(helperapi.IdentityHeader) == "" || len(said) != 1 {
		return nil
	}
	return helperapi.ParseNotices(said[0])
}

// foreign reports whether a health response comes from a different process, as far as
// that can be determined. A different identity proves it. A missing identity proves it
// if the operator gave the agent one; the stock exporter, and an agent without an
// identity, send none. A response that refuses, redirects or fails proves nothing, since
// a proxy or service mesh in front of the agent may send it.
func foreign(p *v1alpha1.JavaProcess, answer *http.Response) bool {
	if who := answer.Header.Get(helperapi.IdentityHeader); who != "" {
		return who != cmp.Or(p.Identity, record.Fingerprint(p))
	}
	return p.Identity != "" && (answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusNotFound)
}

func (p *HTTP) ask(ctx context.Context, process *v1alpha1.JavaProcess, tls bool, host, path string) (*http.Response, error) {
	client, page := p.client, url.URL{Scheme: "http", Host: host, Path: path}
	if tls {
		client, page.Scheme = pinned(p.client, process.CertificateSHA256), "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), nil)
	if err != nil {
		return nil, err
	}
	var answered atomic.Bool
	request = request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }}))
	response, err := client.Do(request)
	if err != nil && !errors.Is(err, ErrForeign) && !answered.Load() && (notConnected(err) || !timedOut(err)) {
		err = errors.Join(ErrUnreachable, err)
	}
	return response, err
}

func (p *HTTP) get(ctx context.Context, process *v1alpha1.JavaProcess, host, path string) error {
	response, err := p.ask(ctx, process, record.Secured(process), host, path)
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
