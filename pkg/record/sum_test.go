package record

import (
	"github.com/google/go-cmp/cmp"

	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

const (
	Discovered = statemachine.Phase(v1alpha1.PhaseDiscovered)
	JavaFound  = statemachine.Phase(v1alpha1.PhaseJavaFound)
	Staged     = statemachine.Phase(v1alpha1.PhaseStaged)
	Loaded     = statemachine.Phase(v1alpha1.PhaseLoaded)
	Exposed    = statemachine.Phase(v1alpha1.PhaseExposed)
	Annotated  = statemachine.Phase(v1alpha1.PhaseAnnotated)
)

// A pod's phase is that of its least advanced JVM, except for JVMs that need a person; a
// JVM that halts a rollout always counts.
func TestSum(t *testing.T) {
	const (
		discovered, found, staged, loaded = v1alpha1.PhaseDiscovered, v1alpha1.PhaseJavaFound, v1alpha1.PhaseStaged, v1alpha1.PhaseLoaded
	)
	other := serving("b", 9404)
	all := func(processes ...v1alpha1.JavaProcess) []v1alpha1.JavaProcess { return processes }
	for name, tc := range map[string]struct {
		pod       statemachine.Phase
		processes []v1alpha1.JavaProcess
		want      string
	}{
		"the pod is before JavaFound":                    {Discovered, all(failing("a", staged, v1alpha1.ReasonPortInUse)), "Discovered"},
		"there is one JVM":                               {JavaFound, all(failing("a", staged, v1alpha1.ReasonPortInUse)), "Staged PortInUse No."},
		"there is one JVM, which was not tried yet":      {JavaFound, all(aProcess("a", 0)), "JavaFound"},
		"all JVMs are exposed":                           {Loaded, all(serving("a", 9400), other), "Exposed"},
		"all JVMs are exposed, and the pod is annotated": {Annotated, all(serving("a", 9400), other), "Annotated"},
		"one JVM is less advanced":                       {JavaFound, all(failing("a", loaded, v1alpha1.ReasonEndpointPending), failing("b", staged, v1alpha1.ReasonPortInUse)), "Staged PortInUse Container b, process 7: No."},
		"two JVMs are equally advanced":                  {JavaFound, all(failing("a", staged, v1alpha1.ReasonPortInUse), failing("b", staged, v1alpha1.ReasonNoSpace)), "Staged PortInUse Container a, process 7: No."},
		"one JVM regresses":                              {Annotated, all(serving("a", 9400), failing("b", staged, v1alpha1.ReasonAgentFailed)), "Staged AgentFailed Container b, process 7: No."},
		"one JVM is starting":                            {JavaFound, all(failing("a", discovered, v1alpha1.ReasonJVMStarting), serving("b", 9404)), "JavaFound JVMStarting Container a, process 7: No."},
		"one JVM needs a person":                         {Exposed, all(serving("a", 9400), failing("b", staged, v1alpha1.ReasonForeignJar)), "Exposed"},
		"one JVM refuses":                                {Exposed, all(serving("a", 9400), failing("b", discovered, v1alpha1.ReasonAttachDisabled)), "Exposed"},
		"one JVM fails, and one needs a person":          {JavaFound, all(failing("a", loaded, v1alpha1.ReasonPortInUse), failing("b", staged, v1alpha1.ReasonForeignJar)), "Loaded PortInUse Container a, process 7: No."},
		"one JVM rejects the configuration":              {Annotated, all(serving("a", 9400), failing("b", staged, v1alpha1.ReasonConfigRejected)), "Staged ConfigRejected Container b, process 7: No."},
		"one JVM has a rule that is too expensive":       {Annotated, all(serving("a", 9400), failing("b", staged, v1alpha1.ReasonRuleTooExpensive)), "Staged RuleTooExpensive Container b, process 7: No."},
		"one JVM restarted after an attach":              {Annotated, all(serving("a", 9400), failing("b", found, v1alpha1.ReasonRestartedAfterAttach)), "JavaFound RestartedAfterAttach Container b, process 7: No."},
		"the only JVM needs a person":                    {JavaFound, all(failing("a", staged, v1alpha1.ReasonForeignJar)), "Staged ForeignJar No."},
		"two JVMs need a person":                         {JavaFound, all(failing("a", staged, v1alpha1.ReasonForeignJar), failing("b", found, v1alpha1.ReasonAgentDirectoryNotTrusted)), "JavaFound AgentDirectoryNotTrusted Container b, process 7: No."},
		"the only JVM needs a person by now":             {Annotated, all(failing("a", found, v1alpha1.ReasonAgentDirectoryNotTrusted)), "JavaFound AgentDirectoryNotTrusted No."},
		"one JVM is excluded":                            {Annotated, all(serving("a", 9400), with(failing("b", found, v1alpha1.ReasonPortInUse), excluded)), "Annotated"},
		"one JVM fails, and one is excluded":             {JavaFound, all(failing("a", staged, v1alpha1.ReasonPortInUse), with(aProcess("b", 0), excluded)), "Staged PortInUse No."},
	} {
		state := of(tc.processes...).Sum(statemachine.State{Phase: tc.pod})
		got := string(state.Phase)
		if state.Reason != "" {
			got += " " + state.Reason + " " + state.Message
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// The pod's own state is kept when all of its JVMs are exposed.
func TestSumKeepsThePods(t *testing.T) {
	pod := statemachine.State{
		Phase: Exposed, Reason: v1alpha1.ReasonAnnotationConflict, Message: "No.",
		Attempt: &statemachine.Attempt{Key: "k", Phase: Annotated, Count: 3},
	}
	if diff := cmp.Diff(pod, of(serving("app", 9400)).Sum(pod)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// The messages of conditions that hold.
func TestHeld(t *testing.T) {
	app := with(serving("app", 9400), func(p *v1alpha1.JavaProcess) {
		p.VM, p.Version, p.MainClass, p.Warning = "HotSpot", "21.0.2", "com.example.Main", "A warning."
	})
	stock := v1alpha1.JavaProcess{Container: "stock", Phase: v1alpha1.PhaseExposed, VM: "HotSpot", Adopted: true, Port: 9999}
	worker := with(serving("worker", 9404), func(p *v1alpha1.JavaProcess) { p.VM, p.Warning = "HotSpot", "A warning." })
	fromPod := with(app, func(p *v1alpha1.JavaProcess) {
		p.Endpoint = &v1alpha1.Endpoint{Port: 9400, CheckedFrom: v1alpha1.CheckedFromPod}
	})
	refused := with(failing("app", v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar), func(p *v1alpha1.JavaProcess) { p.VM = "HotSpot" })
	tested := map[v1alpha1.Phase]bool{}
	for name, tc := range map[string]struct {
		phase     statemachine.Phase
		processes []v1alpha1.JavaProcess
		reason    string
		message   string
	}{
		"the pod is selected":                 {Discovered, nil, v1alpha1.ReasonSelected, "PrometheusJmxExporter shop selects the pod."},
		"a JVM is found":                      {JavaFound, []v1alpha1.JavaProcess{app}, v1alpha1.ReasonJVMIdentified, "HotSpot 21.0.2 runs com.example.Main in container app."},
		"two JVMs are found":                  {JavaFound, []v1alpha1.JavaProcess{app, worker}, v1alpha1.ReasonJVMIdentified, "HotSpot 21.0.2 runs com.example.Main in container app. HotSpot runs a Java program in container worker."},
		"two JVMs are found, and one refuses": {JavaFound, []v1alpha1.JavaProcess{worker, refused}, v1alpha1.ReasonJVMIdentified, "HotSpot runs a Java program in container worker. Skipped container app: ForeignJar."},
		"a JVM is found, and refuses":         {JavaFound, []v1alpha1.JavaProcess{refused}, v1alpha1.ReasonJVMIdentified, "HotSpot runs a Java program in container app."},
		"two JVMs are found, and one is excluded": {
			JavaFound, []v1alpha1.JavaProcess{worker, with(app, excluded)},
			v1alpha1.ReasonJVMIdentified, "HotSpot runs a Java program in container worker.",
		},
		"files are staged":                      {Staged, []v1alpha1.JavaProcess{app, worker, stock}, v1alpha1.ReasonFilesVerified, "The agent and its configuration are staged and verified in container app, worker."},
		"files are staged, and the JVM refuses": {Staged, []v1alpha1.JavaProcess{refused}, v1alpha1.ReasonFilesVerified, "The agent and its configuration are staged and verified in container app."},
		"nothing is staged for an adopted JVM":  {Staged, []v1alpha1.JavaProcess{stock}, v1alpha1.ReasonAdopted, "Nothing is staged; the stock exporter is adopted as it is."},
		"the agent serves":                      {Loaded, []v1alpha1.JavaProcess{app, worker}, v1alpha1.ReasonAgentServing, "The agent serves port 9400, 9404. A warning. " + AdviceOnWarning},
		"the adopted JVM serves":                {Loaded, []v1alpha1.JavaProcess{stock}, v1alpha1.ReasonAdopted, "The stock exporter serves port 9999 with its own configuration; it is exposed as it is."},
		"the endpoint is exposed":               {Exposed, []v1alpha1.JavaProcess{app}, v1alpha1.ReasonEndpointPublished, "/metrics answers on port 9400 and is listed in an EndpointSlice."},
		"the endpoint is exposed, and unreachable": {
			Exposed, []v1alpha1.JavaProcess{fromPod}, v1alpha1.ReasonEndpointPublished,
			"/metrics answers on port 9400 and is listed in an EndpointSlice. The probe runs inside the pod because the operator cannot reach the endpoint; a NetworkPolicy or service mesh may block Prometheus, too. A JVM that is replaced while its container runs is detected when the pod becomes ready again, or at the next change.",
		},
		"the pod is annotated": {Annotated, []v1alpha1.JavaProcess{app}, v1alpha1.ReasonAnnotationsApplied, "The pod carries prometheus.io/scrape, port and path."},
	} {
		tested[v1alpha1.Phase(tc.phase)] = true
		want := statemachine.Held{Reason: tc.reason, Message: tc.message}
		if diff := cmp.Diff(want, of(tc.processes...).Held(tc.phase)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, phase := range v1alpha1.Phases() {
		if !tested[phase] {
			t.Errorf("no row for the phase %s", phase)
		}
	}
}
