# Tests the release, from build to verification, with a temporary key and registry. Sourced, by release.
#
# Each check prints its own statement; the last line has the totals that hack/test counts.
run=0 failed=0
check() { # STATEMENT COMMAND...
  run=$((run + 1))
  if "${@:2}" >"$work/output" 2>&1; then say "ok: $1"; else
    failed=$((failed + 1))
    printf '=== FAIL: %s\n' "$1"
    cat "$work/output"
  fi
}
refuses() { ! "$@"; }
# lists FILE, PACKAGE URL: whether the bill of materials lists the package as a part of the file.
lists() { jq -e --arg file "$1" --arg purl "$2" '.components[] | select(.name == $file) | .components[] | select(.purl | startswith($purl))' "$out/${bill:-sbom.cdx.json}"; }
of_platform() { lists "$1" pkg:golang/std@ | grep -F "goarch=${2#*/}&goos=${2%/*}"; }
digest_of() { jq -r --arg file "$1" '.components[] | select(.name == $file) | .hashes[0].content' "$out/${bill:-sbom.cdx.json}"; }
has_digest() { [ "$(digest_of "$1")" = "$(sha256sum "$2" | cut -d ' ' -f 1)" ]; }
platforms() { [ "$(tool crane manifest "$1" | jq -r '[.manifests[].platform | .os + "/" + .architecture] | sort | join(" ")')" = "linux/amd64 linux/arm64" ]; }
mismatch() { ! "$work/agent/mvn" -q -f "$work/agent/collector/pom.xml" dependency:build-classpath >"$work/mvn.log" && grep 'trusted checksum mismatch' "$work/mvn.log"; }
attested() { tool cosign verify-attestation --key "$COSIGN_PUBLIC_KEY" --insecure-ignore-tlog=true --private-infrastructure=true --type "$2" "$1" | jq -r '.payload // .dsseEnvelope.payload' | base64 -d | jq -e "$3"; }
chart_deploys() { tool helm template jmx --plain-http --version 1.0.0 "oci://$address/charts/jmx-exporter-operator" | grep -xF "          image: $1"; }
holds() { # IMAGE PLATFORM FILE SOURCE
  [ "$(tool crane export --platform "$2" "$1" - | tar -xOf - "$3" | sha256sum)" = "$(sha256sum <"$4")" ]
}

# without_license: prints the components of the bill of materials whose license the image does not carry: of Go, the text; of
# Maven, which is all under the license of the jar, the name in the jar's notice.
without_license() {
  local root=$work/root kind name
  mkdir -p "$root"
  tool crane export --platform linux/amd64 "$image" - | tar -x -C "$root"
  while read -r kind name; do
    case $kind in
      golang) compgen -G "$root/licenses/modules/$name/LICENSE*" >/dev/null || echo "$name" ;;
      maven) unzip -p "$root/agent/exporter.jar" META-INF/NOTICE | grep -xF -- "$name" >/dev/null || echo "$name" ;;
      *) echo "$kind $name" ;;
    esac
  done < <(jq -r '.components[].components[] | .purl | capture("^pkg:(?<kind>[^/]*)/(?<name>[^@]*)@") | "\(.kind) \(if .kind == "maven" then .name | sub("/"; ":") else .name end)"' "$out/sbom.cdx.json" | sort -u)
}
licensed() { [ -z "$(without_license | tee /dev/stderr)" ] && cmp "$work/root/licenses/LICENSE" LICENSE && [ "$(unzip -p "$work/root/agent/agent.jar" META-INF/LICENSE | sha256sum)" = "$(sha256sum <LICENSE)" ]; }

work=$(mktemp -d "$cache/tmp/release.XXXXXX")
registry=
. "$repo/hack/packages.sh"
. "$repo/hack/release/layers.sh"
. "$repo/hack/release/plugin-test.sh"
trap '[ -z "$registry" ] || kill "$registry"; stop_buildkit; rm -rf "$work"' EXIT
! debian_root || packages jq:jq unzip:unzip
build cosign crane helm
export SOURCE=https://github.com/example/jmx-exporter-operator COMMIT=0123456789abcdef0123456789abcdef01234567
export COSIGN_PASSWORD='' TUF_ROOT=$work/tuf COSIGN_KEY=$work/ours.key COSIGN_PUBLIC_KEY=$work/ours.pub
for name in ours theirs; do (cd "$work" && tool cosign generate-key-pair --output-key-prefix $name 2>"$work/$name.log"); done
mkdir "$work/storage"
: >"$work/registry.log"
"$(path_of crane)" registry serve --address 127.0.0.1:0 --disk "$work/storage" >"$work/registry.log" 2>&1 &
registry=$!
address=
for ((i = 0; i < 100; i++)); do
  address=$(sed -nE 's/.*serving on port ([0-9]+).*/127.0.0.1:\1/p' "$work/registry.log")
  [ -z "$address" ] || break
  sleep 0.1
