# The suites of hack/test, a function each. Sourced, by it.
every_change=(unit hostile fuzz integration faults kubernetes examples agent e2e)
only_all=(mutants demo applications release offline arm64)

# The files that a suite depends on. The suites unit, fuzz and hostile look at each package, by hack/changed.
declare -A tested=(
  [integration]="apis charts config internal pkg hack/binaries hack/build.sh hack/kubernetes.sh hack/tools test/controlplane test/fakenode test/golden test/integration test/monitoring test/rights agent cmd/jmx-attach test/apps docs README.md go.mod go.sum"
  [faults]="apis config/crd internal pkg hack/binaries hack/previous hack/build.sh hack/kubernetes.sh hack/tools test/controlplane test/fakenode test/faults go.mod go.sum"
  [kubernetes]="apis charts config internal pkg hack/binaries hack/build.sh hack/kubernetes.sh hack/tools test/controlplane test/fakenode test/golden test/integration test/rights docs README.md go.mod go.sum"
  [examples]="examples :!examples/e2e pkg/statemachine pkg/apply pkg/effects pkg/operator go.mod Makefile hack/binaries hack/build.sh hack/kubernetes.sh hack/new-operator hack/newoperator hack/tools test/newoperator"
  [agent]="agent test/apps hack/apt.sh hack/jvms hack/packages.sh"
  [e2e]="apis charts cmd config docs README.md internal pkg agent hack :!hack/release :!hack/docs :!hack/compatibility :!hack/manifests :!hack/screenshots kind-config.yaml test/apps test/e2e test/rights go.mod go.sum"
)

# left_to_all SUITE: prints what only make test-all runs.
left_to_all() {
  case $1 in
    unit) echo "unit         packages that have not changed since they passed; Java 11 to 27 and repetitions where no version matters" ;;
    hostile) ;;
    fuzz) echo "fuzz         a minute for each target instead of $short_fuzz" ;;
    integration) echo "integration  the race detector; crashes whose rule is the engine's; TestBigFleet with 1 000 pods, TestHangingPods with 500" ;;
    faults) echo "faults       ten of eleven plans (make test-faults)" ;;
    kubernetes) echo "kubernetes   the versions between the oldest and the newest" ;;
    examples) echo "examples     skeleton, which the generated operator stands for; postgrescluster: chaos with three seeds of ten minutes, each crash alone and repeated, crashes while seeding, resizing and restoring, some taken names; pulsarconsumer: a broker that restarts" ;;
    agent) echo "agent        $(agent/test --full)" ;;
    e2e) echo "e2e          the examples on the cluster; features and pods that tests without a node prove, too: leftToFull and ProvedBy in test/e2e" ;;
    mutants) echo "mutants      all: the code broken rule by rule, and a test that notices each (make test-mutants)" ;;
    demo) echo "demo         all: the demo's path on a cluster of the newest Kubernetes (minutes, with its binaries a quarter of an hour)" ;;
    applications) echo "applications all: the rule sets of config/rules on the applications that they are for" ;;
    release) echo "release      all: a release built twice, pushed, signed and verified" ;;
    arm64) echo "arm64        all: the suite hostile and Java 8 to 28 on an emulated arm64 machine" ;;
    offline) echo "offline      all: what make cluster-down leaves, also after a crash of the engine" ;;
  esac
}

# The race detector needs a C compiler, which is checked before the first test.
racetest() { # FLAGS AND PACKAGES...
  local cc
  cc=$(go env CC)
  echo 'int main(void) { return 0; }' | $cc -x c -o /dev/null - || fail "The race detector needs a C compiler and the C library's headers, and '$cc' does not build a program: install gcc and libc6-dev, or set CC."
  CGO_ENABLED=1 gotest -race "$@"
}
# Run by runner. Never from Go's cache, which does not know the processes that these tests look at. Not vetted:
# make verify does that. Without the checkout's path in it, another checkout can use what is compiled here. The time limit
# only stops tests that hang.
runner=()
gotest() { # FLAGS AND PACKAGES...
  summed --format pkgname-and-test-fails --format-hide-empty-pkg -- -count=1 -vet=off -trimpath -timeout 2h "$@"
}
summed() { # ARGUMENTS OF GOTESTSUM...
  local failed=0
  "${runner[@]}" go tool -modfile="$repo/hack/tools/go.mod" gotestsum --no-color --jsonfile "$results/run.json" "$@" || failed=1
  cat "$results/run.json" >>"$results/$suite.json"
  return $failed
}

