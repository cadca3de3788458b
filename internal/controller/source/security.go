package source

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/endpointsecurity"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// SecretPeriod is how long the content of a Secret is cached, plus a few seconds so that
// not all exporters read at once. Watching it would need the right to list all Secrets.
const SecretPeriod = time.Minute

// secret is what is known of a Secret for an exporter, without its content.
type secret struct {
	of       identity
	due      time.Time
	security steps.Security
}

// identity is everything that reading a Secret depends on, except its content.
type identity struct {
	exporter         types.UID
	name             string
	requester, group string
}

func identityOf(exporter *v1alpha1.PrometheusJmxExporter) identity {
	return identity{
		exporter.UID, exporter.Spec.EndpointSecurity.SecretName,
		exporter.Annotations[v1alpha1.AnnotationRequester], exporter.Annotations[v1alpha1.AnnotationRequesterGroups],
	}
}

// RereadAfter returns the time until the exporter's Secret must be read again; 0 if it
// has none.
func (s *Source) RereadAfter(exporter types.NamespacedName) time.Duration {
	known, ok := s.secrets.Load(exporter)
	if !ok {
		return 0
	}
	return max(known.(secret).due.Sub(s.clock.Now()), time.Millisecond)
}

// security returns the security settings of the exporter's endpoints, the same for all
// of its pods until the Secret is read again.
func (s *Source) security(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Security, error) {
	name := client.ObjectKeyFromObject(exporter)
	if exporter.Spec.EndpointSecurity == nil {
		s.secrets.Delete(name)
		return steps.Security{}, nil
	}
	of := identityOf(exporter)
	known, _ := s.secrets.Load(name)
	if known, ok := known.(secret); ok && known.of == of && s.clock.Now().Before(known.due) {
		return s.loading(exporter, known.security), nil
	}
	security, err := s.readSecret(ctx, exporter)
	if err != nil {
		return steps.Security{}, err
	}
	security.Input = s.files.keep(name.Namespace, security.Input)
	s.secrets.Store(name, secret{of: of, due: s.clock.Now().Add(wait.Jitter(SecretPeriod, 0.1)), security: security})
	return s.loading(exporter, security), nil
}

// loading returns security settings whose content Load reads.
func (s *Source) loading(exporter *v1alpha1.PrometheusJmxExporter, security steps.Security) steps.Security {
	if security.Problem == nil {
		object := fmt.Sprintf("Secret %s of exporter %s", exporter.Spec.EndpointSecurity.SecretName, exporter.Name)
		security.Load = s.files.loader(exporter.Namespace, object, security.File, func(ctx context.Context) (steps.Input, error) {
			read, err := s.readSecret(ctx, exporter)
			return read.Input, err
		})
	}
	return security
}

// readSecret reads the Secret on behalf of the user who wrote the exporter, who must be
// allowed to read it.
func (s *Source) readSecret(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Security, error) {
	at := client.ObjectKey{Namespace: exporter.Namespace, Name: exporter.Spec.EndpointSecurity.SecretName}
	if problem, err := s.unauthorized(ctx, exporter, at); problem != nil || err != nil {
		return steps.Security{Input: steps.Input{Problem: problem}}, err
	}
	var secret corev1.Secret
	err := s.files.read(ctx, at.Namespace, func(ctx context.Context) error { return s.live.Get(ctx, at, &secret) })
	switch {
	case apierrors.IsNotFound(err):
		return insecure(v1alpha1.ReasonSecretNotFound, "Secret %s (spec.endpointSecurity.secretName) does not exist. Create it.", at.Name), nil
	case apierrors.IsForbidden(err):
		return insecure(v1alpha1.ReasonSecretForbidden, "RBAC does not let the operator get Secret %s. To allow it, deploy the component config/endpoint-security, or bind its role in namespace %s.", at.Name, at.Namespace), nil
	case err != nil:
		return steps.Security{}, fmt.Errorf("cannot read Secret %s: %w", at.Name, err)
	}
	file, err := endpointsecurity.Parse(secret.Data, s.clock.Now())
	if err != nil {
		return insecure(v1alpha1.ReasonSecretInvalid, "Secret %s, %s.", at.Name, err), nil
	}
	return steps.Security{
		Input:               steps.Input{Blob: transport.NewBlob("security-", file.Content, "")},
		CertificateSHA256:   file.CertificateSHA256,
		CertificateNotAfter: file.CertificateNotAfter,
	}, nil
}

func (s *Source) unauthorized(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, at client.ObjectKey) (*steps.Problem, error) {
	if s.Authority == nil {
		return nil, nil
	}
	who, unknown := steps.RequesterOf(exporter)
	switch {
	case unknown != "":
		return &steps.Problem{Reason: v1alpha1.ReasonNotAuthorized, Message: unknown + " Secret " + at.Name + " is not read. To allow it, deploy config/stamp, and update the spec."}, nil
	case who == nil:
		return nil, nil
	}
	allowed, err := s.Authority.MayRead(ctx, *who, at)
	if err != nil || allowed {
		return nil, err
	}
	return &steps.Problem{Reason: v1alpha1.ReasonNotAuthorized, Message: fmt.Sprintf(
		"User %q, who wrote the exporter's spec, may not get Secret %s in namespace %s; the Secret is not copied into pods. To allow it, bind a role with that right to the user in that namespace, or have an authorized user set the exporter's annotation %s to a new value.",
		who.Name(), at.Name, at.Namespace, v1alpha1.AnnotationResume)}, nil
}

func insecure(reason, message string, args ...any) steps.Security {
	return steps.Security{Input: problem(reason, fmt.Sprintf(message, args...))}
}
