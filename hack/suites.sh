# The suites of hack/test, a function each. Sourced, by it.
every_change=(unit fuzz integration examples agent e2e)
only_all=(release offline)

# The files that a suite depends on; a suite without any runs always.
declare -A tested=(
  [fuzz]="apis cmd internal pkg go.mod go.sum hack/fuzz"
  [examples]="examples :!examples/e2e pkg/statemachine pkg/apply pkg/effects go.mod hack/new-operator hack/tools/go.mod"
  [agent]="agent test/apps hack/jvms hack/packages.sh"
)

# left_to_all SUITE: prints what only make test-all runs.
left_to_all() {
  case $1 in
    unit) echo "unit         the race detector and the hostile containers, where nothing that they test has changed" ;;
    fuzz) echo "fuzz         a minute for each target instead of $short_fuzz" ;;
    integration) echo "integration  TestBigFleet with 1 000 pods, TestHangingPods with 500, and half of TestCrash's plans" ;;
    examples) echo "examples     postgrescluster: TestCrash at repeated effects, and three minutes of TestChaos" ;;
    agent) echo "agent        $(agent/test --full)" ;;
    e2e) echo "e2e          $full_e2e; the examples" ;;
    release) echo "release      all: a release built twice, pushed, signed and verified" ;;
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
# make verify does that. Without the checkout's path in it, another checkout can use what is compiled here.
runner=()
gotest() { # FLAGS AND PACKAGES...
  local failed=0
  "${runner[@]}" go tool -modfile="$repo/hack/tools/go.mod" gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --no-color --jsonfile "$results/run.json" -- \
    -count=1 -vet=off -trimpath "$@" || failed=1
  cat "$results/run.json" >>"$results/$suite.json"
  return $failed
}

# The JVM tests load these jars and attach to these applications.
build() {
  step "building the agent" agent/build
  step "building the test application" test/apps/build
}

unit() {
  build
  ! debian_root || packages busybox-static:busybox # one of the shells for the helper's scripts
  local packages failed=0
  packages=$(go list ./... | grep -v /test/)
  local runner=(hack/jvms run)
  racetest -timeout 60m $packages || failed=1
  # Without the race detector and not in parallel: floods should hit the operator's limits, not its deadlines.
  gotest -timeout 30m ./test/hostile || failed=1
  exit $failed
}

short_fuzz=2s
fuzz() {
  [ -n "$FULL" ] || export FUZZTIME=${FUZZTIME:-$short_fuzz}
  hack/fuzz
}

integration() {
  KUBEBUILDER_ASSETS=$(hack/binaries assets)
  export KUBEBUILDER_ASSETS
  # The timeouts only stop hanging tests: they assert nothing.
  racetest -timeout 90m -parallel 8 ./test/integration/...
}

# Each example is a separate module; the operator written by hack/new-operator is also built and tested.
examples() {
  KUBEBUILDER_ASSETS=$(hack/binaries assets)
  export KUBEBUILDER_ASSETS
  packages postgresql-15:/usr/lib/postgresql/15/bin/postgres
  local module failed=0
  trap 'rm -rf examples/lighthouse' EXIT
  rm -rf examples/lighthouse
  hack/new-operator Lighthouse
  for module in $(git ls-files --cached --others --exclude-standard 'examples/*go.mod'); do
    [ "$module" != examples/e2e/go.mod ] || continue # part of suite e2e, which has the cluster
    (cd "${module%/*}" && go build -o /dev/null ./cmd/... && gotest -timeout 30m -parallel 6 ./...) || failed=1
  done
  exit $failed
}

agent() { hack/jvms run agent/test; }

release() { hack/release/release test; }

# The cluster is deleted afterwards unless it existed before.
full_e2e='TestNamespaced$|TestDemoBy(Exec|EphemeralContainers)$|TestUndeployed$|TestEachJava$/jdk(11|21|26|27|28)$'
e2e() {
  build
  local before=0 failed=0
  hack/cluster status >/dev/null 2>&1 || before=$?
  hack/cluster up || {
    # A cluster that existed, but did not answer, is not deleted.
    [ "$before" != 1 ] || hack/cluster down
    exit 1
  }
  local skip=()
  [ -n "$FULL" ] || skip=(-skip "$full_e2e")
  gotest -timeout 120m -tags e2e "${skip[@]}" ./test/e2e/... || failed=1
  # They deploy the operator too, so they run afterwards.
  if [ -n "$FULL" ]; then
    (eval "$(hack/cluster env)" && cd examples/e2e && gotest -timeout 40m -parallel 3 -tags e2e .) || failed=1
  fi
  if [ "$before" != 0 ]; then hack/cluster down || failed=1; else say "the cluster was up before, so it stays"; fi
  exit $failed
}

# Also checks that nothing of a cluster remains after it.
offline() {
  (cd hack/offline/image && CGO_ENABLED=1 go test -race -timeout 60m ./...)
  ! hack/cluster status >/dev/null 2>&1 || fail "The cluster is up, and this suite would take it down: make cluster-down first."
  hack/offline/test-down.sh
}
