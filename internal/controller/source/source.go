// Package source reads the resources that exporters refer to. ConfigMaps are cached as
// metadata only, and read when they have changed. Secrets are neither cached nor watched, but
// read again periodically. A configuration that a pod had before is read from a
// ControllerRevision. Of all of them, digests are kept, and contents only as far as there is
// room: they are read again for the containers that need them.
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
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Source reads the resources that exporters refer to. It is safe for concurrent use.
type Source struct {
	// RequireLabel rejects ConfigMaps without the label v1alpha1.LabelRules.
	RequireLabel bool
	// MaxExporters is the number of exporters of a namespace that have a configuration, the
	// oldest first; 0 for all.
	MaxExporters int
	// Authority checks whether the user who wrote an exporter may read its Secret; nil
	// disables the check.
	Authority steps.Authority

	cache client.Reader
	live  client.Reader
	clock clock.PassiveClock

	files   *files
	configs configs
	// reads are the reads that are under way: all pods of an exporter ask at once.
	reads   singleflight.Group
	secrets sync.Map // of secret, by exporter
	rules   sync.Map // of checkedRules, by exporter
	// revisions are the configurations that are kept for pods.
	revisions revisions
}

// New returns a Source that detects changes of ConfigMaps by metadata, in a cache, and then
// reads them from live, the API server.
func New(cache, live client.Reader, clock clock.PassiveClock) *Source {
	files := newFiles()
	return &Source{cache: cache, live: live, clock: clock, files: files, revisions: revisions{live: live, clock: clock, files: files}}
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

// config returns the configuration of an exporter, whose content Load reads.
func (s *Source) config(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Input, error) {
	key, name := configKey{exporter.Namespace, exporter.Spec.Config}, client.ObjectKeyFromObject(exporter)
	current := Metadata()
	if err := s.cache.Get(ctx, key.configMap(), current); err != nil {
		s.configs.forget(name)
		return unreadable(key.ConfigMapKey, err)
	}
	s.configs.refer(name, key)
	known, err := s.readConfig(ctx, key, current.ResourceVersion)
	if err != nil {
		return unreadable(key.ConfigMapKey, err)
	}
	if s.configs.saw(name, known.resourceVersion) {
		s.revisions.forget(name) // others may be kept by the next time
	}
	input := known.input
	if input.Problem == nil {
		input.Load = s.files.loader(key.namespace, "ConfigMap "+key.ConfigMapName, input.File, func(ctx context.Context) (input steps.Input, err error) {
			err = s.readConfigMap(ctx, key, func(configMap *corev1.ConfigMap) { input = s.content(key.ConfigMapKey, configMap) })
			return input, client.IgnoreNotFound(err)
		})
	}
	return input, nil
}

// readConfig reads and validates a configuration, unless what is known of it is as new as a
// resource version.
func (s *Source) readConfig(ctx context.Context, key configKey, resourceVersion string) (config, error) {
	read, err, _ := s.reads.Do(fmt.Sprintf("%s %s", key, resourceVersion), func() (any, error) {
		if known, ok := s.configs.get(key, resourceVersion); ok {
			return known, nil
		}
		var read config
		err := s.readConfigMap(ctx, key, func(configMap *corev1.ConfigMap) {
			read.resourceVersion = configMap.ResourceVersion
			read.input = s.files.keep(key.namespace, validated(key.ConfigMapKey, s.content(key.ConfigMapKey, configMap)))
		})
		if err == nil {
			s.configs.set(key, read)
		}
		return read, err
	})
	return read.(config), err
}

// readConfigMap calls do with a ConfigMap, in a turn of its namespace.
func (s *Source) readConfigMap(ctx context.Context, key configKey, do func(*corev1.ConfigMap)) error {
	return s.files.read(ctx, key.namespace, func(ctx context.Context) error {
		var configMap corev1.ConfigMap
		if err := s.live.Get(ctx, key.configMap(), &configMap); err != nil {
			return err
		}
		do(&configMap)
		return nil
	})
}

// Forget drops what is known of a deleted exporter.
func (s *Source) Forget(exporter types.NamespacedName) {
	s.configs.forget(exporter)
	s.secrets.Delete(exporter)
	s.rules.Delete(exporter)
	s.revisions.forget(exporter)
}

// content returns the content of a configuration, which is not validated.
func (s *Source) content(ref v1alpha1.ConfigMapKey, configMap *corev1.ConfigMap) steps.Input {
	if _, labeled := configMap.Labels[v1alpha1.LabelRules]; s.RequireLabel && !labeled {
		return problem(v1alpha1.ReasonConfigMapUnlabeled, fmt.Sprintf(
			"ConfigMap %s has no label %s, and the operator runs with --require-rules-label. To use the ConfigMap, set the label.", ref.ConfigMapName, v1alpha1.LabelRules))
	}
	text, ok := configMap.Data[ref.ConfigMapKey]
	if !ok {
		return problem(v1alpha1.ReasonConfigKeyMissing,
			fmt.Sprintf("ConfigMap %s has no key %s in data (spec.config.configMapKey). Add the key, or correct the field.", ref.ConfigMapName, ref.ConfigMapKey))
	}
	return steps.Input{Blob: configBlob([]byte(text))}
}

// validated returns an input with what is wrong with its content.
func validated(ref v1alpha1.ConfigMapKey, input steps.Input) steps.Input {
	if input.Problem != nil {
		return input
	}
	warnings, err := configuration.Validate(input.Content)
	var invalid *configuration.Error
	switch {
	case errors.As(err, &invalid):
		return problem(string(invalid.Reason), fmt.Sprintf("ConfigMap %s, key %s: %s.", ref.ConfigMapName, ref.ConfigMapKey, strings.TrimRight(invalid.Error(), ".?")))
	case err != nil:
		return problem(v1alpha1.ReasonConfigInvalid, fmt.Sprintf("ConfigMap %s, key %s cannot be used.", ref.ConfigMapName, ref.ConfigMapKey))
	}
	input.Warning = warning(ref, warnings)
	return input
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
