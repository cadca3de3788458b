package source

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// configs is what is known of the configurations that exporters refer to: one entry for all
// exporters that refer to the same key of a ConfigMap, as long as there is one.
type configs struct {
	mu    sync.Mutex
	users map[types.NamespacedName]user
	known map[configKey]*config
}

// configKey is a key of a ConfigMap.
type configKey struct {
	namespace string
	v1alpha1.ConfigMapKey
}

// configMap returns the key of the ConfigMap itself.
func (k configKey) configMap() client.ObjectKey {
	return client.ObjectKey{Namespace: k.namespace, Name: k.ConfigMapName}
}

// String returns an unambiguous name: none of its parts has a slash.
func (k configKey) String() string { return k.configMap().String() + "/" + k.ConfigMapKey.ConfigMapKey }

// config is what was read of a ConfigMap, without the content.
type config struct {
	users           int
	resourceVersion string // empty until it is read
	input           steps.Input
}

// user is an exporter, with the ConfigMap as it saw it last.
type user struct {
	key             configKey
	resourceVersion string
}

// refer notes to what an exporter refers.
func (c *configs) refer(exporter types.NamespacedName, key configKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users[exporter].key == key {
		return
	}
	c.release(exporter)
	if c.users == nil {
		c.users, c.known = map[types.NamespacedName]user{}, map[configKey]*config{}
	}
	c.users[exporter] = user{key: key}
	if c.known[key] == nil {
		c.known[key] = &config{}
	}
	c.known[key].users++
}

// get returns what is known of a ConfigMap, if it is as new as a resource version.
func (c *configs) get(key configKey, resourceVersion string) (config, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[key]
	if known == nil || known.resourceVersion == "" || cached.Older(known.resourceVersion, resourceVersion) {
		return config{}, false
	}
	return *known, true
}

// set notes what was read of a ConfigMap, if an exporter still refers to it.
func (c *configs) set(key configKey, read config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[key]; known != nil {
		known.resourceVersion, known.input = read.resourceVersion, read.input
	}
}

// saw reports whether an exporter sees another version of its ConfigMap than the last time.
func (c *configs) saw(exporter types.NamespacedName, resourceVersion string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, found := c.users[exporter]
	if !found || u.resourceVersion == resourceVersion {
		return false
	}
	u.resourceVersion = resourceVersion
	c.users[exporter] = u
	return true
}

// forget drops an exporter, and what only it refers to.
func (c *configs) forget(exporter types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(exporter)
}

// release does what forget does. The caller holds c.mu.
func (c *configs) release(exporter types.NamespacedName) {
	u, found := c.users[exporter]
	if !found {
		return
	}
	delete(c.users, exporter)
	if c.known[u.key].users--; c.known[u.key].users == 0 {
		delete(c.known, u.key)
	}
}
