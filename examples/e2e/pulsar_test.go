//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	pulsar "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
)

// Consumers of a real broker, which the JMX operator attaches to while they are served.
func TestPulsarConsumer(t *testing.T) {
	t.Parallel()
	p := &consumers{namespace: newNamespace("pulsar")}
	testenv.Test(t, features.New("PulsarConsumer").
		WithSetup("a namespace", p.create).
		Assess("a broker with a topic", step(p.startBroker)).
		Assess("without the topic it says so", step(func(ctx context.Context, t *testing.T) {
			p.applySample(ctx, t, "none")
			p.waits(ctx, t, "TopicNotFound")
		})).
		Assess("with the topic it consumes", step(func(ctx context.Context, t *testing.T) {
			p.applySample(ctx, t, "orders")
			p.consume(ctx, t, 2)
			p.columns(ctx, t)
			p.deliver(ctx, t, "first")
		})).
		Assess("the JMX operator attaches to the broker", step(p.attachJMX)).
		Assess("kubectl scale changes the consumers", step(func(ctx context.Context, t *testing.T) {
			p.kubectl(ctx, t, "scale", "pulsarconsumer/sample", "--replicas", "3")
			p.consume(ctx, t, 3)
			p.kubectl(ctx, t, "scale", "pulsarconsumer/sample", "--replicas", "1")
			p.consume(ctx, t, 1)
		})).
		Assess("a removed variable is restored", step(func(ctx context.Context, t *testing.T) {
			p.kubectl(ctx, t, "set", "env", "deployment/sample-deployment", "PULSAR_TOPIC-")
			p.variable(ctx, t, "orders")
			p.consume(ctx, t, 1)
		})).
		Assess("a deleted Deployment is restored", step(func(ctx context.Context, t *testing.T) {
			p.kubectl(ctx, t, "delete", "deployment/sample-deployment")
			p.variable(ctx, t, "orders")
			p.consume(ctx, t, 1)
		})).
		Assess("a broker that restarts is subscribed and attached to again", step(func(ctx context.Context, t *testing.T) {
			p.kubectl(ctx, t, "exec", "deployment/broker", "--", "sh", "-c", "kill 1")
			eventually(ctx, t, func(ctx context.Context) error {
				return p.says(ctx, "pod", "--selector=app=broker", "{.items[0].status.containerStatuses[0].restartCount}", "1")
			})
			p.kubectl(ctx, t, "wait", "pod", "--selector=app=broker", "--for=condition=Ready", "--timeout", conditionTimeout.String())
			p.consume(ctx, t, 1)
			p.deliver(ctx, t, "second")
			p.attached(ctx, t)
		})).
		Assess("without a broker it says so", step(func(ctx context.Context, t *testing.T) {
			p.kubectl(ctx, t, "scale", "deployment/broker", "--replicas", "0")
			p.waits(ctx, t, "BrokerUnreachable")
		})).
		WithTeardown("delete the exporter", step(func(ctx context.Context, t *testing.T) {
			p.kubectl(ctx, t, "delete", "--ignore-not-found", "--timeout", conditionTimeout.String(), "prometheusjmxexporters", "--all")
		})).
		WithTeardown("delete the namespace", p.remove).Feature())
}

type consumers struct {
	namespace
	server string
}

func (p *consumers) startBroker(ctx context.Context, t *testing.T) {
	p.kubectl(ctx, t, "apply", "-f", "manifests/broker.yaml")
	p.kubectl(ctx, t, "rollout", "status", "deployment/broker", "--timeout", conditionTimeout.String())
	p.server = "pulsar://" + p.kubectl(ctx, t, "get", "service", "broker", "-o", "jsonpath={.spec.clusterIP}") + ":6650"
	eventually(ctx, t, func(ctx context.Context) error {
		return p.forward(ctx, "deployment/broker", 8080, func(address string) error {
			_, err := request(ctx, http.MethodPut, "http://"+address+"/admin/v2/persistent/public/default/orders", http.StatusNoContent, http.StatusConflict)
			return err
		})
	})
}

