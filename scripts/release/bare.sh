#!/bin/sh
# Runs in a bare Debian, with the packages beside it: what installing, using and removing them does.
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes LC_ALL=C.UTF-8
config=/etc/tradewind/tradewind.toml

fail() { echo "FAIL: $1" >&2; exit 1; }
ok() { echo "ok: $1"; }

# files: everything but records of apt and dpkg themselves and the copies that useradd makes of its files,
files() {
    find / -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o \
        ! -path '/etc/*-' -printf '%y %m %u:%g %p\n' | sort
    cat /etc/passwd /etc/group
}
as_tradewind() { runuser -u tradewind -- "$@"; }
installed() { apt-get install -qq -y --no-install-recommends "$@" ./tradewind_*.deb >/tmp/said 2>&1 || { cat /tmp/said; fail "apt cannot install it"; }; }

files >/tmp/before
installed
tradewind --version
ok "apt installs the package"

dpkg --verify tradewind | grep . && fail "files are not as packed"
[ "$(dpkg-query -W -f '${Conffiles}' tradewind | grep -c "$config")" -eq 1 ] || fail "$config is not a conffile"
bash -n /usr/share/bash-completion/completions/tradewind
for page in tradewind tradewind-plan tradewind-generate-lublin; do
    gzip -dc "/usr/share/man/man1/$page.1.gz" | grep -q '^\.TH' || fail "no manual page $page"
done
unit=/usr/lib/systemd/system/tradewind.service
started=$(sed -n 's/^ExecStart=//p' "$unit")
[ -x "${started%% *}" ] || fail "the unit starts $started"
grep -rl /usr/local/bin "$unit" /usr/share/doc/tradewind/examples/packaging && fail "paths of another place"
ok "completions, manual pages, unit and default configuration are there"

as_tradewind tradewind doctor --config "$config" --state /var/lib/tradewind || fail "doctor finds something bad"
as_tradewind ./market.sh /usr/bin/tradewind /var/lib/tradewind --config "$config"
[ "$(stat -c '%U %a' /var/lib/tradewind/journal.db)" = "tradewind 600" ] || fail "the journal is not the account's"
ok "a market runs as the package's account with the default configuration"

echo "# ours" >>"$config"
installed --reinstall
tail -n 1 "$config" | grep -q '^# ours$' || fail "a changed configuration is replaced"
[ -s /var/lib/tradewind/journal.db ] || fail "a reinstallation loses the journal"
apt-get remove -qq -y tradewind >/dev/null
[ -s /var/lib/tradewind/journal.db ] && [ -s "$config" ] || fail "removal loses what is not the package's"
apt-get purge -qq -y tradewind >/dev/null 2>&1
files >/tmp/after
diff /tmp/before /tmp/after || fail "purge leaves something"
ok "removal keeps the market and the configuration, purge leaves nothing"

mkdir /tmp/prefix
tar xzf ./tradewind-*.tar.gz -C /tmp/prefix --strip-components=1
/tmp/prefix/bin/tradewind --version >/dev/null
/tmp/prefix/bin/tradewind simulate /tmp/prefix/share/doc/tradewind/examples/small.swf --policy easy >/dev/null 2>&1 ||
    fail "the archive's program does not replay a log"
ok "the archive's program runs where it is unpacked"
