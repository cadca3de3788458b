//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// A bench has the cluster, and what the ways need.
type bench struct {
	options
	artifacts            *artifacts
	Client               client.WithWatch
	controlPlane, worker *node
	operatorPod          corev1.Pod
	// agentPod is the node agent's on the worker.
	agentPod          corev1.Pod
	hadCRDs, deployed bool
	// counted is what the operator had done before it is measured.
	counted counts
}

// A way attaches to all pods; it ends when each has answered a scrape.
type way struct {
	letter, name string
	// pods is how many to attach to; 0 for as many as were asked for.
	pods int
	// prepare is what is not measured; it may be nil.
	prepare func(context.Context, *bench, []corev1.Pod) error
	attach  func(context.Context, *bench, []corev1.Pod, *result) error
	// finish is what follows and is not measured; it may be nil.
	finish func(context.Context, *bench, *result) error
}

// A result is what one way took once.
type result struct {
	pods int
	took time.Duration
	cpu  usage
	// What was done how often, the bytes sent aside by the operator only; and how long
	// its last pod took from when the rollout granted it until it was Annotated.
	counts  counts
	granted time.Duration
}

// String is a line of progress.
func (r result) String() string {
	return fmt.Sprintf("%d pods in %.2f s, %.2f a second; CPU outside the JVM %.3f s a pod, in the JVM %.3f",
		r.pods, r.took.Seconds(), r.perSecond(), r.aPod(r.cpu.outside()), r.aPod(r.cpu.jvms))
}

func (r result) perSecond() float64 { return float64(r.pods) / r.took.Seconds() }

// aPod is a time in seconds for each pod.
func (r result) aPod(all time.Duration) float64 { return all.Seconds() / float64(r.pods) }

// aftermath is how long CPU time is counted on after the last scrape: a session is
// closed, an Event is written.
const aftermath = 2 * time.Second

// measure measures a way with fresh pods.
func (b *bench) measure(ctx context.Context, w way) (r result, err error) {
	pods, err := b.scale(ctx, cmp.Or(w.pods, b.pods))
	if err != nil {
		return r, err
	}
	r.pods = len(pods)
	if w.prepare != nil {
		if err := w.prepare(ctx, b, pods); err != nil {
			return r, err
		}
	}
	idle, err := b.quiet(ctx, pods)
	if err != nil {
		return r, err
	}
	before, err := b.spent(ctx, pods)
	if err != nil {
		return r, err
	}
	start := time.Now()
	if err := w.attach(ctx, b, pods, &r); err != nil {
		return r, err
	}
	r.took = time.Since(start)
	if err := sleep(ctx, aftermath); err != nil {
		return r, err
	}
	after, err := b.spent(ctx, pods)
	if err != nil {
		return r, err
	}
	since, err := b.idle(ctx, pods)
	if err != nil {
		return r, err
	}
	r.cpu = after.minus(before, idle.lower(since))
	if w.finish != nil {
		if err := w.finish(ctx, b, &r); err != nil {
			return r, err
		}
	}
	_, err = b.scale(ctx, 0)
	return r, err
}

// quiet waits until the pods have started and have nothing more to do, and returns
// what everything uses then.
func (b *bench) quiet(ctx context.Context, pods []corev1.Pod) (idle rate, err error) {
	const busy = 0.006 // of a core, each application
	return idle, until(ctx, func(ctx context.Context) (err error) {
		if age := youngest(pods); age < jvm.StartTimeout+time.Second {
			return fmt.Errorf("a container is only %s old", age)
		}
		if idle, err = b.idle(ctx, pods); err != nil {
			return err
		}
		if cores := (idle.jvms + idle.container) / float64(len(pods)); cores > busy {
			return fmt.Errorf("the applications still use %.3f cores each", cores)
		}
		return nil
	})
}

// youngest is the age of the container that started last. A JVM may be attached to
// once it has used CPU for a while, or is that old: nobody is to wait for that.
func youngest(pods []corev1.Pod) time.Duration {
	age := time.Hour
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			if running := status.State.Running; running != nil {
				age = min(age, time.Since(running.StartedAt.Time))
			}
		}
	}
	return age
}

// idle is what everything uses for 3 seconds.
func (b *bench) idle(ctx context.Context, pods []corev1.Pod) (rate, error) {
	before, err := b.spent(ctx, pods)
	if err != nil {
		return rate{}, err
	}
	if err := sleep(ctx, 3*time.Second); err != nil {
		return rate{}, err
	}
	after, err := b.spent(ctx, pods)
	return after.rate(before), err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// spent reads all clocks.
func (b *bench) spent(ctx context.Context, pods []corev1.Pod) (reading, error) {
	asked := Asked{Operator: []string{string(b.operatorPod.UID), string(b.agentPod.UID)}}
	for _, pod := range pods {
		asked.Applications = append(asked.Applications, string(pod.UID))
	}
	worker, err := call[Asked, Spent](ctx, b.worker, "Spent", asked)
	if err != nil {
		return reading{}, err
	}
	controlPlane, err := call[Asked, Spent](ctx, b.controlPlane, "Spent", Asked{})
	if err != nil {
		return reading{}, err
	}
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		return reading{}, err
	}
	return read(worker, controlPlane, time.Duration(children.Utime.Nano()+children.Stime.Nano())), nil
}
