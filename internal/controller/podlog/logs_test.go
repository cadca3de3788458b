package podlog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// A read that takes too long is known as such, before the kubelet answers and after it began to.
func TestPodLogsThatHang(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"without an answer": func(http.ResponseWriter) {},
		"within the log":    func(w http.ResponseWriter) { fmt.Fprintln(w, "line"); w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				begin(w)
				<-r.Context().Done()
			}))
			defer server.Close()
			clientset, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			soon := func(ctx context.Context, _ effects.Effect, do func(context.Context) error) error {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				return do(ctx)
			}
			_, err = NewPodLogs(clientset.CoreV1(), soon).Tail(t.Context(), types.NamespacedName{Namespace: "shop", Name: "app-0"}, "app", 7, true)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v, want the exceeded deadline", err)
			}
		})
	}
}

// The possible answers of an API server to a request for a log.
func TestPodLogs(t *testing.T) {
	status := func(code int, reason metav1.StatusReason) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
		}
	}
	cases := map[string]struct {
		answer    http.HandlerFunc
		want      string
		fails     bool
		forbidden bool
	}{
		"the log is returned": {
			answer: func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL) },
			want:   "/api/v1/namespaces/shop/pods/app-0/log?container=app&limitBytes=262144&previous=true&tailLines=7",
		},
		"the log is endless": {
			answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1<<20)) },
			want:   strings.Repeat("x", maxRead),
		},
		"the instance does not exist": {answer: status(http.StatusBadRequest, metav1.StatusReasonBadRequest)},
		"the pod does not exist":      {answer: status(http.StatusNotFound, metav1.StatusReasonNotFound)},
		"the request is forbidden":    {answer: status(http.StatusForbidden, metav1.StatusReasonForbidden), fails: true, forbidden: true},
		"the kubelet does not answer": {answer: status(http.StatusInternalServerError, metav1.StatusReasonInternalError), fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.answer)
			defer server.Close()
			clientset, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			var did []string
			seam := func(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
				did = append(did, effect.String())
				if _, ok := ctx.Deadline(); !ok {
					t.Error("the request has no deadline")
				}
				return do(ctx)
			}
			logs := NewPodLogs(clientset.CoreV1(), seam)
			got, err := logs.Tail(t.Context(), types.NamespacedName{Namespace: "shop", Name: "app-0"}, "app", 7, true)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if err != nil != tc.fails || errors.Is(err, ErrForbidden) != tc.forbidden {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff([]string{"logs tail shop/app-0/app"}, did); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}