done
[ -n "$address" ] || fail "The registry did not start:" "$(cat "$work/registry.log")"
# Called as by users: a separate script, which exits at the first failure.
release() { DIST=$out hack/release/release "$@"; }

out=$work/first
release build v1.0.0
out=$work/second
release build v1.0.0
for file in amd64.tar arm64.tar sbom.cdx.json kubectl-jmx.cdx.json jmx.yaml; do check "two builds give the same $file" cmp "$work/first/$file" "$out/$file"; done
test_plugin v1.0.0
start_buildkit
for arch in amd64 arm64; do check "the Dockerfile gives the layers of the release for $arch" same_layers $arch; done
check "the bill of materials names the shaded collector" lists /agent/exporter.jar pkg:maven/io.prometheus.jmx/collector@
check "the bill of materials names the shaded YAML parser" lists /agent/exporter.jar pkg:maven/org.yaml/snakeyaml@
check "the bill of materials names the operator's libraries" lists "/manager (arm64)" pkg:golang/sigs.k8s.io/controller-runtime@
check "the bill of materials names Go's standard library in the helper" lists /helpers/jmx-attach-amd64 pkg:golang/std@
check "the bill of materials names libraries of the architecture" of_platform "/manager (arm64)" linux/arm64
check "the bill of materials has the digest of exporter.jar" has_digest /agent/exporter.jar bin/agent/exporter.jar

image=$(release push v1.0.0 "$address/jmx-exporter-operator")
check "the index is for amd64 and arm64" platforms "$image"
check "the image for arm64 has the operator for arm64" holds "$image" linux/arm64 manager "$out/arm64/manager"
check "the image for amd64 has the helper for amd64" holds "$image" linux/amd64 jmx-attach bin/jmx-attach-amd64
check "the image carries the license of each component of the bill of materials" licensed
check "an image that nobody signed is refused" refuses release verify "$image"
check "the image is signed" release sign "$image"
check "signature and attestations are verified" release verify "$image"
check "the attested bill of materials is the one built" attested "$image" cyclonedx ".predicate.components | length == $(jq '.components | length' "$out/sbom.cdx.json")"
check "the attested provenance names the revision" attested "$image" slsaprovenance1 ".predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit == \"$COMMIT\""
check "another key is refused" refuses env COSIGN_PUBLIC_KEY="$work/theirs.pub" DIST="$out" hack/release/release verify "$image"
release manifests "$image"
for manifest in install.yaml install-1.30.yaml; do
  check "$manifest deploys the image by its digest" grep -F "image: $image" "$out/$manifest"
done
test_files v1.0.0
chart=$(release chart v1.0.0 "$image")
check "the chart is signed" tool cosign verify --key "$COSIGN_PUBLIC_KEY" --insecure-ignore-tlog=true --private-infrastructure=true "$chart"
check "the chart of the registry deploys the image by its digest" chart_deploys "$image"
# An attacker who can write to the registry moves the tag to another image.
forged=$(tool crane mutate --label forged=yes --tag "$address/jmx-exporter-operator:v1.0.0" "$image")
check "an image that took the place of ours is refused" refuses release verify "$forged"

check "a version without a section in the changelog is refused" refuses release notes v0.0.0

# In a copy, so that the repository's checksums are not changed.
git ls-files -z agent LICENSE NOTICE | xargs -0 cp --parents -t "$work"
sed -i -E 's#^[0-9a-f]{8}(.*/collector-[0-9.]+\.jar)$#00000000\1#' "$work/agent/checksums/checksums.sha256"
check "an artifact with another checksum is refused" mismatch
step "recording the checksums anew" "$work/agent/mvn" --record
check "the list of checksums is complete" cmp agent/checksums/checksums.sha256 "$work/agent/checksums/checksums.sha256"

printf 'DONE %d tests, %d failures in %d s\n' $run $failed $SECONDS
[ $failed = 0 ]
