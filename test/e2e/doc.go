// Package e2e tests the whole on a real cluster with real JVMs:
//
//	go test -tags e2e ./test/e2e/...
//
// It takes the kind cluster of hack/cluster, which it brings up if it is
// not there, and leaves everything as it found it. Environment:
//
//	E2E_CLUSTER=existing  takes the current context instead
//	IMAGES=present        with it: the images are there already (hack/images build makes them)
//	E2E_IMAGES="A B"      loads only these images, those of the features that -run names
//	E2E_KEEP=1            leaves the cluster, the operator and the namespaces of failed features for a look
//	FULL=1                also runs what leftToFull and kinds.Kind.ProvedBy leave to it, as -run does with what it names
//	JMX_STEADY=10m        for how long TestSteady sees that nothing happens; a minute if left out
//
// A feature has a namespace of its own. Those that need the operator to
// themselves (it is killed, loses a right, is scaled to zero) run first, one by
// one; the others then run side by side, in the order of the files.
//
// A feature belongs here if only a node can prove it: by a kubelet, a runtime, a JVM in
// a container, or a network. What others of its kind add, which tests without a node
// prove as well, runs with FULL=1.
package e2e
