//go:build e2e

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// chaos is how long pods are killed.
const chaos = 3 * time.Minute

// Members and the operator are killed at random, while a client writes through -rw. In
// the end each row that was acknowledged is there once.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
	}
	t.Logf("CHAOS_SEED=%d", seed)
	db := &database{namespace: newNamespace("chaos")}
	testenv.Test(t, features.New("chaos").
		WithSetup("a namespace", db.create).
		WithSetup("volumes", step(func(ctx context.Context, t *testing.T) { db.makeVolumes(ctx, t, 3) })).
		Assess("a cluster of three", step(func(ctx context.Context, t *testing.T) {
			db.applySample(ctx, t)
			db.complete(ctx, t, 3)
		})).
		Assess("a writer", step(db.startWriter)).
		Assess("members and the operator are killed at random", step(func(ctx context.Context, t *testing.T) { db.monkey(ctx, t, rand.New(rand.NewPCG(seed, 0))) })).
		Assess("the cluster is Complete again", step(func(ctx context.Context, t *testing.T) {
			db.complete(ctx, t, 3)
			db.writes(ctx, t)
			db.complete(ctx, t, 3)
		})).
		Assess("nothing acknowledged is lost, and one is the primary", step(db.whole)).
		WithTeardown("the namespace", db.remove).
		WithTeardown("the volumes", step(db.removeVolumes)).Feature())
}

// monkey kills one thing after the other: mostly it leaves the cluster the time to fail over.
func (db *database) monkey(ctx context.Context, t *testing.T, random *rand.Rand) {
	t.Helper()
	before := db.get(ctx, t).Status.Promotions
	until, cancel := context.WithTimeout(ctx, chaos)
	defer cancel()
	members := []string{"db-0", "db-1", "db-2"}
	wait.UntilWithContext(until, func(context.Context) {
		switch random.IntN(8) {
		case 0, 1, 2:
			db.kill(ctx, t, db.get(ctx, t).Status.Primary)
		case 3, 4:
			db.kill(ctx, t, members[random.IntN(3)])
		case 5:
			db.kill(ctx, t, members...)
		case 6, 7:
			killOperator(ctx, t)
		}
		pause, cancel := context.WithTimeout(until, time.Duration(random.IntN(20))*time.Second)
		defer cancel()
		<-pause.Done()
	}, 0)
	promotions := db.get(ctx, t).Status.Promotions - before
	t.Logf("%d promotions", promotions)
	if promotions == 0 {
		t.Error("nothing was proven: no member was promoted")
	}
}
