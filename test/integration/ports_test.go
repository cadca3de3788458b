package integration

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The port of each JVM of a pod, and the effect of a change of spec.port.
func TestPortsOfSeveral(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pod     func() *podBuilder
		port    int32
		busy    []int32
		want    []string
		changed int32 // the new spec.port; no change if 0
		then    []string
	}{
		"one port is set, one is chosen":           {pod: withWorker, port: 9400, want: []string{"9400", "9404"}},
		"no port is set":                           {pod: withWorker, want: []string{"9404", "9405"}},
		"no port is set for a single JVM":          {pod: func() *podBuilder { return aPod("app-0") }, want: []string{"9404"}},
		"the first choices are in use":             {pod: withWorker, port: 9400, busy: []int32{9404, 9405}, want: []string{"9400", "9406"}},
		"the port that is set is the first choice": {pod: withWorker, port: 9404, want: []string{"9404", "9405"}},
		"there are three JVMs": {
			pod:  func() *podBuilder { return withWorker().container("third", aJVM(javaStartTime+2)) },
			port: 9400, want: []string{"9400", "9404", "9405"},
		},
		"two JVMs are in one container": {
			pod: func() *podBuilder {
				p := aPod("app-0")
				second := aJVM(javaStartTime + 1)
				second.PID++
				p.jvms["app"] = append(p.jvms["app"], second)
				return p
			},
			port: 9400, want: []string{"9400", "9404"},
		},
		"another port is set":          {pod: withWorker, port: 9400, want: []string{"9400", "9404"}, changed: 9500, then: []string{"9500", "9404"}},
		"a port is set where none was": {pod: withWorker, want: []string{"9404", "9405"}, changed: 9500, then: []string{"9500", "9405"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := tc.pod()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(pod)
			s.container(s.pod).Busy = tc.busy
			s.configure(rules)
			s.exporter = s.anExporter("exporter")
			s.exporter.Spec.Port = tc.port
			create(t, s.exporter)
			o.settle()
			s.areAnnotated(tc.want...)
			if tc.changed != 0 {
				change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = tc.changed })
				o.settle()
				s.areAnnotated(tc.then...)
			}
			s.prove(o)
			if o.did(); o.settle() != 0 || o.count() > 0 {
				t.Errorf("effects without a change: got %q, want none", o.did())
			}
		})
	}
}

// The port of the exporter is reserved for the first JVM, even while that JVM cannot be
// attached to yet: the second JVM does not choose it.
func TestPromisedPort(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(withWorker())
	s.jvm(s.pod).Fault = fault(v1alpha1.ReasonAttachTimeout)
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	s.exporter.Spec.Port = helperapi.FirstPort
	create(t, s.exporter)
	o.settle()
	s.jvm(s.pod).Fault = nil
	o.outlast()
	s.areAnnotated("9404", "9405")
}
