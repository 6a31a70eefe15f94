#!/usr/bin/env bash
# The tests of Slurm sites, of the market over two clusters and of the tutorial, on other versions
# of Slurm than this machine's:
#   scripts/test-slurm.sh VERSION ... [-- OPTIONS OF THE TESTS]     VERSION is 22.05, 24.11 or 26.05
# A version that this machine has runs here, others in a small Debian each (scripts/slurm-version.sh).
# The last lines say what ran. Exit code 75: a version was not available; 1: a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=() options=()
while [ $# -gt 0 ]; do
    case $1 in
    --) shift; options=("$@"); break ;;
    *) versions+=("$1"); shift ;;
    esac
done
[ "${#versions[@]}" -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }

what=${WHAT:---package tradewind-daemon --package tradewind --features tradewind-daemon/clusters,tradewind/clusters}
# The two suites whose name is with_slurm; the program that they drive is built with them.
# shellcheck disable=SC2086
mapfile -t suites < <(${CARGO:-cargo} test $what --no-run 2>&1 | tee >(cat >&2) |
    sed -n 's/.*Executable .*(\(.*\/with_slurm-[0-9a-f]*\))$/\1/p')
[ "${#suites[@]}" -eq 2 ] || { echo "the tests of Slurm sites were not built" >&2; exit 1; }
here=$(PATH=$PATH:/usr/sbin slurmctld -V 2>/dev/null | grep -oE '[0-9]+\.[0-9]+' | head -n 1 || true)

# run VERSION COMMAND ...: where that version of Slurm is.
run() {
    local version=$1
    shift
    if [ "$version" = "$here" ]; then "$@"; else scripts/slurm-version.sh "$version" "$@"; fi
}

said=() result=0
for version in "${versions[@]}"; do
    if [ "$version" != "$here" ] && ! scripts/slurm-version.sh "$version" >/dev/null; then
        said+=("Slurm $version: NOT TESTED, it is not available here")
        [ "$result" -ne 0 ] || result=75
        continue
    fi
    failed=
    # The tools and PostgreSQL are installed beside this machine's Slurm.
    without=()
    [ "$version" = "$here" ] ||
        without=(--skip tools_for_slurm --skip snakemake --skip two_daemons_and_two_clusters)
    for suite in "${suites[@]}"; do
        run "$version" env RUST_TEST_THREADS="${THREADS:-3}" "$PWD/scripts/twice.sh" "$PWD/$suite" \
            "${without[@]}" "${options[@]}" || failed=yes
    done
    if [ -n "$failed" ]; then
        said+=("Slurm $version: FAILED")
        result=1
    else
        said+=("Slurm $version: passed")
    fi
done
printf '%s\n' "${said[@]}"
exit "$result"
