#!/usr/bin/env bash
# Makes the packages twice from one build of the program, compares them byte by byte, and tries them
# in a bare system: a Debian of the same suite as this machine's with apt and systemd and nothing else, in
# a folder of its own, without network. scripts/release/bare.sh and service.sh say what is checked there. Needs root; the
# Debian is made once, in ~/.cache/tradewind/bare (TRADEWIND_BARE_ROOTS). PROGRAM= names a program
# other than that of the tests. Exit code 75: it cannot be tried here.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "test-packages.sh: trying packages needs root" >&2; exit 75; }
command -v umoci >/dev/null || { echo "test-packages.sh: umoci is missing (make setup)" >&2; exit 75; }
[ -e /etc/debian_version ] || { echo "test-packages.sh: packages are made on Debian" >&2; exit 75; }

# WHAT: packages and features, the same as those of tests that ran before.
read -ra what <<<"${WHAT:-}"
program=${PROGRAM:-$(scripts/built.sh "${what[@]}")/tradewind}
out=target/packages/tried
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
roots=${TRADEWIND_BARE_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/tradewind/bare}
bare=$(realpath -m "$roots/$suite")

bare_debian() {
    mkdir -p "$roots"
    exec 9>"$roots/lock"
    flock 9
    if [ ! -e "$bare/usr/lib/systemd/systemd" ]; then
        rm -rf "$bare"
        echo "making a bare Debian ($suite) in $bare: a minute, once" >&2
        scripts/debian.sh "$suite" "$bare.draft" "$bare.log" --variant=apt --include=systemd,systemd-sysv >/dev/null
        mv "$bare.draft" "$bare"
    fi
    exec 9>&-
}

# twice: the packages, made again from the same program.
twice() {
    LEVEL=1 scripts/release/make.sh "$program" "$out"
    LEVEL=1 scripts/release/make.sh "$program" "$out.again"
    diff -r "$out" "$out.again" || { echo "FAIL: the same program gives other packages" >&2; exit 1; }
    rm -rf "$out.again"
    (cd "$out" && sha256sum --quiet --strict -c SHA256SUMS)
    echo "ok: two packagings of one program are the same: $(wc -l <"$out/SHA256SUMS") files"
}

# image: the OCI image, unpacked by umoci, a reader that is not ours and compares all digests.
image() {
    local layout=$out/oci
    mkdir "$layout"
    tar xf "$out"/tradewind-*.oci.tar -C "$layout"
    umoci unpack --image "$layout:$("$program" --version | cut -d ' ' -f 2)" "$out/image" >"$out/umoci.log" 2>&1 ||
        { cat "$out/umoci.log" >&2; exit 1; }
    echo "ok: umoci unpacks the image"
}

# part NAME: a section of the Apptainer recipe.
part() {
    awk -v name="%$1" '/^%/ { inside = $1 == name; next } inside' "$out/apptainer.def"
}

# recipe: Debian has no Apptainer, so what the recipe says is done without it: it names the image, and
# in the image's files (below) its environment is set, its test passes and its command runs.
recipe() {
    local from
    from=$(sed -n 's/^From: //p' "$out/apptainer.def")
    grep -q '^Bootstrap: oci-archive$' "$out/apptainer.def" && [ -e "$out/$from" ] ||
        { echo "FAIL: the recipe names $from, which is not there" >&2; exit 1; }
    for name in runscript test; do
        { echo '#!/bin/sh -e'; part environment; part "$name"; } >"$out/$name.sh"
        chmod 755 "$out/$name.sh"
    done
}

bare_debian
twice
image
recipe
scratch=$(mktemp -d)
cgroups=$scratch/cgroups
# done_with: the control groups of the systemd that was tried, and what was mounted.
done_with() {
    if mountpoint --quiet "$cgroups"; then
        echo $$ >"$cgroups/cgroup.procs"
        find "$cgroups/tradewind-$$" -depth -type d -exec rmdir {} \; 2>/dev/null || true
        umount "$cgroups"
    fi
    rm -rf "$scratch"
}
trap done_with EXIT
mkdir "$cgroups" "$scratch/system"
# Control groups below one of our own, for systemd.
if mount -t cgroup2 cgroup2 "$cgroups" 2>/dev/null && mkdir "$cgroups/tradewind-$$"; then
    echo $$ >"$cgroups/tradewind-$$/cgroup.procs"
