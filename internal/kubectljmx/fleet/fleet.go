// Package fleet summarizes exporters, their pods and the JVMs in these: kubectl jmx status.
package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// Exporter is an exporter with its pods.
type Exporter struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Mode      v1alpha1.Mode  `json:"mode,omitempty"`
	Phase     v1alpha1.Phase `json:"phase,omitempty"`
	// Annotated is the number of Annotated pods of the matched ones, such as 3/5.
	Annotated      string `json:"annotated,omitempty"`
	Ready          bool   `json:"ready"`
	Suspended      bool   `json:"suspended,omitempty"`
	advice.Verdict `json:",inline"`
	// Notices is what its scrapes lack or cost.
	Notices []advice.Verdict `json:"notices,omitempty"`
	Pods    []Pod            `json:"pods"`
	// NotRunning are selected pods that do not run, with spec.alerts.checkRunningPods.
	NotRunning []NotRunning `json:"notRunning,omitempty"`
}

// Pod is a pod of an exporter.
type Pod struct {
	Name           string         `json:"name"`
	Attachment     string         `json:"attachment"`
	Node           string         `json:"node,omitempty"`
	Phase          v1alpha1.Phase `json:"phase,omitempty"`
	Ready          bool           `json:"ready"`
	advice.Verdict `json:",inline"`
	Notices        []advice.Verdict `json:"notices,omitempty"`
	JVMs           []JVM            `json:"jvms,omitempty"`
}

// JVM is a Java process of a pod.
type JVM struct {
	Container string         `json:"container"`
	PID       int32          `json:"pid"`
	MainClass string         `json:"mainClass,omitempty"`
	VM        string         `json:"vm,omitempty"`
	Version   string         `json:"version,omitempty"`
	Phase     v1alpha1.Phase `json:"phase,omitempty"`
	Port      int32          `json:"port,omitempty"`
	Primary   bool           `json:"primary,omitempty"`
	Excluded  bool           `json:"excluded,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// NotRunning is a pod that has the labels and does not run.
type NotRunning struct {
	Pod       string `json:"pod"`
	Container string `json:"container,omitempty"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	Docs      string `json:"docs"`
}

// Status returns the exporters of the namespace, of all namespaces if it is empty; with a
// name, only that exporter.
func Status(ctx context.Context, c *cluster.Cluster, namespace, name string) ([]Exporter, error) {
	if name != "" {
		if _, err := c.Exporter(ctx, name); err != nil {
			return nil, err
		}
	}
	exporters, err := c.Exporters(ctx, namespace)
	if err != nil {
		return nil, err
	}
	attachments, err := c.Attachments(ctx, namespace)
	if err != nil {
		return nil, err
	}
	fleet := []Exporter{}
	for i := range exporters.Items {
		if e := &exporters.Items[i]; name == "" || e.Name == name {
			fleet = append(fleet, exporterOf(e, attachments.Items))
		}
	}
	return fleet, nil
}

func exporterOf(e *v1alpha1.PrometheusJmxExporter, attachments []v1alpha1.JmxAttachment) Exporter {
	exporter := Exporter{
		Namespace: e.Namespace, Name: e.Name, Mode: e.Spec.Mode, Phase: e.Status.Phase, Annotated: e.Status.Pods,
		Ready:     meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionReady),
		Suspended: e.Spec.Suspend, Verdict: advice.OfExporter(e), Pods: []Pod{},
	}
	for _, kind := range []string{v1alpha1.ConditionScrapeIncomplete, v1alpha1.ConditionScrapeExpensive} {
		if c := meta.FindStatusCondition(e.Status.Conditions, kind); c != nil {
			exporter.Notices = append(exporter.Notices, advice.Subject{Namespace: e.Namespace, Exporter: e.Name}.Of(c.Reason, c.Message))
		}
	}
	for i := range attachments {
		if a := &attachments[i]; a.Namespace == e.Namespace && a.Spec.Exporter.UID == e.UID {
			exporter.Pods = append(exporter.Pods, PodOf(a))
		}
	}
	for _, p := range e.Status.ProblemPods {
		exporter.NotRunning = append(exporter.NotRunning, NotRunning{
			Pod: p.Pod, Container: p.Container, Reason: p.Reason, Message: p.Message, Docs: advice.NotRunning(),
		})
	}
	return exporter
}

// PodOf returns the pod of a record.
func PodOf(a *v1alpha1.JmxAttachment) Pod {
	subject := advice.Subject{Namespace: a.Namespace, Exporter: a.Spec.Exporter.Name, Pod: a.Spec.Pod.Name}
	pod := Pod{
		Name: a.Spec.Pod.Name, Attachment: a.Name, Node: a.Status.NodeName, Phase: a.Status.Phase,
		Ready: meta.IsStatusConditionTrue(a.Status.Conditions, v1alpha1.ConditionReady),
	}
	if !pod.Ready && a.Status.Reason != "" {
		pod.Verdict = subject.Of(a.Status.Reason, messageOf(a))
	}
	for _, kind := range []string{v1alpha1.ConditionScrapeIncomplete, v1alpha1.ConditionScrapeExpensive} {
		if c := meta.FindStatusCondition(a.Status.Conditions, kind); c != nil {
			pod.Notices = append(pod.Notices, subject.Of(c.Reason, c.Message))
		}
	}
	for i := range a.Status.Processes {
		pod.JVMs = append(pod.JVMs, jvmOf(&a.Status.Processes[i]))
	}
	return pod
}

func jvmOf(p *v1alpha1.JavaProcess) JVM {
	return JVM{
		Container: p.Container, PID: p.PID, MainClass: p.MainClass, VM: p.VM, Version: p.Version, Phase: p.Phase, Port: p.Port,
		Primary: p.Primary, Excluded: p.Excluded, Reason: p.Reason, Message: p.Message,
	}
}

// messageOf returns the message of the condition that status.reason is of.
func messageOf(a *v1alpha1.JmxAttachment) string {
	for _, phase := range append(v1alpha1.Phases(), v1alpha1.ConditionReady) {
		if c := meta.FindStatusCondition(a.Status.Conditions, string(phase)); c != nil && c.Reason == a.Status.Reason {
			return c.Message
		}
	}
	return ""
}
