# Everything that people and machines do with the tree. `make test` is the one command.
.PHONY: build test test-failovers test-packages packages-release test-slurm test-systemd test-quick test-older test-long test-evalys test-python test-fuzz test-pages test-firefox pictures lint bench bench-criterion bench-pages bench-fairness bench-restart bench-forecast bench-stores docs fmt setup packages audit sbom fuzz-parsers

CARGO ?= cargo
PYTHON ?= python3
# Long runs of the fuzz and property tests.
LONG_CASES ?= 20000
# How often daemons that own a market in turn are killed, frozen and cut off.
TAKEOVERS ?= 34
# How often a database's primary and the owner of a market are lost in turn.
FAILOVERS ?= 5

build:
	$(CARGO) build --release

# Python for the MIP solver that optima are checked against, Evalys and Schemathesis; Slurm, Grid
# Engine, and Chromium with axe-core for the pages.
setup:
	./scripts/setup.sh
	./scripts/highs.sh
	./scripts/axe.sh

packages: setup
	./scripts/packages.sh evalys "Evalys 4.0.7" >/dev/null
	./scripts/packages.sh fuzz Schemathesis >/dev/null
	./scripts/packages.sh oidc "a provider of identities" >/dev/null
	./scripts/packages.sh python "maturin, pytest, gymnasium, pandas and polars" >/dev/null
	./scripts/packages.sh tools "submitit, Snakemake and others" >/dev/null
	for version in $(NEWER_SLURM); do ./scripts/slurm-version.sh $$version >/dev/null || true; done

# All packages, with the MIP solver, real clusters and a real browser.
FEATURES = tradewind-reference/mip,tradewind-daemon/clusters,tradewind/clusters,tradewind/browser,tradewind/oidc
EVERYTHING = --workspace --features $(FEATURES)

# Tests at a time, in each of the three rows that run beside each other: many wait for a cluster or a
# browser.
THREADS ?= 3
# Beside this machine's Slurm, the version on which its sites are tried. It needs root, for a small
# Debian in a folder of its own; where that cannot be made, the run says so and fails.
NEWER_SLURM ?= 24.11

# Property tests draw the same cases at each run, so that what fails fails again. Another number
# draws others; the other targets draw new ones each time.
SEED ?= 1

test: setup packages
	WHAT="$(EVERYTHING)" THREADS=$(THREADS) SEED=$(SEED) NEWER_SLURM=$(NEWER_SLURM) ./scripts/test.sh

# The tests of Slurm sites on other versions of Slurm: make test-slurm VERSIONS="22.05 24.11 26.05"
VERSIONS ?= 22.05 24.11 26.05
test-slurm:
	THREADS=$(THREADS) ./scripts/test-slurm.sh $(VERSIONS)

# The packages of the program that the tests use, made twice and compared, and tried in a bare Debian.
test-packages: setup
	./scripts/test-packages.sh

# The packages of a release build in target/packages/release. Paths of this machine are no part of
# the program, which therefore has a folder of builds of its own.
packages-release:
	./scripts/release/all.sh

# The service unit, its drop-ins and cgroups of version 2 in a virtual machine with systemd: not part of
# `make test`, since it takes many minutes where the processor runs no virtual machines.
test-systemd:
	WHAT="$(EVERYTHING)" ./scripts/test-systemd.sh; it=$$?; \
	  [ $$it -ne 75 ] || echo "NOT TESTED: no virtual machine with systemd can be made here" >&2; exit $$it

# Evalys 4.0.7 reads jobs.csv, PyArrow reads jobs.parquet, the example notebook runs.
test-evalys: setup
	./scripts/evalys.sh

# The Python package: its wheel in the development profile, its types and its tests.
test-python:
	./scripts/test-python.sh

# Schemathesis against a market that runs.
test-fuzz: setup
	./scripts/fuzz.sh

# Coverage-guided fuzzing of everything that reads what a user, a file, a site or a peer says, a
# minute for each of fuzz/targets: make fuzz-parsers MINUTES=60
fuzz-parsers:
	./scripts/fuzz-parsers.sh

# Licences, banned crates and sources of what is linked, and known vulnerabilities where RustSec's
# database can be reached. STRICT=1 fails where it cannot.
audit:
	./scripts/audit.sh

# The bill of materials: target/sbom/tradewind.cdx.json (CycloneDX).
sbom:
	./scripts/sbom.sh

# The pages in Chromium; pictures of all of them go to target/pages.
test-pages: setup
	TRADEWIND_SCREENSHOTS=$(CURDIR)/target/pages \
	  $(CARGO) test -p tradewind --features browser --test with_chromium

