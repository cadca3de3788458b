//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// chaos is how long members have troubles, all seeds together.
const chaos = 10 * time.Minute

// Members are killed, stopped, slowed, and have their volumes filled at random, and the operator is
// killed, while a client writes through -rw. After each of several seeds, each row that was
// acknowledged is there once.
func TestChaos(t *testing.T) {
	t.Parallel()
	first := uint64(time.Now().UnixNano())
	seeds := []uint64{first, first + 1, first + 2}
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
		seeds = []uint64{seed}
	}
	db := &database{namespace: newNamespace("chaos")}
	feature := features.New("chaos").
		WithSetup("a namespace", db.create).
		WithSetup("volumes", step(func(ctx context.Context, t *testing.T) {
			db.makeVolumes(ctx, t, 3)
			db.limitVolumes(ctx, t, 3)
		})).
		Assess("a cluster of three", step(func(ctx context.Context, t *testing.T) {
			db.applySample(ctx, t)
			db.complete(ctx, t, 3)
			db.boundWAL(ctx, t)
		})).
		Assess("a writer", step(db.startWriter))
	for _, seed := range seeds {
		feature.Assess(fmt.Sprintf("members and the operator have troubles at random, CHAOS_SEED=%d", seed), step(func(ctx context.Context, t *testing.T) {
			db.monkey(ctx, t, rand.New(rand.NewPCG(seed, 0)), chaos/time.Duration(len(seeds)))
		})).
			Assess("the cluster is Complete again", step(func(ctx context.Context, t *testing.T) {
				db.complete(ctx, t, 3)
				db.writes(ctx, t)
				db.complete(ctx, t, 3)
			})).
			Assess("nothing acknowledged is lost, and one is the primary", step(db.whole))
	}
	testenv.Test(t, feature.
		WithTeardown("the namespace", db.remove).
		WithTeardown("the volumes", step(db.removeVolumes)).Feature())
}

// monkey does one thing after the other for a time: mostly it leaves the cluster the time to fail over.
func (db *database) monkey(ctx context.Context, t *testing.T, random *rand.Rand, d time.Duration) {
	t.Helper()
	before := db.get(ctx, t).Status.Promotions
	until, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	members := []string{"db-0", "db-1", "db-2"}
	had := map[string]int{}
	wait.UntilWithContext(until, func(context.Context) {
		name := members[random.IntN(3)]
		if random.IntN(2) == 0 {
			name = db.get(ctx, t).Status.Primary
		}
		pause := func() {
			p, cancel := context.WithTimeout(until, time.Duration(random.IntN(20))*time.Second)
			defer cancel()
			<-p.Done()
		}
		had[db.trouble(ctx, t, random.IntN(11), name, members, pause)]++
		pause()
	}, 0)
	promotions := db.get(ctx, t).Status.Promotions - before
	t.Logf("%d promotions; troubles: %v", promotions, had)
	if promotions == 0 {
		t.Error("nothing was proven: no member was promoted")
	}
}

// trouble has a member have one of the troubles until after a pause, and returns what it was.
func (db *database) trouble(ctx context.Context, t *testing.T, n int, name string, members []string, pause func()) string {
	t.Helper()
	switch n {
	case 0, 1, 2:
		db.kill(ctx, t, name)
		return "killed"
	case 3:
		db.kill(ctx, t, members...)
		return "all killed"
	case 4, 5:
		killOperator(ctx, t)
		return "operator killed"
	case 6:
		db.shell(ctx, name, "kill -STOP -1") // all but the first process and this shell: kill(2)
		pause()
		db.shell(ctx, name, "kill -CONT -1")
		return "stopped"
	case 7: // its standbys stream, and whom it serves it serves on; it takes no connection
		const server = "read pid </var/lib/postgresql/data/postmaster.pid && kill -%s $pid"
		db.shell(ctx, name, fmt.Sprintf(server, "STOP"))
		pause()
		db.shell(ctx, name, fmt.Sprintf(server, "CONT"))
		return "stopped, but for those that it serves"
	case 8, 9:
		db.shell(ctx, name, "i=0; while [ $i -lt 20 ]; do kill -STOP -1; sleep 0.45; kill -CONT -1; sleep 0.05; i=$((i + 1)); done")
		db.shell(ctx, name, "kill -CONT -1")
		return "slowed"
	}
	// The claim's volume is called as its folder.
	folder := db.kubectl(ctx, t, "get", "persistentvolumeclaim", name, "-o", "jsonpath={.spec.volumeName}")
	filler := fmt.Sprintf("/var/local/%s/%s/filler", db.namespace, folder[len(db.namespace)+1:])
	db.asNode(ctx, t, "dd if=/dev/zero of="+filler+" bs=1M 2>/dev/null; true") // until it is full
	pause()
	db.asNode(ctx, t, "rm -f "+filler)
	return "filled"
}

// shell has the shell of a member execute something, if there is one: its pod may be gone.
func (db *database) shell(ctx context.Context, name, script string) {
	_, _ = db.try(ctx, "exec", name, "--", "sh", "-c", script)
}
