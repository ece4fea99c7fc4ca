#!/usr/bin/env bash
# packages.sh FOLDER [ROOT]: installs the packages that lie in FOLDER in a new Debian 12, runs the tests of debian/tests
# there, purges the packages, and looks for what they left behind. ROOT: a folder with a Debian 12 to use in place of a
# new one. Needs root, mmdebstrap and Debian's archive.
set -euo pipefail
packages=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
root=${2-}
own=
if [ -z "$root" ]; then
  root=$(mktemp -d)
  own=$root
fi
trap 'umount "$root/proc" 2>/dev/null || true; [ -z "$own" ] || rm -rf --one-file-system "$own"' EXIT
[ -z "$own" ] || mmdebstrap --quiet --variant=minbase bookworm "$root"
mount -t proc proc "$root/proc"
inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

what_is_there() { (cd "$root" && find usr etc var/lib -xdev -path '*reverie*'); }

[ -z "$(what_is_there)" ] || { echo "$root has reverie already"; exit 1; }
mkdir -p "$root/packages" "$root/tests"
find "$packages" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t "$root/packages" {} +
cp "$here/../debian/tests/"* "$root/tests"

inside apt-get -qq update
inside sh -c 'apt-get -qq -y --no-install-recommends install /packages/*.deb' >/dev/null
tools=$(sed -n 's/^Depends: //p' "$here/../debian/tests/control" | tr -d ' ' | tr , '\n' | sort -u)
inside apt-get -qq -y --no-install-recommends install $tools >/dev/null
for name in render library hosts; do
  inside "/tests/$name" >"$root/$name.log" 2>&1 || { cat "$root/$name.log"; echo "$name fails"; exit 1; }
  echo "$name passes"
done

names=$(for deb in "$root"/packages/*.deb; do dpkg-deb -f "$deb" Package; done)
inside apt-get -qq -y purge $names >/dev/null
rm -r "$root/packages" "$root/tests"
left=$(what_is_there)
[ -z "$left" ] || { echo "left behind:"; echo "$left"; exit 1; }
echo "installed, used and purged: $(echo $names)"