# The same suite in Firefox of Debian; its driver is built once from its source, which takes minutes.
test-firefox: setup
	FIREFOX=1 ./scripts/setup.sh
	driver=$$(./scripts/tool.sh geckodriver 0.36.0) && \
	  PATH="$$(dirname "$$driver"):$$PATH" TRADEWIND_BROWSER=firefox \
	  $(CARGO) test -p tradewind --features browser --test with_chromium

# The five pictures of the pages in the README and the tour, made again.
pictures: test-pages
	python3 ./scripts/pictures.py

# The pages with 4,000 nodes and 10,000 jobs: each page's time on the server, paint, bytes, jumps, frames
# and updates in Chromium, and what a thousand open pages cost the engine. A development build, for a
# busy machine: make bench-pages BENCH_PROFILE=
BENCH_PROFILE ?= --release
bench-pages: setup
	ulimit -n 16384; $(CARGO) run $(BENCH_PROFILE) -p tradewind --features browser --example pages

# Without the MIP solver, Python, clusters and a browser: nothing to install, a few minutes less.
test-quick:
	$(CARGO) test

# Today's program and that of an earlier release at one market, in turn: the earlier one is built once,
# from the history of this repository, and kept in target/older. Not part of `make test`, since that
# takes four minutes of processor time.
test-older: setup
	WHAT="$(EVERYTHING),tradewind/older" ./scripts/test-older.sh; it=$$?; \
	  [ $$it -ne 75 ] || echo "NOT TESTED: the earlier release cannot be built here" >&2; exit $$it

test-long: setup
	TRADEWIND_FUZZ_CASES=$(LONG_CASES) PROPTEST_CASES=$(LONG_CASES) \
	  TRADEWIND_OWNERS_WORLDS=1000 TRADEWIND_DAEMONS_WORLDS=10000 TRADEWIND_TRIAL_WORLDS=20000 TRADEWIND_GRIDS=4000 \
	  TRADEWIND_TAKEOVERS=$(TAKEOVERS) \
	  $(CARGO) test --release $(EVERYTHING)
	$(MAKE) test-older
	$(MAKE) test-failovers

# Three nodes of PostgreSQL with Patroni and etcd, two daemons, two Slurm clusters: what is lost and
# how long it takes. A release build; some minutes for each round.
test-failovers: build
	FAILOVERS=1 ./scripts/setup.sh
	python=$$(PYTHON=/usr/bin/python3 ./scripts/packages.sh failovers Patroni) && \
	  PATRONI=$$(dirname "$$python")/patroni ./scripts/failovers.py $(FAILOVERS)

# The same selection for all, so that dependencies are checked once: without default features that is
# all but the lab, which wants pictures. The MIP solver takes minutes to build, and is not needed here.
LINTED = --workspace --features tradewind-daemon/clusters,tradewind/clusters,tradewind/browser,tradewind/oidc,tradewind/older

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --all-targets $(LINTED) -- -D warnings
	$(CARGO) clippy --test 'fuzz_*' $(LINTED) -- -D warnings
	$(CARGO) clippy --no-default-features $(LINTED) --exclude tradewind-lab -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps $(LINTED)
	$(PYTHON) ./scripts/public-items.py

# The tables of BENCHMARKS.md, a quarter of an hour on a quiet machine. A log makes the rows of
# real instances: make bench LOG=ctc.swf.gz
bench: setup
	./scripts/bench.sh $(LOG)

# Submissions per second with the journal in a file and in PostgreSQL, a minute or two: needs wrk.
bench-stores: build
	./scripts/stores.sh

# What one user at full rate does to another, a quarter of an hour; `make bench-fairness ROWS="what-ifs idle"`
# measures some rows only.
bench-fairness: build
	$(CARGO) run --release -p tradewind --example fairness -- target/release/tradewind $(ROWS)

# How long a restart takes and how much memory it needs with 20,000 and 100,000 jobs in the queue, a
# few minutes; JOBS="1000" for less.
bench-restart: build
	./scripts/restart-table.sh target/release/tradewind $(JOBS)

# Forecasts of starts on real Slurm, ours and Slurm's own, beside what came: an hour.
bench-forecast: build
	./scripts/forecast-slurm.sh $(VERSIONS)

# The same searches under criterion, for comparing two builds.
bench-criterion:
	$(CARGO) bench -p tradewind-reference

# The book of docs/ in target/book, by mdBook (built once, in ~/.cache/tradewind), and rustdoc.
docs:
	./scripts/docs.sh

fmt:
	$(CARGO) fmt --all