// applySample applies the sample, for this broker and a topic.
func (p *consumers) applySample(ctx context.Context, t *testing.T, topic string) {
	sample, err := os.ReadFile("../pulsarconsumer/config/samples/pulsarconsumer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.apply(ctx, t, strings.NewReplacer("pulsar://broker:6650", p.server, "topic: orders", "topic: "+topic).Replace(string(sample)))
}

func (p *consumers) get(ctx context.Context) (*pulsar.PulsarConsumer, error) {
	out, err := p.try(ctx, "get", "pulsarconsumer", "sample", "-o", "json")
	if err != nil {
		return nil, err
	}
	object := &pulsar.PulsarConsumer{}
	return object, json.Unmarshal([]byte(out), object)
}

// waits waits until it says why it is not Ready.
func (p *consumers) waits(ctx context.Context, t *testing.T, reason string) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		object, err := p.get(ctx)
		if err != nil {
			return err
		}
		if object.Status.Reason != reason || object.Status.Message == "" {
			return fmt.Errorf("the reason is %q, and not %s: %s", object.Status.Reason, reason, object.Status.Message)
		}
		return nil
	})
}

// consume waits until so many pods are subscribed, and the status is what they run.
func (p *consumers) consume(ctx context.Context, t *testing.T, replicas int32) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		object, err := p.get(ctx)
		if err != nil {
			return err
		}
		s := object.Status
		if s.Phase != "Consuming" || s.ObservedGeneration != object.Generation || s.Replicas != replicas || s.Server != p.server || s.Topic != "orders" || s.Subscription != "logger" {
			return fmt.Errorf("it does not consume with %d replicas: %+v", replicas, s)
		}
		return nil
	})
}

func (p *consumers) columns(ctx context.Context, t *testing.T) {
	t.Helper()
	table := strings.Fields(p.kubectl(ctx, t, "get", "pulsarconsumers"))
	got := strings.Join(table[:len(table)-1], " ") // without the age
	if want := "NAME SERVER TOPIC SUBSCRIPTION REPLICAS PHASE READY AGE sample " + p.server + " orders logger 2 Consuming True"; got != want {
		t.Errorf("kubectl get prints %s; want %s", got, want)
	}
}

// deliver sends a message, and waits until a consumer has logged it.
func (p *consumers) deliver(ctx context.Context, t *testing.T, message string) {
	t.Helper()
	p.kubectl(ctx, t, "run", message, "--image=pulsar-consumer:dev", "--restart=Never", "--env=PULSAR_SERVER="+p.server, "--env=PULSAR_TOPIC=orders", "--env=PULSAR_MESSAGE=message "+message,
		"--command", "--", "/pulsar-producer")
	p.kubectl(ctx, t, "wait", "pod/"+message, "--for=jsonpath={.status.phase}=Succeeded", "--timeout", conditionTimeout.String())
	eventually(ctx, t, func(ctx context.Context) error {
		log, err := p.try(ctx, "logs", "--selector", "app.kubernetes.io/instance=sample", "--tail=-1")
		if n := strings.Count(log, "message "+message); err == nil && n != 1 {
			err = fmt.Errorf("the message is in the logs %d times: %s", n, log)
		}
		return err
	})
}

// variable waits until the Deployment's container has the variable again.
func (p *consumers) variable(ctx context.Context, t *testing.T, topic string) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		return p.says(ctx, "deployment", "sample-deployment", `{.spec.template.spec.containers[0].env[?(@.name=="PULSAR_TOPIC")].value}`, topic)
	})
}

// says is nil if what an object says at a path is as it is wanted.
func (p *consumers) says(ctx context.Context, kind, object, path, want string) error {
	got, err := p.try(ctx, "get", kind, object, "-o", "jsonpath="+path)
	if err == nil && got != want {
		err = fmt.Errorf("%s %s: %s is %s, and not %s", kind, object, path, cmp.Or(got, "empty"), want)
	}
	return err
}

func (p *consumers) attachJMX(ctx context.Context, t *testing.T) {
	p.kubectl(ctx, t, "apply", "-f", "manifests/exporter.yaml")
	p.attached(ctx, t)
	if err := p.says(ctx, "pod", "--selector=app=broker", "{.items[0].status.containerStatuses[0].restartCount}", "0"); err != nil {
		t.Error(err)
	}
	p.consume(ctx, t, 2)
}

// attached waits until the broker's threads can be scraped at the port that its annotations name.
func (p *consumers) attached(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		port, err := p.try(ctx, "get", "pods", "--selector=app=broker", "-o", `jsonpath={.items[0].metadata.annotations.prometheus\.io/port}`)
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return fmt.Errorf("the pod has no port to scrape: %w", err)
		}
		return p.forward(ctx, "deployment/broker", number, func(address string) error {
			metrics, err := request(ctx, http.MethodGet, "http://"+address+"/metrics", http.StatusOK)
			if err == nil && !strings.Contains(metrics, "\njava_lang_Threading_ThreadCount ") {
				err = fmt.Errorf("it does not serve the threads: %s", metrics)
			}
			return err
		})
	})
}