# The JVM tests load these jars and attach to these applications.
build() {
  step "building the agent" agent/build
  step "building the test application" test/apps/build
}

# Run by changed: WHAT is run with those of the packages that have not passed SUITE with their present content, with FULL all.
changed() { # SUITE WHAT PACKAGE...
  local list=$results/$1.packages packages=("${@:3}")
  hack/changed "$1" "${packages[@]}" >"$list"
  if [ -z "$FULL" ]; then
    mapfile -t packages < <(cut -d' ' -f1 "$list")
    say "$1: ${#packages[@]} of $(($# - 2)) packages have changed since they passed here"
  fi
  [ ${#packages[@]} = 0 ] || "$2" "${packages[@]}" || return
  hack/changed --passed <"$list"
}

unit() {
  build
  ! debian_root || packages busybox-static:busybox # one of the shells for the helper's scripts
  local runner=(hack/jvms run)
  changed unit racetest $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -v /test/)
  nested
}

# Modules of their own, because of what they depend on; seconds.
nested() {
  local runner=() module failed=0
  for module in hack/licenses hack/newoperator test/bench/plots test/gitops; do (cd "$module" && gotest ./...) || failed=1; done
  return $failed
}

# Without the race detector: floods should hit the operator's limits, not its deadlines.
hostile() {
  build
  local runner=(hack/jvms run)
  changed hostile gotest ./test/hostile
}

short_fuzz=1s
fuzz() {
  [ -n "$FULL" ] || export FUZZTIME=${FUZZTIME:-$short_fuzz}
  changed fuzz hack/fuzz $(grep -rl --include='*_test.go' '^func Fuzz' cmd internal pkg | xargs -n 1 dirname | sort -u | sed 's#^#./#')
}

integration() {
  KUBEBUILDER_ASSETS=$(hack/binaries assets)
  export KUBEBUILDER_ASSETS
  local run=gotest
  [ -z "$FULL" ] || run=racetest
  build # of TestDashboards
  $run -parallel 8 ./test/integration/... ./test/monitoring/... ./test/rights/...
}

# The table of test/faults is printed: it states what was tested.
faults() {
  KUBEBUILDER_ASSETS=$(hack/binaries assets)
  export KUBEBUILDER_ASSETS FAULTS_TABLE=$results/faults.md
  local failed=0
  rm -f "$FAULTS_TABLE"
  gotest -parallel 8 ./test/faults || failed=1
  cat "$FAULTS_TABLE" || failed=1
  return $failed
}

# Prints which rules were broken, and whether a test noticed.
mutants() {
  KUBEBUILDER_ASSETS=$(hack/binaries assets)
  export KUBEBUILDER_ASSETS MUTANTS_TABLE=$results/mutants.md
  local failed=0
  build
  rm -f "$MUTANTS_TABLE"
  gotest -tags mutants -run '^TestMutants$' ./hack/mutants || failed=1
  cat "$MUTANTS_TABLE" || failed=1
  return $failed
}

# The tests of what depends on the version of the API server.
by_version=(
  Kubernetes Platforms Installations 'Chart.*' DefaultRoles 'Rights.*'                      # installed
  Validation PodOfAnAttachmentIsImmutable ManifestOfTheAncestor Columns 'Status.*' # kinds
  'Contain.*' AuthorityAttacks 'Tenants.*' Subresources AttachRole SecurityRejected # policies
  'Apply.*' 'Foreign.*' ConflictNamesTheManager Gone                               # server-side apply
  'Exec.*' AnnotationRefused DoorOfStaticPod ReviewByRole MetricsEndpoint 'Service.*' Manager RemovedWithCRDs # the operator's requests
)
kubernetes() { # with KUBERNETES, only this one
  local minor minors=${KUBERNETES:-$(minors_tested)} assets failed=0 tests pattern
  unset KUBERNETES # kubectl is that of the cluster with each
  for pattern in "${by_version[@]}"; do # a renamed test would drop out silently
    grep -qE "^func Test$pattern\(" test/integration/*_test.go || fail "by_version in hack/suites.sh: no test of test/integration matches Test$pattern."
  done
  tests="^Test($(IFS='|' && echo "${by_version[*]}"))$"
  for minor in $minors; do
    assets=$(hack/binaries assets "$minor")
    say "the API server of Kubernetes $minor"
    KUBEBUILDER_ASSETS=$assets gotest -parallel 8 -run "$tests" ./test/integration || failed=1
  done
  return $failed
}
# The oldest and the newest, with FULL all.
minors_tested() { hack/binaries minors | if [ -n "$FULL" ]; then cat; else sed -n '1p;$p'; fi; }

# Each example is a separate module; test/newoperator builds, tests and runs what make new-operator writes.
examples() {
  KUBEBUILDER_ASSETS=$(hack/binaries assets)
  export KUBEBUILDER_ASSETS
  packages postgresql-15:/usr/lib/postgresql/15/bin/postgres
  local module failed=0
  gotest ./test/newoperator || failed=1
  for module in $(git ls-files --cached --others --exclude-standard 'examples/*go.mod'); do
    [ "$module" != examples/e2e/go.mod ] || continue # part of suite e2e, which has the cluster
    # The generated operator has the skeleton's tests.
    [ -n "$FULL" ] || [ "$module" != examples/skeleton/go.mod ] || continue
    (cd "${module%/*}" && gotest -parallel 6 ./...) || failed=1
  done
  exit $failed
}

agent() { hack/jvms run agent/test; }

# The helper and the agent are loaded as the operator loads them.
applications() {
  build
  step "building the helper" hack/helper-build
  hack/binaries prometheus promtool >/dev/null
  gotest ./test/applications
}

release() { hack/release/release test; }

# The size of pages matters to JVMs.
arm64() {
  build
  local failed=0 pages major
  emulated 4 hostile || failed=1
  for pages in 4 16; do
    for major in $(hack/arm64/run majors); do emulated $pages "$major" || failed=1; done
  done
  exit $failed
}
emulated() { hack/arm64/run "$@" | summed --format testname --raw-command -- cat; } # PAGES WHAT

# on_cluster COMMAND...: runs a command on a cluster, which is deleted afterwards unless it existed before.
on_cluster() {
  local before=0 failed=0
  hack/cluster status >/dev/null 2>&1 || before=$?
  hack/cluster up || {
    # A cluster that existed, but did not answer, is not deleted.
    [ "$before" != 1 ] || hack/cluster down
    return 1
  }
  "$@" || failed=1
  if [ "$before" != 0 ]; then hack/cluster down || failed=1; else say "the cluster was up before, so it stays"; fi
  return $failed
}

e2e() {
  build
  on_cluster tests_on_cluster
}
tests_on_cluster() {
  local failed=0
  gotest -tags e2e ./test/e2e/... || failed=1
  # They deploy the operator too, so they run afterwards.
  if [ -n "$FULL" ]; then
    (eval "$(hack/cluster env)" && cd examples/e2e && gotest -parallel 3 -tags e2e .) || failed=1
  fi
  return $failed
}

# Until the agents are gone again, on a cluster of its own, which may be up beside that of e2e.
demo() { # of the newest Kubernetes; with KUBERNETES, of this one
  build
  KUBERNETES=${KUBERNETES:-$(hack/binaries minors | tail -n 1)}
  export KUBERNETES E2E_IMAGES="jmx-exporter-operator:dev dummyapp:17 dummyapp:17-noshell dummyapp:25 pause:dev prometheus:dev"
  on_cluster gotest -tags e2e -run '^Test(Kubernetes|Demo|TakenOut)$' ./test/e2e
}

# Also checks that nothing of a cluster remains after it.
offline() {
  (cd hack/offline/image && CGO_ENABLED=1 go test -race -timeout 60m ./...)
  ! hack/cluster status >/dev/null 2>&1 || fail "The cluster is up, and this suite would take it down: make cluster-down first."
  hack/offline/test-down.sh
}
