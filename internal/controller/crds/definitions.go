// Package crds compares the installed CustomResourceDefinitions with those that the operator
// is built with, and decides which requests are reconciled.
package crds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/config/crd"
)

// exporters is the name of the definition of PrometheusJmxExporters.
const exporters = "prometheusjmxexporters.banzaicloud.com"

// Definitions are the schemas of the operator's kinds: those that it is built with, and those of
// the installed CustomResourceDefinitions. They are safe for concurrent use.
type Definitions struct {
	built map[string]*schema

	mu        sync.Mutex
	installed map[string]installed
	outdated  string
	// settle updates outdated when definitions that are mended have settled.
	settle *time.Timer
	// changed are called, without the lock, after outdated has changed.
	changed []func()
}

// installed is a CustomResourceDefinition as it was read; the zero value does not exist.
type installed struct {
	schema *schema
	// missing are its fields and values that the operator needs.
	missing []string
	// failure is why it could not be read; nil if it was read, or does not exist.
	failure error
}

// errUnread is the failure before the first attempt to read.
var errUnread = errors.New("not read yet")

// NewDefinitions returns Definitions of which none is read yet.
func NewDefinitions() (*Definitions, error) {
	d := &Definitions{built: map[string]*schema{}, installed: map[string]installed{}}
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			return nil, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &definition); err != nil {
			return nil, err
		}
		d.built[definition.Name] = servedSchema(&definition)
		d.installed[definition.Name] = installed{failure: errUnread}
	}
	return d, nil
}

// Outdated returns which definition lacks what, and what to do; empty if none does. One that does
// not exist lacks nothing: there are no objects, and no write to them.
func (d *Definitions) Outdated() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outdated
}

// Unread returns an error until all definitions were read.
func (d *Definitions) Unread() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.installed)) {
		if err := d.installed[name].failure; err != nil {
			return fmt.Errorf("cannot read the CustomResourceDefinition %s; nothing is attached, changed or detached until it is read. If that is forbidden, apply the ClusterRole and the ClusterRoleBinding jmx-exporter-crds (config/users, or the chart with sharedObjects.enabled): %w", name, err)
		}
	}
	return nil
}

func (d *Definitions) missingOf(name string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.installed[name].missing
}

func (d *Definitions) installedSchema(name string) *schema {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.installed[name].schema
}

// schemaPropagation is the time from the change of a definition until all API servers use it, have ended
// the watches of its kind, and the operator has listed the objects again: what it listed before
// lacks fields, and has the same resource versions.
const schemaPropagation = 10 * time.Second

// set keeps what was read of a definition; nil if it does not exist.
func (d *Definitions) set(ctx context.Context, name string, definition *apiextensionsv1.CustomResourceDefinition) {
	var is installed
	if definition != nil {
		is.schema = servedSchema(definition)
		is.missing = missing(d.built[name], is.schema, "")
	}
	d.mu.Lock()
	d.installed[name] = is
	settled, outdated := d.outdated == "", d.sum() != ""
	if d.settle != nil {
		d.settle.Stop()
	}
	if !settled && !outdated {
		d.settle = time.AfterFunc(schemaPropagation, func() { d.update(ctx) })
	}
	d.mu.Unlock()
	if outdated {
		d.update(ctx)
	}
}

// update updates outdated, and announces a change.
func (d *Definitions) update(ctx context.Context) {
	d.mu.Lock()
	before := d.outdated
	d.outdated = d.sum()
	after, changed := d.outdated, slices.Clone(d.changed)
	d.mu.Unlock()
	switch {
	case before == after:
		return
	case after == "":
		ctrl.LoggerFrom(ctx).Info("the CustomResourceDefinitions are up to date; continuing")
	default:
		ctrl.LoggerFrom(ctx).Error(errors.New(after), "nothing is attached or changed")
	}
	for _, notify := range changed {
		notify()
	}
}

// fail keeps why a definition could not be read. One that was read before stays as it was.
func (d *Definitions) fail(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.installed[name].failure != nil {
		d.installed[name] = installed{failure: err}
	}
}

// maxListed is the maximum number of missing fields that a message lists.
const maxListed = 5

// sum returns what the definitions lack, and what to do. The caller holds d.mu.
func (d *Definitions) sum() string {
	var lacks []string
	for _, name := range slices.Sorted(maps.Keys(d.installed)) {
		if fields := d.installed[name].missing; len(fields) > 0 {
			lacks = append(lacks, lack(name, fields))
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return strings.Join(lacks, " ") + " Nothing is attached, changed or detached; existing endpoints keep serving." +
		" Apply the CustomResourceDefinitions of the operator's release: kubectl apply --server-side -k config/crd, or helm upgrade with crds.enabled=true."
}

func lack(name string, fields []string) string {
	if fields[0] == "" {
		return fmt.Sprintf("The CustomResourceDefinition %s does not serve the version %s.", name, v1alpha1.GroupVersion.Version)
	}
	return fmt.Sprintf("The CustomResourceDefinition %s is older than the operator: it lacks %s.", name, firstFew(fields))
}

// firstFew lists some fields, and counts the others.
func firstFew(fields []string) string {
	if more := len(fields) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(fields[:maxListed], ", "), more)
	}
	return strings.Join(fields, ", ")
}
