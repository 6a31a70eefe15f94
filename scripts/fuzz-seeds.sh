#!/usr/bin/env bash
# fuzz-seeds.sh TARGET FOLDER: inputs to begin with, from the project's own tests and examples.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 folder=$2

# with BYTE FILE...: the files behind a byte that says how they are read.
with() {
    local byte=$1 file
    shift
    for file in "$@"; do
        [ -f "$file" ] || continue
        { printf "%b" "$byte"; head -c 16384 "$file"; } >"$folder/$(echo "$byte$file" | cksum | cut -d' ' -f1)"
    done
}
plain() { local file; for file in "$@"; do cp "$file" "$folder/$(echo "$file" | cksum | cut -d' ' -f1)"; done; }
lines() { split -l 1 -a 4 "$1" "$folder/line-$(basename "$1")-"; }

case $target in
files)
    with '\x01' $(git ls-files '*.json' | grep -v openapi | head -60)
    with '\x02' $(git ls-files '*.toml' | head -60)
    with '\x03' $(git ls-files '*.csv' | head -20)
    with '\x04' $(git ls-files '*.swf' | head -20)
    with '\x06' crates/io/tests/sacct/samples/*.txt
    with '\x07' $(grep -lE '^time,' $(git ls-files '*.csv')) fuzz/seeds/series.csv
    # Whole, and with the end of a piece in the middle.
    with '\x08\x00' $(git ls-files '*.swf' | head -20)
    with '\x08\x81' $(git ls-files '*.swf' | head -20)
    ;;
submissions)
    with '\x01' $(git ls-files 'examples/*.sh' 'crates/cli/tests/*.sh' 'scripts/*.sh' | head -80)
    lines fuzz/seeds/submissions.txt
    ;;
sites) plain crates/daemon/src/site/slurm/samples/* fuzz/seeds/spool.txt fuzz/seeds/qstat.xml ;;
journal)
    lines crates/daemon/src/codec/golden/records-1.jsonl
    plain fuzz/seeds/archive.txt
    ;;
commands)
    with '\x00' fuzz/seeds/people.csv
    with '\x04' fuzz/seeds/prices.toml
    with '\x05' fuzz/seeds/jobs.csv
    with '\x06' fuzz/seeds/sinfo.txt
    lines fuzz/seeds/commands.txt
    ;;
peers)
    lines fuzz/seeds/peers.jsonl
    # All of them one after the other: a whole hand-over.
    plain fuzz/seeds/peers.jsonl
    ;;
esac
