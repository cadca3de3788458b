//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// A cluster's life, beside a client that writes.
func TestPostgresCluster(t *testing.T) {
	t.Parallel()
	db := &database{namespace: newNamespace("postgres")}
	testenv.Test(t, features.New("PostgresCluster").
		WithSetup("a namespace", db.create).
		WithSetup("volumes", step(func(ctx context.Context, t *testing.T) { db.makeVolumes(ctx, t, 8) })).
		Assess("a cluster of three", step(func(ctx context.Context, t *testing.T) {
			db.applySample(ctx, t)
			db.complete(ctx, t, 3)
			db.columns(ctx, t)
		})).
		Assess("a writer", step(db.startWriter)).
		Assess("three become five, with the operator killed midway", step(func(ctx context.Context, t *testing.T) {
			db.kubectl(ctx, t, "patch", "postgrescluster", "db", "--type=merge", `--patch={"spec":{"size":5}}`)
			eventually(ctx, t, func(ctx context.Context) error {
				out, err := db.try(ctx, "get", "pod", "db-3", "-o", "name")
				if err != nil {
					return fmt.Errorf("%s: %w", out, err)
				}
				return nil
			})
			killOperator(ctx, t)
			db.complete(ctx, t, 5)
			db.writes(ctx, t)
		})).
		Assess("five become three", step(func(ctx context.Context, t *testing.T) {
			db.kubectl(ctx, t, "patch", "postgrescluster", "db", "--type=merge", `--patch={"spec":{"size":3}}`)
			db.complete(ctx, t, 3)
			db.writes(ctx, t)
		})).
		Assess("a standby that is deleted comes back", step(func(ctx context.Context, t *testing.T) {
			primary := db.get(ctx, t).Status.Primary
			for _, name := range []string{"db-0", "db-1", "db-2"} {
				if name != primary {
					db.replace(ctx, t, []string{name})
					break
				}
			}
			if now := db.get(ctx, t).Status.Primary; now != primary {
				t.Errorf("the primary is %s, and was %s", now, primary)
			}
			db.writes(ctx, t)
		})).
		Assess("a primary that is killed comes back, with the operator killed midway", step(func(ctx context.Context, t *testing.T) {
			db.replace(ctx, t, []string{db.get(ctx, t).Status.Primary}, killOperator)
			db.writes(ctx, t)
		})).
		Assess("a standby is promoted in place of a primary that is killed each time it starts", step(func(ctx context.Context, t *testing.T) {
			lost := db.get(ctx, t).Status.Primary
			eventually(ctx, t, func(ctx context.Context) error {
				db.kill(ctx, t, lost)
				object, err := db.tryGet(ctx)
				if err == nil && object.Status.Primary == lost {
					err = fmt.Errorf("the primary is still %s: %s", lost, object.Status.Message)
				}
				return err
			})
			db.complete(ctx, t, 3)
			db.writes(ctx, t)
		})).
		Assess("all members are recovered from their claims", step(func(ctx context.Context, t *testing.T) {
			db.replace(ctx, t, []string{"db-0", "db-1", "db-2"})
			db.writes(ctx, t)
		})).
		Assess("nothing acknowledged is lost, and one is the primary", step(db.whole)).
		// The writer connects to the Service of the first one.
		Assess("the claims of a deleted cluster are taken over by the next", step(func(ctx context.Context, t *testing.T) {
			before := db.get(ctx, t)
			db.kubectl(ctx, t, "delete", "postgrescluster", "db", "--timeout", conditionTimeout.String())
			db.applySample(ctx, t)
			db.kubectl(ctx, t, "patch", "postgrescluster", "db", "--type=merge", `--patch={"spec":{"adopt":"Claims"}}`)
			db.complete(ctx, t, 3)
			if now := db.get(ctx, t); now.UID == before.UID || now.Status.SystemIdentifier != before.Status.SystemIdentifier || now.Status.Primary != before.Status.Primary {
				t.Errorf("the status is %+v, and was %+v", now.Status, before.Status)
			}
		})).
		Assess("nothing acknowledged is lost with it", step(db.whole)).
		WithTeardown("the namespace", db.remove).
		WithTeardown("the volumes", step(db.removeVolumes)).Feature())
}

// killOperator takes the operator's pod away without a warning.
func killOperator(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := kubectl(ctx, "delete", "pods", "--namespace=postgrescluster-system", "--all", "--grace-period=0", "--force", "--wait=false"); err != nil {
		t.Fatal(err)
	}
}

func (db *database) columns(ctx context.Context, t *testing.T) {
	t.Helper()
	table := strings.Fields(db.kubectl(ctx, t, "get", "postgresclusters"))
	got := strings.Join(table[:len(table)-1], " ") // without the age
	if want := "NAME PHASE MEMBERS PRIMARY VERSION READY AGE db Complete 3/3 db-0 " + db.get(ctx, t).Status.Version + " True"; got != want {
		t.Errorf("kubectl get prints %s; want %s", got, want)
	}
}
