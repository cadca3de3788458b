// Package kinds lists the kinds of pods and JVMs that the features of TestKinds run
// on a cluster, and what becomes of each. docs/compatibility.md has a row for each.
package kinds

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Kind is a kind of pod, and what becomes of it. Without Reason, it is attached to.
type Kind struct {
	// Name is the name of the feature, and of its namespace.
	Name string
	// Title is the kind's cell in docs/compatibility.md.
	Title string
	// Change makes this kind of the ordinary pod and exporter.
	Change
	// Files are manifests that are applied before, NAMESPACE in them stands for the
	// namespace.
	Files []string
	// NoJava is true where the test application does not run in the pod.
	NoJava bool
	// JVMs is how many JVMs it runs in, if several.
	JVMs int
	// JavaIn is the container that has them, if another one than dummyapp.
	JavaIn string
	// Metric is one that the endpoint serves: that of the test application, if empty.
	Metric string
	// Warned is the image whose JVM prints what JEP 451 wants printed.
	Warned string

	// Transport is the one that is taken; empty where nothing may be executed at all.
	Transport v1alpha1.Transport
	// Phase is the one that is not reached, for Reason; without Reason, the one whose
	// condition is reported, or another condition that is True, JavaFound if empty. Its
	// message has Words.
	Phase  v1alpha1.Phase
	Reason string
	Words  []string
	// Loaded is true where the agent is in the JVM all the same.
	Loaded bool
	// ProvedBy is a test of the same rule that runs every time, without a pod of its own. Where
	// there is one, this kind is left to FULL=1.
	ProvedBy Proof
	// Mended is another change in the place of Change, with which the pod is attached to.
	Mended *Change
	// AtNode is what becomes of it by a node agent, where that is another thing.
	AtNode *Ending
}

// Ending is what becomes of a kind of pod: the fields of Kind.
type Ending struct {
	Phase  v1alpha1.Phase
	Reason string
	Words  []string
}

// Change is a change of the ordinary pod, which has a container dummyapp on Java 17
// with a shell, and of the sample's exporter.
type Change struct {
	// Pod is merged into the pod's spec, by the strategic merge patch of the API.
	Pod string
	// Container is merged into the container.
	Container string
	// Exporter is merged into the exporter's spec.
	Exporter string
}

// Port is the exporter's: that of the sample, or another one.
func (c Change) Port() int32 {
	spec := struct{ Port int32 }{Port: 9400}
	if err := yaml.Unmarshal([]byte(c.Exporter), &spec); err != nil {
		panic(err) // The table is wrong.
	}
	return spec.Port
}

// All are the kinds in the order of docs/compatibility.md.
func All() []Kind { return slices.Concat(containers, filesystems, pods, jvms, processes) }

// suffix ends the names of the kinds of ByNode.
const suffix = "-node"

// ByNode are the kinds as a node agent reaches them, but for those that ask for another
// transport.
func ByNode() []Kind {
	var kinds []Kind
	for _, k := range All() {
		if strings.Contains(k.Exporter, "transport:") || k.Mended != nil && strings.Contains(k.Mended.Exporter, "transport:") {
			continue
		}
		k.Name += suffix
		k.Change = k.atNode()
		if k.Mended != nil {
			k.Mended = new(k.Mended.atNode())
		}
		if k.Transport != "" {
			k.Transport = v1alpha1.TransportNode
		}
		if k.AtNode != nil {
			k.Phase, k.Reason, k.Words = k.AtNode.Phase, k.AtNode.Reason, k.AtNode.Words
			if k.Reason == "" { // nothing is to be mended
				k.Mended = nil
			}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// atNode is the change with an exporter that asks for a node agent.
func (c Change) atNode() Change {
	c.Exporter = strings.TrimPrefix(c.Exporter+"\ntransport: Node", "\n")
	return c
}

// Applications is how many JVMs run the test application.
func (k Kind) Applications() int {
	if k.NoJava {
		return 0
	}
	return max(k.JVMs, 1)
}

const (
	noShell  = `image: "dummyapp:17-noshell"`
	tmpMount = `volumeMounts: [{name: tmp, mountPath: /tmp}]`
	asRoot   = `securityContext: {runAsUser: 0, runAsGroup: 0}`
	java25   = `image: "dummyapp:25"`
)

// options is a change of the container that starts its JVM with these options.
func options(list string) string {
	return "command: [java, " + list + ", -jar, /app/dummyapp.jar]"
}

// script is a change of the container that runs this by its shell.
func script(lines string) string {
	return "command: [sh, -c, " + strconv.Quote(lines) + "]"
}
