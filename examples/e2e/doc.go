// Package e2e tests the examples on a kind cluster, which is up:
//
//	make cluster-up
//	eval "$(hack/cluster env)"
//	cd examples/e2e && go test -tags e2e -timeout 40m -parallel 3 .
//
// It builds and loads the images, deploys the operators, and takes all of it away
// again, but for the folders of the volumes on the worker. TestChaos has three
// seeds in ten minutes; CHAOS_SEED has it repeat one.
package e2e
