package v1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// PostgresCluster is a PostgreSQL primary with standbys that acknowledge each commit.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=postgresclusters,shortName=pgc
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The last phase that holds"
// +kubebuilder:printcolumn:name="Members",type=string,JSONPath=`.status.members`,description="Members in replication, of those wanted"
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`,description="The member that takes writes"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,description="The version of PostgreSQL that the primary runs"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",message="the name is to be a DNS label of at most 40 characters that starts with a letter: Services, a CronJob and replication slots are named after it"
type PostgresCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what is wanted.
	// +required
	Spec PostgresClusterSpec `json:"spec"`
	// status is what was observed, and what the operator must not forget. The phases are Planned,
	// Seeded, Promoted, Synchronous, Serving and Complete.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PostgresClusterStatus `json:"status,omitzero"`
}

// PostgresClusterList is a list of PostgresClusters.
//
// +kubebuilder:object:root=true
type PostgresClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PostgresCluster `json:"items"`
}

// PostgresClusterSpec is what is wanted.
//
// +kubebuilder:validation:XValidation:rule="self.version.split('.')[0] == oldSelf.version.split('.')[0]",fieldPath=".version",message="another major version needs another cluster: dump this one, and load the dump there"
type PostgresClusterSpec struct {
	// size is the number of members: one primary, the others standbys.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Size int32 `json:"size,omitempty"`
	// version is that of PostgreSQL: its major version, such as "15", or more of it.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+){0,2}$`
	Version string `json:"version"`
	// image has PostgreSQL and the program member; the operator's own if there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// paused leaves everything as it is: no failover, no change.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// nodeSelector is that of each member's pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// antiAffinity keeps members on nodes of their own.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`
	// storage is what each member claims.
	// +optional
	// +kubebuilder:default={}
	Storage Storage `json:"storage,omitzero"`
	// failoverDelay is how long the primary is waited for before a standby is promoted.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="is to be from 1s to 1h"
	FailoverDelay *metav1.Duration `json:"failoverDelay,omitempty"`
	// backup has base backups made, and restored when no member has data.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// adopt takes over what an earlier PostgresCluster of this name left, before anything is
	// initialized. Without anything to take over, and later, it has no effect.
	// +optional
	Adopt Adopt `json:"adopt,omitempty"`
}

// Adopt says what is taken over of an earlier PostgresCluster.
//
// +kubebuilder:validation:Enum=Claims
type Adopt string

// Claims are taken over as they are, by the record of primary and voters on them. Nobody is promoted
// until all members that it names have answered.
const Claims Adopt = "Claims"

// Backup has base backups made. They hold the cluster as it was then: there is no
// point-in-time recovery.
type Backup struct {
	// claimName is that of a PersistentVolumeClaim for the backups. The two newest are kept.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName"`
	// schedule is when they are made, as a CronJob has it, such as "0 3 * * *" or "@daily".
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(@[a-z]+( [0-9a-z]+)?|\S+( +\S+){4})$`
	Schedule string `json:"schedule"`
}

// Storage is what each member claims.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",fieldPath=".storageClassName",message="cannot be changed: a claim keeps its class"
// +kubebuilder:validation:XValidation:rule="!has(self.size) || !has(oldSelf.size) || !quantity(self.size).isLessThan(quantity(oldSelf.size))",fieldPath=".size",message="cannot become less: a claim does not shrink"
type Storage struct {
	// size is that of each claim.
	// +optional
	// +kubebuilder:default="1Gi"
	Size resource.Quantity `json:"size,omitzero"`
	// storageClassName is that of each claim; the cluster's default if there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// whenDeleted says what happens to the claims of a PostgresCluster that is deleted.
	// +optional
	// +kubebuilder:default=Retain
	WhenDeleted WhenDeleted `json:"whenDeleted,omitempty"`
}

// WhenDeleted says what happens to claims.
//
// +kubebuilder:validation:Enum=Retain;Delete
type WhenDeleted string

// The values of WhenDeleted.
const (
	// Retain keeps them, and the Secret with the password that the operator made: a PostgresCluster
	// of the same name takes them over if its spec.adopt says so.
	Retain WhenDeleted = "Retain"
	// Delete deletes them with it.
	Delete WhenDeleted = "Delete"
)

// PostgresClusterStatus is what was observed, and what the operator must not forget.
type PostgresClusterStatus struct {
	statemachine.Record `json:",inline"`
	// members are those in replication, of those wanted, such as 3/3.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Members string `json:"members,omitempty"`
	// replicas counts the members' pods, and selector selects them: for the scale subresource.
	// +optional
	Replicas int32 `json:"replicas"`
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Selector string `json:"selector,omitempty"`
	// version is that of PostgreSQL on the primary.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// systemIdentifier is what initdb gave the cluster: once it stands here, initdb never runs again.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	SystemIdentifier string `json:"systemIdentifier,omitempty"`
	// primary is the member that was promoted last.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Primary string `json:"primary,omitempty"`
	// promotion is that of the primary.
	// +optional
	Promotion *Promotion `json:"promotion,omitempty"`
	// promotions is the number of the promotion that was announced last.
	// +optional
	Promotions int64 `json:"promotions,omitempty"`
	// announced is a promotion that may have happened.
	// +optional
	Announced *Announced `json:"announced,omitempty"`
	// primaryLostTime is since when the primary does not answer.
	// +optional
	PrimaryLostTime *metav1.Time `json:"primaryLostTime,omitempty"`
	// voters are the members of which the standbys acknowledge commits; nextVoters are those
	// that are about to. While there are both, either may be what the primary goes by.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Voters []string `json:"voters,omitempty"`
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	NextVoters []string `json:"nextVoters,omitempty"`
	// restoring is that the first member is started from the newest base backup.
	// +optional
	Restoring bool `json:"restoring,omitempty"`
	// adopting is that what the claims record was taken over, and not all members that it names
	// have answered yet.
	// +optional
	Adopting bool `json:"adopting,omitempty"`
	// revision counts the changes of primary, promotions and voters: of the records of them on the
	// claims, the one with the highest is the last.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// Promotion is one that happened.
type Promotion struct {
	// number counts promotions; no two have the same.
	// +required
	Number int64 `json:"number"`
	// from is the number of the promotion that the member had followed before.
	// +optional
	From int64 `json:"from,omitempty"`
	// lsn is the position in the write-ahead log up to which the member had followed it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LSN string `json:"lsn,omitempty"`
	// fromTimeline is the timeline of the write-ahead log that the member had until then.
	// +optional
	FromTimeline int32 `json:"fromTimeline,omitempty"`
	// timeline is the one that the promotion began. A standby without it has nothing of the promotion.
	// +optional
	Timeline int32 `json:"timeline,omitempty"`
}

// Announced is a promotion that may have happened.
type Announced struct {
	Promotion `json:",inline"`
	// member is the one to be promoted.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`
}
