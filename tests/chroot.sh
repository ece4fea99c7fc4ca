#!/usr/bin/env bash
# chroot.sh FOLDER: makes the Debian packages of HEAD as Debian does: from the source archive of `meson dist`, in a new
# Debian 12 that has nothing but what debian/control names, and without network. They are in FOLDER then, with
# lintian's words in lintian.txt; an error of lintian's ends it with 1. Needs root, mmdebstrap, meson and Debian's
# archive.
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
top=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
root=$work/root
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

# The archive has what HEAD has, as Git knows it; meson wants a build folder to ask for it.
git clone -q "$top" "$work/clone"
meson setup "$work/clone/build" "$work/clone" -Dtests=false -Dcuda=disabled >/dev/null
meson dist -C "$work/clone/build" --no-tests --formats xztar >/dev/null
archive=$(echo "$work"/clone/build/meson-dist/*.tar.xz)

mmdebstrap --quiet --variant=buildd bookworm "$root"
mount -t proc proc "$root/proc"
tar -C "$root" -xf "$archive"
source=/$(basename "$archive" .tar.xz)
inside apt-get -qq update
inside apt-get -qq -y --no-install-recommends build-dep "$source" >/dev/null
inside apt-get -qq -y --no-install-recommends install lintian >/dev/null

# A network namespace of its own has no way out.
unshare --net chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root \
  sh -c "cd '$source' && dpkg-buildpackage -b -us -uc" >"$folder/build.log" 2>&1 ||
  { tail -n 30 "$folder/build.log" && exit 1; }
cp "$root"/*.deb "$root"/*.changes "$folder"
inside sh -c 'lintian --allow-root /*.changes' | tee "$folder/lintian.txt"
! grep -q '^E:' "$folder/lintian.txt"
