// Package describe describes one pod with everything known about it: kubectl jmx why.
package describe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/fleet"
)

// Description is what is known of a pod.
type Description struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Exporter  string `json:"exporter,omitempty"`
	// Record is the pod as its record describes it; absent without a record.
	Record *fleet.Pod `json:"record,omitempty"`
	// Unrecorded says why there is no record.
	Unrecorded *advice.Verdict `json:"unrecorded,omitempty"`
	Conditions []Condition     `json:"conditions,omitempty"`
	// Skipped are the containers that cannot be inspected.
	Skipped []Skipped `json:"skipped,omitempty"`
	// Restart says how a container exited soon after an attach.
	Restart  string             `json:"restart,omitempty"`
	Attempts []v1alpha1.Attempt `json:"attempts,omitempty"`
	Events   []Event            `json:"events"`
	// EventsOmitted says why the Events are not known.
	EventsOmitted string `json:"eventsOmitted,omitempty"`
}

// Condition is a condition of the record.
type Condition struct {
	metav1.Condition `json:",inline"`
	Docs             string `json:"docs"`
}

// Skipped is a container that cannot be inspected.
type Skipped struct {
	Container string `json:"container"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	Docs      string `json:"docs"`
}

// Pod returns the description of a pod.
func Pod(ctx context.Context, c *cluster.Cluster, name string) (*Description, error) {
	pod := &corev1.Pod{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, pod)
	if apierrors.IsNotFound(err) {
		pod = nil
	} else if err != nil {
		return nil, cluster.Explain(err)
	}
	record, err := c.Attachment(ctx, name)
	if err != nil {
		return nil, err
	}
	description := &Description{Namespace: c.Namespace, Pod: name, Events: []Event{}}
	if record == nil {
		if description.Unrecorded, err = unrecorded(ctx, c, pod, name); err != nil {
			return nil, err
		}
	} else {
		description.add(record)
	}
	var about []string
	if pod != nil {
		about = append(about, string(pod.UID))
	}
	if record != nil {
		about = append(about, string(record.UID))
	}
	description.Events, err = events(ctx, c, about)
	if apierrors.IsForbidden(err) {
		description.EventsOmitted = cluster.Explain(err).Error()
		return description, nil
	}
	return description, err
}

func (d *Description) add(record *v1alpha1.JmxAttachment) {
	pod := fleet.PodOf(record)
	d.Record, d.Exporter = &pod, record.Spec.Exporter.Name
	kinds := v1alpha1.Phases()
	for _, kind := range append(kinds, v1alpha1.ConditionReady, v1alpha1.ConditionScrapeIncomplete, v1alpha1.ConditionScrapeExpensive) {
		if c := meta.FindStatusCondition(record.Status.Conditions, string(kind)); c != nil {
			d.Conditions = append(d.Conditions, Condition{*c, advice.Link(c.Reason)})
		}
	}
	for _, c := range record.Status.Containers {
		if c.Reason != "" {
			d.Skipped = append(d.Skipped, Skipped{c.Name, c.Reason, c.Message, advice.Link(c.Reason)})
		}
		d.attempted(c.Attempt)
	}
	for _, p := range record.Status.Processes {
		d.attempted(p.Attempt)
	}
	d.attempted(record.Status.Attempt)
	if r := record.Status.Restart; r != nil {
		d.Restart = r.Message
	}
}

func (d *Description) attempted(a *v1alpha1.Attempt) {
	if a != nil {
		d.Attempts = append(d.Attempts, *a)
	}
}
