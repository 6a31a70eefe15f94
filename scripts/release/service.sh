#!/bin/sh
# Runs under a systemd that has just started in a bare Debian: the package's service. Its last line
# is DONE if all is well.
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes LC_ALL=C.UTF-8
state=/var/lib/tradewind

fail() { echo "FAIL: $1"; systemctl status --no-pager tradewind; journalctl --no-pager -n 20; exit 1; }
process() { systemctl show --property MainPID --value tradewind; }

apt-get install -qq -y --no-install-recommends "$@" ./tradewind_*.deb >/dev/null
systemctl is-active --quiet tradewind && fail "the installation starts the service"
systemctl start tradewind || fail "systemctl start"
first=$(process)
[ "$(stat -c %U "/proc/$first")" = tradewind ] || fail "the daemon runs as another account"
cd "$state/work"
timeout 60 tradewind submit --state "$state" --wait --time 1 -- sh -c 'exit 3' >/dev/null 2>&1 && code=0 || code=$?
[ "$code" -eq 3 ] || fail "a job that exits with 3 ended with $code"
cd /mnt
systemctl enable --quiet tradewind
apt-get install -qq -y --reinstall ./tradewind_*.deb >/dev/null
systemctl is-active --quiet tradewind && [ "$(process)" -ne "$first" ] || fail "an update does not restart the daemon"
apt-get purge -qq -y tradewind >/dev/null
systemctl is-active --quiet tradewind && fail "purge leaves the daemon"
left=$(find / -xdev -path /var/lib/dpkg -prune -o -path /var/log -prune -o -path /var/cache -prune -o -name '*tradewind*' -print)
[ -z "$left" ] && ! getent passwd tradewind >/dev/null || fail "purge leaves $left"
echo "ok: systemd starts the service, an update restarts it, purge ends and removes it"
echo DONE
