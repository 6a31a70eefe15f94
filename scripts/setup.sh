#!/usr/bin/env bash
# Installs what the full tests need beyond Rust and a C compiler: Python 3 with venv, for the MIP
# solver that our optima are compared with, Evalys, which reads our results, and Schemathesis,
# which fuzzes the API; Slurm with slurmdbd and its database, and Grid Engine, on which the sites
# for them are tried, with an SSH server and a clock that can be set, for the daemon alone, beside
# them; PostgreSQL, which keeps journals; Chromium and its driver, which look at the pages; sudo and setpriv, which run jobs as users;
# systemd's tool that looks at the service unit; umoci, which reads images of the program. Does nothing when they are there.
set -euo pipefail
PATH=$PATH:/usr/sbin

missing=()
"${PYTHON:-python3}" -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
{ command -v slurmctld && command -v slurmd && command -v sbatch; } >/dev/null || missing+=(slurm-wlm)
command -v slurmdbd >/dev/null || missing+=(slurmdbd)
{ command -v mariadbd && command -v mariadb-install-db; } >/dev/null || missing+=(mariadb-server)
{ [ -x /usr/lib/gridengine/sge_qmaster ] && [ -x /usr/lib/gridengine/sge_execd ] &&
    [ -x /usr/lib/gridengine/qstat ]; } ||
    missing+=(gridengine-master gridengine-exec gridengine-client)
compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || missing+=(libfaketime)
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
command -v sshd >/dev/null || missing+=(openssh-server)
command -v ssh >/dev/null || missing+=(openssh-client)
command -v sudo >/dev/null || missing+=(sudo)
command -v setpriv >/dev/null || missing+=(util-linux)
command -v systemd-analyze >/dev/null || missing+=(systemd)
command -v umoci >/dev/null || missing+=(umoci)
command -v ip >/dev/null || missing+=(iproute2)
# The fuzzer of parsers is written in C++.
command -v c++ >/dev/null || missing+=(g++)
command -v chromium >/dev/null || missing+=(chromium)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
# FIREFOX=1: Firefox, too, which looks at the same pages.
[ -z "${FIREFOX:-}" ] || command -v firefox-esr >/dev/null || missing+=(firefox-esr)
# FAILOVERS=1: what looks after a database of three nodes, too.
if [ -n "${FAILOVERS:-}" ]; then
    /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    command -v etcd >/dev/null || missing+=(etcd-server)
fi
if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (Debian's names). Install them, or run \`make test-quick\`, which needs none of them." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "missing: ${missing[*]}. Install them: sudo apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo -n)
fi
echo "installing ${missing[*]} (for the tests)" >&2

# Packages must not start services of theirs: the tests start what they need, and stop it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
patient=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=5)
"${as_root[@]}" apt-get "${patient[@]}" update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get "${patient[@]}" install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
