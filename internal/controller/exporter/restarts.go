package exporter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// countedFor is how long an exit counts: beyond it, exits of a revision that is rolled
// out to new pods for months would add up to a halt.
const countedFor = 24 * time.Hour

// restartsOf returns the pods whose exits pause the rollout or count towards its halt: those
// that did before, and those of records with a new exit. Times are those of this operator.
func (r *rollout) restartsOf(before *v1alpha1.Restarts, records []*v1alpha1.JmxAttachment, pods []corev1.Pod) *v1alpha1.Restarts {
	if r.window() == 0 {
		return nil
	}
	after := &v1alpha1.Restarts{Revision: r.revision, Resume: r.resume}
	if before != nil && before.Revision == r.revision && before.Resume == r.resume {
		after.Message, after.Pods = before.Message, r.still(before.Pods, records, pods)
	}
	for _, a := range records {
		exit := a.Status.Restart
		if exit == nil || exit.Revision != r.revision || !r.current(a) {
			continue
		}
		pod := podOf(pods, a.Spec.Pod.UID)
		if pod == nil || podfacts.Explained(pod) { // the end of a pod that is gone explains its exit, or is listed
			continue
		}
		entry := v1alpha1.RestartedPod{
			Name: a.Spec.Pod.Name, UID: a.Spec.Pod.UID, Time: r.seconds(), Process: exit.Process,
			Pending:   podfacts.MayBeEnding(pod, exit.Container),
			PauseOnly: steps.Refuted(&a.Status) || podfacts.UnderPressure(pod) || retries(pod, after.Pods, pods),
		}
		if exit.Time != nil && r.now.Sub(exit.Time.Time) < r.listedFor(entry) { // an earlier release does not say when: long ago
			after.Pods = withExit(after.Pods, entry)
		}
	}
	if len(after.Pods) == 0 {
		return nil
	}
	after.Message = describe(after.Pods[len(after.Pods)-1], after.Message, records)
	return after
}

// withExit returns the pods with a new exit at the end. A pod that counts keeps counting.
func withExit(pods []v1alpha1.RestartedPod, entry v1alpha1.RestartedPod) []v1alpha1.RestartedPod {
	i := slices.IndexFunc(pods, func(p v1alpha1.RestartedPod) bool { return p.UID == entry.UID })
	switch {
	case i >= 0 && pods[i].Process == entry.Process:
		return pods
	case i >= 0:
		entry.PauseOnly = entry.PauseOnly && pods[i].PauseOnly
	case len(pods) == steps.MaxRestarts && entry.PauseOnly:
		return pods
	case len(pods) == steps.MaxRestarts:
		i = slices.IndexFunc(pods, func(p v1alpha1.RestartedPod) bool { return p.PauseOnly })
		if i < 0 {
			return pods
		}
	}
	if i >= 0 {
		pods = slices.Delete(pods, i, i+1)
	}
	return append(pods, entry)
}

// still returns the pods whose exits still pause or count. If the clock of an earlier leader
// was ahead, all times are moved by as much. The exit of a pod that was pending is explained
// if the pod has ended as a whole since; it counts if the container runs on, or if nothing
// was learned for as long as the rollout is paused.
func (r *rollout) still(before []v1alpha1.RestartedPod, records []*v1alpha1.JmxAttachment, pods []corev1.Pod) []v1alpha1.RestartedPod {
	var after []v1alpha1.RestartedPod
	var ahead time.Duration
	if len(before) > 0 {
		ahead = max(before[len(before)-1].Time.Sub(r.seconds().Time), 0)
	}
	for _, p := range before {
		p.Time.Time = p.Time.Add(-ahead)
		pod := podOf(pods, p.UID)
		p.PauseOnly = p.PauseOnly || pod != nil && podfacts.UnderPressure(pod)
		if p.Pending && (pod == nil || podfacts.Explained(pod)) || r.now.Sub(p.Time.Time) >= r.listedFor(p) {
			continue
		}
		if exit := exitOf(records, p); exit != nil && p.Pending {
			p.Pending = podfacts.MayBeEnding(pod, exit.Container)
		}
		p.Pending = p.Pending && r.now.Sub(p.Time.Time) < r.window()
		after = append(after, p)
	}
	return after
}

// listedFor returns how long an exit stays in the status.
func (r *rollout) listedFor(p v1alpha1.RestartedPod) time.Duration {
	if p.PauseOnly {
		return r.window()
	}
	return countedFor
}

