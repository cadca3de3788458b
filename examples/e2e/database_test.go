//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	postgres "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// A database is the PostgresCluster db of a namespace, with a writer and volumes.
type database struct{ namespace }

// The nodes have no provisioner: the volumes are made before, as folders of a worker.
func (db *database) makeVolumes(ctx context.Context, t *testing.T, n int) {
	folders := []string{"mkdir", "-p"}
	for i := range n {
		folders = append(folders, fmt.Sprintf("/volumes/%s/%d", db.namespace, i))
	}
	worker := db.onWorker(ctx, t, folders...)
	volumes := fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %[1]s, labels: {e2e: %[1]s}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
`, db.namespace)
	for i := range n {
		volumes += fmt.Sprintf(`---
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-%[2]d, labels: {e2e: %[1]s}}
spec:
  storageClassName: %[1]s
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /var/local/%[1]s/%[2]d}
  nodeAffinity:
    required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%[3]s]}]}]}
`, db.namespace, i, worker)
	}
	db.apply(ctx, t, volumes)
}

// limitVolumes gives the volumes an end, each a file system in the worker's memory.
func (db *database) limitVolumes(ctx context.Context, t *testing.T, n int) {
	for i := range n {
		db.asNode(ctx, t, fmt.Sprintf("mount -t tmpfs -o size=700m,mode=0777 tmpfs /var/local/%s/%d", db.namespace, i))
	}
}

// boundWAL has the WAL of members, of which each promotion takes a segment, leave room on limited
// volumes. Copies of their data have the setting, too.
func (db *database) boundWAL(ctx context.Context, t *testing.T) {
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		db.kubectl(ctx, t, "exec", name, "--", "sh", "-c", "printf 'max_wal_size = 96MB\nmin_wal_size = 32MB\n' >>/var/lib/postgresql/data/postgresql.conf")
		db.psql(ctx, t, name, "SELECT pg_reload_conf()")
	}
}

// asNode has the shell of a worker execute something, among the worker's own mounts.
func (db *database) asNode(ctx context.Context, t *testing.T, script string) {
	t.Helper()
	db.onWorker(ctx, t, "nsenter", "--target", "1", "--mount", "sh", "-c", script)
}

// onWorker runs a command on a worker, whose /var/local is mounted at /volumes, and returns the worker's name.
func (db *database) onWorker(ctx context.Context, t *testing.T, command ...string) string {
	t.Helper()
	const in = namespace("default")         // the database's own may be gone
	arguments, err := json.Marshal(command) // which is YAML, too
	if err != nil {
		t.Fatal(err)
	}
	worker := in.kubectl(ctx, t, "get", "nodes", "--selector=!node-role.kubernetes.io/control-plane", "-o", "jsonpath={.items[0].metadata.name}")
	in.apply(ctx, t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  restartPolicy: Never
  nodeName: %[2]s
  hostPID: true
  containers:
    - name: command
      image: postgrescluster-member:dev
      command: %[3]s
      securityContext: {runAsUser: 0, privileged: true}
      volumeMounts: [{name: volumes, mountPath: /volumes}]
  volumes:
    - {name: volumes, hostPath: {path: /var/local, type: DirectoryOrCreate}}
`, db.namespace, worker, arguments))
	in.kubectl(ctx, t, "wait", "pod/"+string(db.namespace), "--for=jsonpath={.status.phase}=Succeeded", "--timeout", conditionTimeout.String())
	in.kubectl(ctx, t, "delete", "pod", string(db.namespace))
	return worker
}

func (db *database) removeVolumes(ctx context.Context, t *testing.T) {
	db.kubectl(ctx, t, "delete", "persistentvolumes,storageclasses", "--selector=e2e="+string(db.namespace))
	db.asNode(ctx, t, fmt.Sprintf("for v in /var/local/%[1]s/*; do umount -l $v 2>/dev/null; done; rm -rf /var/local/%[1]s", db.namespace))
}

// applySample applies the sample, on the volumes that were made.
func (db *database) applySample(ctx context.Context, t *testing.T) {
	sample, err := os.ReadFile("../postgrescluster/config/samples/postgrescluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(sample), "name: sample", "name: db", 1)
	db.apply(ctx, t, text+fmt.Sprintf("  failoverDelay: 5s\n  storage: {storageClassName: %s}\n", db.namespace))
}

func (db *database) get(ctx context.Context, t *testing.T) *postgres.PostgresCluster {
	t.Helper()
	object, err := db.tryGet(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func (db *database) tryGet(ctx context.Context) (*postgres.PostgresCluster, error) {
	out, err := db.try(ctx, "get", "postgrescluster", "db", "-o", "json")
	if err != nil {
		return nil, err
	}
	object := &postgres.PostgresCluster{}
	return object, json.Unmarshal([]byte(out), object)
}

// complete waits until the cluster is Complete and Ready with so many members.
func (db *database) complete(ctx context.Context, t *testing.T, size int) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		object, err := db.tryGet(ctx)
		if err != nil {
			return err
		}
		s := object.Status
		if s.Phase != "Complete" || s.ObservedGeneration != object.Generation || s.Members != fmt.Sprintf("%d/%d", size, size) || !meta.IsStatusConditionTrue(s.Conditions, "Ready") {
			return fmt.Errorf("it is %s with %s members, %s: %s", s.Phase, s.Members, s.Reason, s.Message)
		}
		return nil
	})
}

