#!/usr/bin/env bash
# The service unit and its drop-ins under a real systemd, on a kernel with the controllers of cgroups
# version 2: a virtual machine without network, with a small Debian, in which the program is installed
# as docs/reference/up.md says, and scripts/systemd/inside.py checks it. The machine is started again
# twice. Needs root, QEMU and mmdebstrap (installed if need be), and Debian's package archive; the disk
# is made once and kept in target/systemd. Without a processor that runs virtual machines everything
# is emulated, which takes minutes.
#   scripts/test-systemd.sh                 with Debian trixie (systemd 257)
# PARTS="limits sudo" runs only these of setpriv, limits, stops, sudo, namespaces and reboot.
# Exit code 75: it cannot be run here.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "test-systemd.sh: $1" >&2
    exit "${2:-75}"
}

# What is in the machine beside what Debian calls required.
packages=systemd,systemd-sysv,dbus,linux-image-cloud-amd64,initramfs-tools,kmod,python3,procps,sudo
# More than the longest run on a busy machine without KVM: seconds.
longest=${LONGEST:-2400}
here=$PWD/target/systemd
[ "$#" -eq 0 ] || fail "no arguments: PARTS= chooses checks" 2
suite=trixie

install_tools() {
    local missing=() patient=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=5)
    command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
    command -v mke2fs >/dev/null || missing+=(e2fsprogs)
    [ "${#missing[@]}" -gt 0 ] || return 0
    apt-get "${patient[@]}" update -qq && env DEBIAN_FRONTEND=noninteractive apt-get \
        "${patient[@]}" install -qq -y --no-install-recommends "${missing[@]}" >/dev/null ||
        fail "${missing[*]} cannot be installed"
}

# starter ROOT: what the machine does after its start. The second disk has the checks.
starter() {
    cat >"$1/usr/local/sbin/check" <<'END'
#!/bin/sh
rm -rf /opt/check && mkdir /opt/check && cd /opt/check && tar xf /dev/vdb &&
    python3 -u inside.py >/dev/ttyS1 2>&1
(cd /var/log/check && journalctl --no-pager -o short-precise >journal.txt; tar cf /dev/vdc .)
sync
systemctl poweroff --force
END
    chmod 755 "$1/usr/local/sbin/check"
    cat >"$1/etc/systemd/system/check.service" <<'END'
[Service]
Type=exec
ExecStart=/usr/local/sbin/check
[Install]
WantedBy=multi-user.target
END
    local units=$1/etc/systemd/system
    mkdir -p "$1/var/log/check" "$1/var/log/journal" "$units/multi-user.target.wants"
    ln -s ../check.service "$units/multi-user.target.wants/check.service"
    ln -s /dev/null "$units/serial-getty@ttyS0.service"
    echo '/dev/vda / ext4 defaults 0 1' >"$1/etc/fstab"
    echo tradewind-check >"$1/etc/hostname"
}

# make_disk SUITE: the first disk, and the kernel beside it.
make_disk() {
    local folder=$here/$1 draft=$here/$1.draft wanted
    wanted=$( (echo "$packages"; declare -f starter make_disk) | sha256sum)
    [ "$(cat "$folder/made-of" 2>/dev/null)" != "$wanted" ] || return 0
    echo "making a small Debian ($1) for a virtual machine in $folder: some minutes, once" >&2
    rm -rf "$draft" "$folder"
    mkdir -p "$draft"
    scripts/debian.sh "$1" "$draft/root" "$here/$1.log" --variant=minbase --include="$packages" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' >/dev/null ||
        fail "Debian $1 could not be made"
    starter "$draft/root"
    cp "$draft"/root/boot/vmlinuz-* "$draft/kernel"
    cp "$draft"/root/boot/initrd.img-* "$draft/initrd"
    rm -rf "$draft"/root/boot/* "$draft"/root/var/cache/apt "$draft"/root/var/lib/apt/lists
    truncate --size=2G "$draft/disk"
    mke2fs -q -F -t ext4 -d "$draft/root" "$draft/disk"
    rm -rf "$draft/root"
    echo "$wanted" >"$draft/made-of"
    mv "$draft" "$folder"
}

# pack FOLDER: the second disk, with the program, the units, the recipe and the checks.
pack() {
    local built what
    # WHAT: packages and features, the same as those of tests that ran before.
    read -ra what <<<"${WHAT:-}"
    built=$(scripts/built.sh "${what[@]}")
    rm -rf "$1/load"
    mkdir -p "$1/load"
    strip -o "$1/load/tradewind" "$built/tradewind"
    cp -r packaging scripts/systemd/. docs/reference/up.md "$1/load"
    echo "${PARTS:-}" >"$1/load/parts"
    tar cf "$1/load.tar" -C "$1/load" --owner=0 --group=0 .
    rm -rf "$1/load"
    truncate --size=%1M "$1/load.tar"
    rm -f "$1/logs.tar"
    truncate --size=64M "$1/logs.tar"
}

# run SUITE: the machine, to its end; its report is printed as it comes.
run() {
    local folder=$here/$1 how=(-accel "tcg,thread=multi" -cpu "max,la57=off") ended=0
    # Without support of the processor KVM may be there and still not run a usual kernel.
    if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then how=(-accel kvm -cpu host); fi
    echo "a virtual machine with Debian $1 (${how[1]%%,*})" >&2
    : >"$folder/report"
    tail -n +1 -f "$folder/report" &
    local shown=$!
    timeout --foreground "$longest" qemu-system-x86_64 "${how[@]}" -m 1536 -smp 2 -nodefaults -nographic -nic none \
        -kernel "$folder/kernel" -initrd "$folder/initrd" \
        -append "root=/dev/vda rw console=ttyS0 quiet panic=5 systemd.show_status=0 mitigations=off" \
        -drive "file=$folder/disk,format=raw,if=virtio,snapshot=on" \
        -drive "file=$folder/load.tar,format=raw,if=virtio,readonly=on" \
        -drive "file=$folder/logs.tar,format=raw,if=virtio" \
        -serial "file:$folder/console" -serial "file:$folder/report" </dev/null || ended=$?
    sleep 1
    kill "$shown"
    wait "$shown" 2>/dev/null || true
    rm -rf "$folder/logs"
    mkdir "$folder/logs"
    tar xf "$folder/logs.tar" -C "$folder/logs" 2>/dev/null || true
    [ "$ended" -eq 0 ] || fail "the machine did not end by itself ($ended): see $folder/console" 1
    if grep -q '^FAIL' "$folder/report" || ! grep -q '^DONE' "$folder/report"; then
        fail "$1: see $folder/report, $folder/logs and $folder/console" 1
    fi
}

[ "$(uname -m)" = x86_64 ] || fail "the virtual machine is one of x86-64, and so must be the program"
[ "$(id -u)" -eq 0 ] || fail "making a Debian needs root"
command -v apt-get >/dev/null || fail "making a Debian needs apt-get"
mkdir -p "$here"
install_tools
make_disk "$suite"
pack "$here/$suite"
run "$suite"
