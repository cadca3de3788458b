// Package source reads the resources that exporters refer to. ConfigMaps are cached as
// metadata only; their content is read when it has changed, and kept. Secrets are
// neither cached nor watched, but read again periodically. A configuration that a pod had
// before is read from a ControllerRevision.
package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Source reads the resources that exporters refer to. It is safe for concurrent use.
type Source struct {
	// RequireLabel rejects ConfigMaps without the label v1alpha1.LabelRules.
	RequireLabel bool
	// Authority checks whether the user who wrote an exporter may read its Secret; nil
	// disables the check.
	Authority steps.Authority

	metadata client.Reader
	live     client.Reader
	clock    clock.PassiveClock

	configs sync.Map // of content, by exporter
	// reads are the reads that are under way: all pods of an exporter ask at once.
	reads   singleflight.Group
	secrets sync.Map // of secret, by exporter
	// revisions are the configurations that are kept for pods.
	revisions revisions
}

type content struct {
	ref             v1alpha1.ConfigMapKey
	resourceVersion string
	config          steps.Input
}

// New returns a Source that detects changes of ConfigMaps by metadata, a cache, and then
// reads them from live, the API server.
func New(metadata, live client.Reader, clock clock.PassiveClock) *Source {
	return &Source{metadata: metadata, live: live, clock: clock, revisions: revisions{live: live, clock: clock}}
}

// Metadata returns an object for watching or getting the metadata of ConfigMaps.
func Metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return m
}

// Trim is a cache transform for that metadata: an annotation may contain the whole
// ConfigMap (kubectl apply's last-applied-configuration).
func Trim(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.ManagedFields, m.Annotations = nil, nil
	}
	return obj, nil
}

func (s *Source) config(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Input, error) {
	ref, name := exporter.Spec.Config, client.ObjectKeyFromObject(exporter)
	at := client.ObjectKey{Namespace: exporter.Namespace, Name: ref.ConfigMapName}
	current := Metadata()
	if err := s.metadata.Get(ctx, at, current); err != nil {
		s.configs.Delete(name)
		return unreadable(ref, err)
	}
	kept, ok := s.kept(name, ref, current.ResourceVersion)
	if ok {
		return kept.config, nil
	}
	read, err, _ := s.reads.Do(fmt.Sprintf("%s %s %s", at, ref.ConfigMapKey, current.ResourceVersion), func() (any, error) {
		if kept, ok := s.kept(name, ref, current.ResourceVersion); ok { // by the read just before
			return kept, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout) // others wait for it, too
		defer cancel()
		var configMap corev1.ConfigMap
		if err := s.live.Get(ctx, at, &configMap); err != nil {
			return nil, err
		}
		read := content{ref: ref, resourceVersion: configMap.ResourceVersion, config: s.parse(ref, &configMap)}
		s.configs.Store(name, read)
		s.revisions.forget(name) // others may be kept by the next time
		return read, nil
	})
	if err != nil {
		return unreadable(ref, err)
	}
	s.configs.Store(name, read) // that of another exporter
	return read.(content).config, nil
}

// kept returns what was read for an exporter, if it is as new as the metadata.
func (s *Source) kept(exporter types.NamespacedName, ref v1alpha1.ConfigMapKey, resourceVersion string) (content, bool) {
	read, _ := s.configs.Load(exporter)
	kept, ok := read.(content)
	return kept, ok && kept.ref == ref && !cached.Older(kept.resourceVersion, resourceVersion)
}

// Forget drops the cached content of a deleted exporter.
func (s *Source) Forget(exporter types.NamespacedName) {
	s.configs.Delete(exporter)
	s.secrets.Delete(exporter)
	s.revisions.forget(exporter)
}

func (s *Source) parse(ref v1alpha1.ConfigMapKey, configMap *corev1.ConfigMap) steps.Input {
	if _, labeled := configMap.Labels[v1alpha1.LabelRules]; s.RequireLabel && !labeled {
		return problem(v1alpha1.ReasonConfigMapUnlabeled, fmt.Sprintf(
			"ConfigMap %s has no label %s, and the operator runs with --require-rules-label. To use the ConfigMap, set the label.", ref.ConfigMapName, v1alpha1.LabelRules))
	}
	text, ok := configMap.Data[ref.ConfigMapKey]
	if !ok {
		return problem(v1alpha1.ReasonConfigKeyMissing,
			fmt.Sprintf("ConfigMap %s has no key %s in data (spec.config.configMapKey). Add the key, or correct the field.", ref.ConfigMapName, ref.ConfigMapKey))
	}
	warnings, err := configuration.Validate([]byte(text))
	var invalid *configuration.Error
	switch {
	case errors.As(err, &invalid):
		return problem(string(invalid.Reason), fmt.Sprintf("ConfigMap %s, key %s: %s.", ref.ConfigMapName, ref.ConfigMapKey, strings.TrimRight(invalid.Error(), ".?")))
	case err != nil:
		return problem(v1alpha1.ReasonConfigInvalid, fmt.Sprintf("ConfigMap %s, key %s cannot be used.", ref.ConfigMapName, ref.ConfigMapKey))
	}
	return steps.Input{Blob: configBlob([]byte(text)), Warning: warning(ref, warnings)}
}

// warning is about an accepted configuration; nil if the exporter ignores nothing in it.
// An unknown key determines the reason, since it may be a typing error.
func warning(ref v1alpha1.ConfigMapKey, w configuration.Warnings) *steps.Problem {
	var ignored []string
	if w.Unknown != "" {
		ignored = append(ignored, "keys that it does not know: those on "+w.Unknown)
	}
	if w.Ineffective != "" {
		ignored = append(ignored, "keys without effect in an agent: "+w.Ineffective)
	}
	if w.Repeated != "" {
		ignored = append(ignored, "all but the last of repeated keys: those on "+w.Repeated)
	}
	if len(ignored) == 0 {
		return nil
	}
	reason := v1alpha1.ReasonKeysIgnored
	if w.Unknown != "" {
		reason = v1alpha1.ReasonUnknownKeysIgnored
	}
	return &steps.Problem{Reason: reason, Message: fmt.Sprintf("ConfigMap %s, key %s is accepted, but the exporter ignores %s.",
		ref.ConfigMapName, ref.ConfigMapKey, strings.Join(ignored, "; "))}
}

func unreadable(ref v1alpha1.ConfigMapKey, err error) (steps.Input, error) {
	switch {
	case apierrors.IsNotFound(err):
		return problem(v1alpha1.ReasonConfigMapMissing, fmt.Sprintf("ConfigMap %s (spec.config.configMapName) does not exist. Create it.", ref.ConfigMapName)), nil
	case apierrors.IsForbidden(err):
		return problem(v1alpha1.ReasonConfigMapForbidden, fmt.Sprintf("RBAC does not let the operator read ConfigMap %s.", ref.ConfigMapName)), nil
	}
	return steps.Input{}, fmt.Errorf("cannot read ConfigMap %s: %w", ref.ConfigMapName, err)
}

func problem(reason, message string) steps.Input {
	return steps.Input{Problem: &steps.Problem{Reason: reason, Message: message}}
}
