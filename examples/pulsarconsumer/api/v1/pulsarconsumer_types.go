package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// PulsarConsumer deploys an application that consumes a Pulsar topic and logs each
// message.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=pulsarconsumers
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.server`
// +kubebuilder:printcolumn:name="Topic",type=string,JSONPath=`.status.topic`
// +kubebuilder:printcolumn:name="Subscription",type=string,JSONPath=`.status.subscription`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="Subscribed pods"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The last phase that holds"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must have at most 52 characters: the Deployment is called <name>-deployment, and its name is a label of pods"
type PulsarConsumer struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what is wanted.
	// +required
	Spec PulsarConsumerSpec `json:"spec"`
	// status is what was observed.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PulsarConsumerStatus `json:"status,omitzero"`
}

// PulsarConsumerList is a list of PulsarConsumers.
//
// +kubebuilder:object:root=true
type PulsarConsumerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PulsarConsumer `json:"items"`
}

// PulsarConsumerSpec is what is wanted.
type PulsarConsumerSpec struct {
	// serverAddress is the broker's, such as pulsar://broker:6650 or
	// pulsar+ssl://broker:6651; several, separated by commas, are tried in turn.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^pulsar(\+ssl)?://[^\s/,:]+(:[0-9]{1,5})?(,[^\s/,:]+(:[0-9]{1,5})?)*/?$`
	ServerAddress string `json:"serverAddress"`
	// topic is the topic's name, such as orders or persistent://tenant/namespace/orders.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^((persistent|non-persistent)://[^\s/]+/[^\s/]+/)?[^\s/:]+$`
	Topic string `json:"topic"`
	// subscriptionName is shared by all replicas: each message goes to one of them.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S+$`
	SubscriptionName string `json:"subscriptionName"`
	// replicas is the number of consumers.
	// +required
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas"`
	// image is that of the application; the operator's --consumer-image if it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// PulsarConsumerStatus is what was observed. The phases are Planned, Deployed, RolledOut
// and Consuming.
type PulsarConsumerStatus struct {
	statemachine.Record `json:",inline"`
	// server, topic and subscription are those of the pods that are subscribed, read from
	// the pods; while they differ, as in a rollout, all that there are, separated by ", ".
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Server string `json:"server,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Topic string `json:"topic,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Subscription string `json:"subscription,omitempty"`
	// replicas counts the pods that are subscribed.
	// +optional
	Replicas int32 `json:"replicas"`
	// selector selects the pods, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Selector string `json:"selector,omitempty"`
}