// kill deletes pods of members without a grace period. It does not wait until they are
// gone: others have their names soon, and kubectl has waited for those.
func (db *database) kill(ctx context.Context, t *testing.T, names ...string) {
	t.Helper()
	db.kubectl(ctx, t, append([]string{"delete", "pods", "--grace-period=0", "--force", "--wait=false", "--ignore-not-found"}, names...)...)
}

// replace kills members, does what comes meanwhile, and waits until all are there again.
func (db *database) replace(ctx context.Context, t *testing.T, names []string, meanwhile ...func(context.Context, *testing.T)) {
	t.Helper()
	uids := func(ctx context.Context) (string, error) {
		return db.try(ctx, append([]string{"get", "pods", "-o", "jsonpath={.items[*].metadata.uid}{.metadata.uid}"}, names...)...)
	}
	before, err := uids(ctx)
	if err != nil {
		t.Fatal(err)
	}
	status := db.get(ctx, t).Status
	promotions := status.Promotions
	if slices.Contains(names, status.Primary) {
		promotions++ // whoever is promoted now
	}
	db.kill(ctx, t, names...)
	for _, do := range meanwhile {
		do(ctx, t)
	}
	eventually(ctx, t, func(ctx context.Context) error {
		now, err := uids(ctx)
		if err != nil {
			return err
		}
		for uid := range strings.FieldsSeq(now) {
			if strings.Contains(before, uid) {
				return fmt.Errorf("the pod %s is still there", uid)
			}
		}
		object, err := db.tryGet(ctx)
		if err == nil && object.Status.Promotions < promotions {
			err = fmt.Errorf("nobody is promoted yet: %s", object.Status.Message)
		}
		return err
	})
	db.complete(ctx, t, 3)
}

func (db *database) startWriter(ctx context.Context, t *testing.T) {
	db.psql(ctx, t, db.get(ctx, t).Status.Primary, "CREATE TABLE t (v int)")
	db.kubectl(ctx, t, "apply", "-f", "manifests/writer.yaml")
	db.kubectl(ctx, t, "wait", "pod/writer", "--for=condition=Ready", "--timeout", conditionTimeout.String())
	db.writes(ctx, t)
}

// psql has a member execute a statement, and returns what it answers.
func (db *database) psql(ctx context.Context, t *testing.T, name, statement string) string {
	t.Helper()
	return db.kubectl(ctx, t, "exec", name, "--", "psql", "--host=127.0.0.1", "--username=postgres", "--no-align", "--tuples-only", "--command="+statement)
}

// acknowledged are the numbers whose INSERT was acknowledged.
func (db *database) acknowledged(ctx context.Context) ([]string, error) {
	log, err := db.try(ctx, "logs", "writer")
	var numbers []string
	for line := range strings.Lines(log) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "acknowledged "); ok {
			numbers = append(numbers, number)
		}
	}
	return numbers, err
}

// writes waits until more is acknowledged than was.
func (db *database) writes(ctx context.Context, t *testing.T) {
	t.Helper()
	before, err := db.acknowledged(ctx)
	if err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, func(ctx context.Context) error {
		now, err := db.acknowledged(ctx)
		if err == nil && len(now) == len(before) {
			err = fmt.Errorf("the writer has %d acknowledgments, as before", len(now))
		}
		return err
	})
}

// whole asserts that each number that was acknowledged is there once, and one member is
// no standby.
func (db *database) whole(ctx context.Context, t *testing.T) {
	numbers, err := db.acknowledged(ctx)
	if err != nil {
		t.Fatal(err)
	}
	status := db.get(ctx, t).Status
	rows := strings.Fields(db.psql(ctx, t, status.Primary, "SELECT v FROM t"))
	count := map[string]int{}
	for _, row := range rows {
		count[row]++
	}
	for _, number := range numbers {
		if count[number] != 1 {
			t.Errorf("%s was acknowledged, and is there %d times", number, count[number])
		}
	}
	t.Logf("%d rows were acknowledged, of %d that are there", len(numbers), len(rows))
	var primaries []string
	for _, name := range status.Voters {
		if db.psql(ctx, t, name, "SELECT pg_is_in_recovery()") == "f" {
			primaries = append(primaries, name)
		}
	}
	if !slices.Equal(primaries, []string{status.Primary}) {
		t.Errorf("the primaries are %v, and the status has %s", primaries, status.Primary)
	}
}
