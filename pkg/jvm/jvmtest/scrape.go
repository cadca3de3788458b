package jvmtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Scrape returns the metrics that a port of this host serves; empty if it serves none.
func Scrape(ctx context.Context, port int32) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}
