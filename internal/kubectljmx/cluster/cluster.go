// Package cluster is the way of kubectl jmx to a cluster: a kubeconfig's, with the rights
// of its user and no others.
package cluster

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// FieldManager owns the fields that kubectl jmx writes.
const FieldManager client.FieldOwner = "kubectl-jmx"

// Cluster is a cluster as its user reaches it.
type Cluster struct {
	client.WithWatch
	Config *rest.Config
	// Clientset has what the client does not: logs and versions.
	Clientset kubernetes.Interface
	// Namespace is that of the flags or of the kubeconfig.
	Namespace string
}

// Open returns the cluster that the flags choose.
func Open(flags *genericclioptions.ConfigFlags) (*Cluster, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	reader, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{WithWatch: reader, Config: config, Clientset: clientset, Namespace: namespace}, nil
}