fi
export TRADEWIND_BARE=$bare TRADEWIND_OUT=$PWD/$out TRADEWIND_SCRATCH=$scratch/system
install -m 644 examples/batch.toml "$out"
install -m 755 scripts/release/bare.sh scripts/release/market.sh scripts/release/service.sh "$out"
# Mounts, processes and network of their own: what is started in there ends with the command.
unshare --mount --pid --net --fork --kill-child --propagation private bash -c '
set -euo pipefail
ip link set lo up
mount -t tmpfs tmpfs "$TRADEWIND_SCRATCH"
mkdir "$TRADEWIND_SCRATCH"/{upper,work,root}
root=$TRADEWIND_SCRATCH/root
mount -t overlay overlay -o "lowerdir=$TRADEWIND_BARE,upperdir=$TRADEWIND_SCRATCH/upper,workdir=$TRADEWIND_SCRATCH/work" "$root" ||
    { umount -q "$root" || true; cp -a "$TRADEWIND_BARE/." "$root"; }
enter() {
    mount --rbind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmpfs "$1/tmp"
    mkdir "$1/tmp/packages"
    mount --bind "$TRADEWIND_OUT" "$1/tmp/packages"
}
enter "$root"
chroot "$root" /tmp/packages/bare.sh
image=$TRADEWIND_OUT/image/rootfs
enter "$image"
chroot --userspec=8460:8460 "$image" /usr/bin/env -i PATH=/usr/bin XDG_STATE_HOME=/var/lib \
    /tmp/packages/market.sh /usr/bin/tradewind /var/lib/tradewind
echo "ok: the image runs a market as its own account"
for words in test.sh "runscript.sh plan /tmp/packages/batch.toml"; do
    chroot --userspec=8460:8460 "$image" /usr/bin/env -i PATH=/usr/bin sh -c "/tmp/packages/$words" >/dev/null
done
echo "ok: in the image the test and the command of the Apptainer recipe run"'

# The same under a systemd of its own. Output goes to a file, since it has no terminal.
mountpoint --quiet "$cgroups" || { echo "NOT TESTED: the service: control groups of version 2 cannot be mounted" >&2; exit 75; }
timeout --foreground 300 unshare --cgroup --uts --ipc --mount --pid --net --fork --kill-child --propagation private bash -c '
set -euo pipefail
ip link set lo up
mount -t tmpfs tmpfs "$TRADEWIND_SCRATCH"
mkdir "$TRADEWIND_SCRATCH"/{upper,work,root}
root=$TRADEWIND_SCRATCH/root
mount -t overlay overlay -o "lowerdir=$TRADEWIND_BARE,upperdir=$TRADEWIND_SCRATCH/upper,workdir=$TRADEWIND_SCRATCH/work" "$root" ||
    { umount -q "$root" || true; cp -a "$TRADEWIND_BARE/." "$root"; }
for folder in run tmp; do mount -t tmpfs tmpfs "$root/$folder"; done
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --bind "$TRADEWIND_OUT" "$root/mnt"
cat >"$root/etc/systemd/system/check.service" <<END
[Service]
Type=oneshot
ExecStart=/bin/sh -c "/mnt/service.sh >/mnt/service.log 2>&1; exec systemctl --force --force poweroff"
END
exec chroot "$root" /usr/bin/env -i container=other /usr/lib/systemd/systemd --unit=check.service --show-status=0
' >"$out/systemd.log" 2>&1 </dev/null || true
grep -v '^DONE$' "$out/service.log" || true
tail -n 1 "$out/service.log" | grep -q '^DONE$' || { cat "$out/systemd.log" >&2; exit 1; }
rm -f "$out/service.log" "$out/systemd.log"
rm -rf "$out/image" "$out/oci" "$out/bare.sh" "$out/market.sh" "$out/service.sh" "$out/umoci.log" \
    "$out/test.sh" "$out/runscript.sh" "$out/batch.toml"
