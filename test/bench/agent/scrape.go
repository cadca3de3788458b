//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A scraper asks as Prometheus does: on one connection, for OpenMetrics, gzipped.
type scraper struct {
	url    string
	series int
	client http.Client
}

func newScraper(port, series int) *scraper {
	return &scraper{fmt.Sprintf("http://127.0.0.1:%d/metrics", port), series, http.Client{Timeout: time.Minute}}
}

// scrape returns how long it took to have the answer, and fails if that does not
// have all series of the application.
func (s *scraper) scrape(ctx context.Context) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2")
	request.Header.Set("Accept-Encoding", "gzip")
	start := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	compressed, err := io.ReadAll(response.Body)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the scrape failed: %s", response.Status)
	}
	body, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(body)
	if found := bytes.Count(text, []byte("\nbench_")); err == nil && found != s.series {
		err = fmt.Errorf("the scrape has %d series of %d", found, s.series)
	}
	return took, err
}
