package integration

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Which port each JVM of a pod serves, and what a change of the port changes.
func TestPortsOfSeveral(t *testing.T) {
	cases := map[string]struct {
		pod     func() *podBuilder
		port    int32
		busy    []int32
		want    []string
		changed int32 // the exporter's port to be; none if 0
		then    []string
	}{
		"one named, one chosen":     {pod: withWorker, port: 9400, want: []string{"9400", "9404"}},
		"none named":                {pod: withWorker, want: []string{"9404", "9405"}},
		"a single JVM, none named":  {pod: func() *podBuilder { return aPod("app-0") }, want: []string{"9404"}},
		"the first choice is taken": {pod: withWorker, port: 9400, busy: []int32{9404, 9405}, want: []string{"9400", "9406"}},
		"the named is the first":    {pod: withWorker, port: 9404, want: []string{"9404", "9405"}},
		"three": {
			pod:  func() *podBuilder { return withWorker().container("third", aJVM(javaStartTime+2)) },
			port: 9400, want: []string{"9400", "9404", "9405"},
		},
		"in one container": {
			pod: func() *podBuilder {
				p := aPod("app-0")
				second := aJVM(javaStartTime + 1)
				second.PID++
				p.jvms["app"] = append(p.jvms["app"], second)
				return p
			},
			port: 9400, want: []string{"9400", "9404"},
		},
		"another is named":            {pod: withWorker, port: 9400, want: []string{"9400", "9404"}, changed: 9500, then: []string{"9500", "9404"}},
		"one is named where none was": {pod: withWorker, want: []string{"9404", "9405"}, changed: 9500, then: []string{"9500", "9405"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := tc.pod()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(pod)
			s.container(s.pod).busy = tc.busy
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
				t.Errorf("at rest it did %q", o.did())
			}
		})
	}
}

// The exporter's port is promised to the first JVM, also while that cannot be
// attached to yet: the second does not choose it.
func TestPromisedPort(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(withWorker())
	s.jvm(s.pod).fault = fault(v1alpha1.ReasonAttachTimeout)
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	s.exporter.Spec.Port = helperapi.FirstPort
	create(t, s.exporter)
	o.settle()
	s.jvm(s.pod).fault = nil
	o.outlast()
	s.areAnnotated("9404", "9405")
}
