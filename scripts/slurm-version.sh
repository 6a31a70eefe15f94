#!/usr/bin/env bash
# Another version of Slurm than this machine's: a small Debian in a folder of its own, made once and
# kept. Needs root, Debian's package mmdebstrap (installed if need be) and its package archive.
#   scripts/slurm-version.sh VERSION               makes it unless it is there; prints its folder
#   scripts/slurm-version.sh VERSION COMMAND ...   runs the command in it: this folder and /tmp are
#       there under their own names; its processes have their own network (loopback only), and all of
#       them end with the command
# VERSION is 22.05, 24.11 or 26.05. The folders are in $TRADEWIND_SLURM_ROOTS, or else in
# ~/.cache/tradewind/slurm. Exit code 75: it cannot be made here.
set -euo pipefail

fail() {
    echo "slurm-version.sh: $1" >&2
    exit "${2:-75}"
}

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
version=$1
shift
case $version in
22.05) suite=bookworm ;;
24.11) suite=trixie ;;
26.05) suite=sid ;;
*) fail "no Slurm $version: 22.05, 24.11 and 26.05 are known" 2 ;;
esac
tree=$(cd "$(dirname "$0")/.." && pwd)
roots=${TRADEWIND_SLURM_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/tradewind/slurm}
root=$roots/$version
log=$roots/$version.log
# What the tests of Slurm sites need beside Slurm: as scripts/setup.sh installs it here.
packages=slurm-wlm,slurm-client,slurmdbd,mariadb-server,openssh-server,openssh-client,libfaketime,python3,procps,iproute2,sudo
# The library of MariaDB's client 11.8.9, in trixie and sid, refuses the results that slurmdbd asks for
# first; bookworm's 10.11 does not.
older=
[ "$version" = 22.05 ] || older=libmariadb3/bookworm
wanted=$packages${older:+,$older}

# install_older ARCHIVE ROOT: a package of another suite in place of its own.
install_older() {
    local list=$2/etc/apt/sources.list.d/older.list apt=(chroot "$2" apt-get -o Acquire::Retries=5)
    echo "deb $1 ${older#*/} main" >"$list"
    cp /etc/resolv.conf "$2/etc/resolv.conf"
    "${apt[@]}" update -qq && env DEBIAN_FRONTEND=noninteractive \
        "${apt[@]}" install -qq -y --no-install-recommends --allow-downgrades "$older" && rm "$list"
}

make_root() {
    local from draft=$root.draft
    echo "making a small Debian ($suite) with Slurm $version in $root: some minutes, once" >&2
    from=$("$tree/scripts/debian.sh" "$suite" "$draft" "$log" --variant=minbase --include="$packages") ||
        fail "Slurm $version cannot be made here"
    [ -z "$older" ] || install_older "$from" "$draft" >>"$log" 2>&1 ||
        fail "$older could not be installed: see $log"
    echo "$wanted" >"$draft/etc/tradewind-packages"
    rm -rf "$root"
    mv "$draft" "$root"
}

mkdir -p "$roots"
exec 9>"$roots/lock"
flock 9
[ "$(cat "$root/etc/tradewind-packages" 2>/dev/null)" = "$wanted" ] || make_root
exec 9>&-
[ $# -gt 0 ] || { echo "$root"; exit 0; }
[ "$(id -u)" -eq 0 ] || fail "entering $root needs root"

# Mounts, processes and network of its own: what is started in there ends with the command.
export TRADEWIND_ROOT=$root TRADEWIND_TREE=$tree TRADEWIND_DIRECTORY=$PWD
exec unshare --mount --pid --net --fork --kill-child --propagation private bash -c '
set -euo pipefail
ip link set lo up
# With nothing but 127.0.0.1 names do not resolve (AI_ADDRCONFIG); this address is for documentation.
ip address add 192.0.2.1/32 dev lo
root=$TRADEWIND_ROOT
for folder in /dev /sys; do mount --rbind "$folder" "$root$folder"; done
mount -t proc proc "$root/proc"
for folder in /tmp "$TRADEWIND_TREE" ${CARGO_TARGET_DIR:+"$CARGO_TARGET_DIR"}; do
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
done
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
exec chroot "$root" /usr/bin/env -C "$TRADEWIND_DIRECTORY" -u TRADEWIND_ROOT -u TRADEWIND_TREE \
    -u TRADEWIND_DIRECTORY "$@"' enter "$@"
