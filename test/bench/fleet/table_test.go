//go:build linux

package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := parse("500:1,2000:20:9000")
	if diff := cmp.Diff([]size{{500, 1, 0}, {2000, 20, 9000}}, got); err != nil || diff != "" {
		t.Errorf("sizes: %v (-want +got):\n%s", err, diff)
	}
	for _, wrong := range []string{"", "500", "500:0", "1:2", "a:b", "2:1:-1", "2:1:0:0"} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// A goal is met if all fleets meet it.
func TestTable(t *testing.T) {
	cheap := result{size: size{10, 1, 0}, Cold: work{Requests: map[string]int64{"PATCH pods": 10, "exec": 50}}}
	dear := result{size: size{20, 2, 20}, Cold: work{Requests: map[string]int64{"PATCH pods": 20, "exec": 180}}}
	for want, all := range map[string][]result{
		"| requests per pod, first attach | 6.0 | ≤ 6 | met |":               {cheap},
		"| requests per pod, first attach | 6.0 | 10.0 | ≤ 6 | **missed** |": {cheap, dear},
		"| pods, exporters | 10, 1 | 20 of 40, 2 | goal | |":                 {cheap, dear},
		"| exec | 9.00 | 0.00 |":                                             {cheap, dear},
	} {
		if text := table(all, time.Unix(0, 0)); !strings.Contains(text, want+"\n") {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

// Requests are counted by method, resource and subresource.
func TestKinds(t *testing.T) {
	for request, want := range map[string]string{
		"GET /api/v1/namespaces/a/pods/p":                                                      "GET pods",
		"POST /apis/events.k8s.io/v1/namespaces/a/events":                                      "POST events",
		"PATCH /apis/banzaicloud.com/v1alpha1/namespaces/a/jmxattachments/p/status?x=1":        "PATCH jmxattachments/status",
		"GET /api/v1/namespaces/a/pods?watch=true":                                             "",
		"POST /api/v1/namespaces/a/pods/p/exec?stdin=true":                                     "",
		"PATCH /apis/banzaicloud.com/v1alpha1/namespaces/a/prometheusjmxexporters/turn/status": "",
		"PATCH /api/v1/namespaces/a/services/turn-jmx-1234":                                    "",
		"GET /apis/discovery.k8s.io/v1":                                                        "",
	} {
		method, url, _ := strings.Cut(request, " ")
		if got := kindOf(httptest.NewRequestWithContext(t.Context(), method, url, nil)); got != want {
			t.Errorf("%s is counted as %q, want %q", request, got, want)
		}
	}
}