// restartsChangeAfter returns the time after which the pause ends, or a pod is dropped; 0 for
// never.
func (r *rollout) restartsChangeAfter() time.Duration {
	again := r.pauseLeft()
	if r.restarts != nil {
		for _, p := range r.restarts.Pods {
			again = enqueue.Earliest(again, p.Time.Add(r.listedFor(p)).Sub(r.now))
		}
	}
	return again
}

// pauseLeft returns how long the rollout is paused: for a window after the last exit.
func (r *rollout) pauseLeft() time.Duration {
	if r.restarts == nil || len(r.restarts.Pods) == 0 {
		return 0
	}
	last := r.restarts.Pods[len(r.restarts.Pods)-1]
	return max(last.Time.Add(r.window()).Sub(r.now), 0)
}

// tooMany reports whether the pods halt the rollout, given how many pods have the
// revision: two within one window, or as many as spec.rollout.haltThreshold.
func (r *rollout) tooMany(pods []v1alpha1.RestartedPod, updated int) bool {
	pods = counted(pods)
	n := len(pods)
	threshold := intstr.FromInt32(1)
	if t := r.limits.HaltThreshold; t != nil {
		threshold = intstr.Parse(t.String()) // "3" is a number
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(&threshold, max(updated, n), true)
	switch {
	case err != nil: // validation refuses it
		limit = 1
	case threshold.Type == intstr.String:
		limit = max(limit, 2)
	}
	inOneWindow := n > 1 && pods[n-1].Time.Sub(pods[n-2].Time.Time) < r.window()
	return n >= limit || n >= steps.MaxRestarts || inOneWindow
}

// counted returns the pods that count towards a halt.
func counted(pods []v1alpha1.RestartedPod) []v1alpha1.RestartedPod {
	return slices.DeleteFunc(slices.Clone(pods), func(p v1alpha1.RestartedPod) bool { return p.Pending || p.PauseOnly })
}

// paused says why the rollout is paused, for how long, and what would halt it.
func (r *rollout) paused() string {
	halts := "A second pod within that time, or spec.rollout.haltThreshold pods, halts it."
	if r.restarts.Pods[len(r.restarts.Pods)-1].PauseOnly {
		halts = "This exit does not count towards a halt."
	}
	return fmt.Sprintf("%s The rollout is paused for %s (spec.rollout.restartWindow); existing endpoints keep serving. %s See the log of the previous instance; if the attach was not the cause, kubectl jmx resume ends the pause.", r.restarts.Message, r.window(), halts)
}

// progressing returns the reason and the message of a rollout that has work left.
func (r *rollout) progressing(progress string) (reason, message string) {
	if r.restarts != nil && r.restarts.Paused {
		return v1alpha1.ReasonRolloutPaused, r.paused()
	}
	return v1alpha1.ReasonProgressing, progress
}

// retries reports whether the pod retries one of the same Job that is listed: it fails for
// the same cause, which is no more evidence. Pods of a Job that run at the same time do not
// retry each other.
func retries(pod *corev1.Pod, listed []v1alpha1.RestartedPod, pods []corev1.Pod) bool {
	job := podfacts.JobOf(pod)
	return job != "" && slices.ContainsFunc(listed, func(p v1alpha1.RestartedPod) bool {
		earlier := podOf(pods, p.UID)
		return p.UID != pod.UID && earlier != nil && podfacts.JobOf(earlier) == job && pod.CreationTimestamp.After(p.Time.Time)
	})
}

// describe says how a container of a pod exited, if the record is still there, or if the
// message is about that pod.
func describe(p v1alpha1.RestartedPod, before string, records []*v1alpha1.JmxAttachment) string {
	about := fmt.Sprintf("Pod %s: ", p.Name)
	if exit := exitOf(records, p); exit != nil {
		return text.Cut(about+exit.Message, 1024)
	}
	if strings.HasPrefix(before, about) {
		return before
	}
	return about + "A container exited soon after an attach or a change."
}

// exitOf returns the exit of a pod according to its record; nil if that is gone.
func exitOf(records []*v1alpha1.JmxAttachment, p v1alpha1.RestartedPod) *v1alpha1.Restart {
	i := slices.IndexFunc(records, func(a *v1alpha1.JmxAttachment) bool {
		return a.Spec.Pod.UID == p.UID && a.Status.Restart != nil && a.Status.Restart.Process == p.Process
	})
	if i < 0 {
		return nil
	}
	return records[i].Status.Restart
}

// podOf returns the pod of a UID; nil if there is none.
func podOf(pods []corev1.Pod, uid types.UID) *corev1.Pod {
	i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == uid })
	if i < 0 {
		return nil
	}
	return &pods[i]
}

// namesOf names the pods, for the middle of a sentence.
func namesOf(pods []v1alpha1.RestartedPod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return firstFew(names)
}
