package funcs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Published waits until exactly so many endpoints stand in the EndpointSlices,
// whatever the phases are.
func Published(namespace, exporter string, pods int, port int32) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		return c.published(ctx, e, pods, port)
	})
}

// published reports whether exactly so many endpoints stand in the exporter's
// EndpointSlices, all on one port, behind its headless Service.
func (c *cluster) published(ctx context.Context, e *v1alpha1.PrometheusJmxExporter, pods int, port int32) error {
	var service corev1.Service
	if err := c.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Status.ServiceName}, &service); err != nil {
		return err
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone || len(service.Spec.Selector) > 0 || len(service.Annotations) > 0 {
		return fmt.Errorf("service %s is not headless, selects, or is annotated", service.Name)
	}
	var list discoveryv1.EndpointSliceList
	if err := c.List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}); err != nil {
		return err
	}
	found := map[string]bool{}
	for _, slice := range list.Items {
		if len(slice.Ports) != 1 || *slice.Ports[0].Port != port || *slice.Ports[0].Name != "metrics" {
			return fmt.Errorf("EndpointSlice %s has other ports than metrics %d: %+v", slice.Name, port, slice.Ports)
		}
		for _, endpoint := range slice.Endpoints {
			found[endpoint.TargetRef.Name] = true
		}
	}
	if len(found) != pods {
		return fmt.Errorf("the EndpointSlices hold %v, not %d pods", slices.Sorted(maps.Keys(found)), pods)
	}
	return nil
}

// Unpublished waits until no endpoint stands in an EndpointSlice of ours.
func Unpublished(namespace string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		var list discoveryv1.EndpointSliceList
		if err := c.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelExporterUID}); err != nil {
			return err
		}
		for _, slice := range list.Items {
			if len(slice.Endpoints) > 0 {
				return fmt.Errorf("EndpointSlice %s has endpoints: %+v", slice.Name, slice.Endpoints)
			}
		}
		return nil
	})
}

// Gone waits until the exporter has left nothing in the namespace: no record,
// Service or EndpointSlice.
func Gone(namespace string) features.Func {
	ours := client.HasLabels{v1alpha1.LabelExporterUID}
	return until(func(ctx context.Context, c *cluster) error {
		for _, list := range []client.ObjectList{&v1alpha1.JmxAttachmentList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}} {
			if err := c.List(ctx, list, client.InNamespace(namespace), ours); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%T: %d are left", list, n)
			}
		}
		return nil
	})
}

func listing(pod types.UID, port int32) string { return fmt.Sprintf("%s:%d", pod, port) }

// listed are the endpoints in the exporter's EndpointSlices, and how often they
// stand there.
func (c *cluster) listed(ctx context.Context, namespace, exporter string) (map[string]int, error) {
	e, err := c.exporter(ctx, namespace, exporter)
	if err != nil {
		return nil, err
	}
	var list discoveryv1.EndpointSliceList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: e.Status.ServiceName}); err != nil {
		return nil, err
	}
	listed := map[string]int{}
	for _, slice := range list.Items {
		if len(slice.Ports) != 1 || *slice.Ports[0].Name != "metrics" {
			return nil, fmt.Errorf("EndpointSlice %s has other ports than one called metrics: %+v", slice.Name, slice.Ports)
		}
		for _, endpoint := range slice.Endpoints {
			listed[listing(endpoint.TargetRef.UID, *slice.Ports[0].Port)]++
		}
	}
	return listed, nil
}
