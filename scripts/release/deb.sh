#!/usr/bin/env bash
# deb.sh STAGED VERSION OUT.deb: Debian's package of what stage.sh has staged. It asks for the C
# library of the machine that the program was linked on, as far as its symbols need it. LEVEL: of
# compression; MAINTAINER: the package's.
set -euo pipefail
cd "$(dirname "$0")/../.."
staged=$1 version=$2 out=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 755 "$root"
cp -R "$staged" "$root/usr"
doc=$root/usr/share/doc/tradewind
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
# Debian's names, and paths below /usr.
mv "$doc/CHANGELOG.md.gz" "$doc/changelog.gz"
mv "$doc/packaging" "$doc/examples/packaging"
{ cat packaging/deb/copyright; sed 's/^$/./; s/^/ /' LICENSE-MIT LICENSE-APACHE; } >"$doc/copyright"
rm "$doc/LICENSE-MIT" "$doc/LICENSE-APACHE"
sed -i 's|/usr/local/bin/|/usr/bin/|' "$doc"/examples/packaging/*.conf
unit=$root/usr/lib/systemd/system/tradewind.service
install -d "$(dirname "$unit")" "$root/etc"
{
    echo "# A live market as a service: see /usr/share/doc/tradewind and tradewind-up(1)."
    sed -n '/^\[Unit\]/,$p' packaging/tradewind.service | sed 's|/usr/local/bin/|/usr/bin/|'
} >"$unit"
install -D -m 644 packaging/tradewind.toml "$root/etc/tradewind/tradewind.toml"
rm "$doc/examples/packaging/tradewind.service" "$doc/examples/packaging/tradewind.toml"

glibc=$(readelf --version-info --wide "$root/usr/bin/tradewind" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
install -d "$root/DEBIAN"
sed -e "s|@VERSION@|$version|; s|@ARCHITECTURE@|$(dpkg --print-architecture)|; s|@GLIBC@|${glibc#GLIBC_}|" \
    -e "s|@MAINTAINER@|${MAINTAINER:-The Tradewind developers <root@localhost>}|" \
    -e "s|@SIZE@|$(du -k -s --apparent-size "$root" | cut -f 1)|" packaging/deb/control >"$root/DEBIAN/control"
install -m 755 -t "$root/DEBIAN" packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm
echo /etc/tradewind/tradewind.toml >"$root/DEBIAN/conffiles"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
# One thread: the same bytes on every machine.
dpkg-deb --root-owner-group -Zxz "-z${LEVEL:-6}" --threads-max=1 --build "$root" "$out" >/dev/null
