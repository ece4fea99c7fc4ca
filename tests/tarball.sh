#!/usr/bin/env bash
usage="tarball.sh TARBALL [FOLDER]

Checks a tarball of assets/tarball/make.sh: what its files ask of the system, and that it runs
in Debian 11, 12 and 13 with nothing but the C library, and in Debian 13 with a window. FOLDER
keeps the systems for the next call. It needs root, mmdebstrap, Debian's archive and Xvfb."
set -euo pipefail
case ${1---help} in
-h | --help) echo "usage: $usage" && exit 0 ;;
-*) echo "tarball.sh: $1: there is no such option; --help tells more" >&2 && exit 2 ;;
esac
tarball=$(realpath "$1")
folder=${2-}
own=
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  own=$folder
fi
mkdir -p "$folder"
folder=$(realpath "$folder")
display=
leave() {
  [ -z "$display" ] || kill "$display"
  umount "$folder"/*/proc "$folder"/*/dev 2>/dev/null || true
  [ -z "$own" ] || rm -rf --one-file-system "$own"
}
trap leave EXIT

fail() {
  echo "$*" >&2
  exit 1
}

# Of the system: the C library; for libavdevice, which is opened for cameras, screens and sound alone, ALSA and XCB too.
of_c='^(libc|libm|libdl|libpthread|librt)\.so\.[0-9]$|^ld-linux-x86-64\.so\.2$'
of_devices='^libasound\.so\.2$|^libxcb(-shm|-shape|-xfixes)?\.so\.[0-9]$'

check_files() {
  local tree=$1 file name versions=
  for file in "$tree"/bin/* "$tree"/lib/*.so*; do
    [ ! -L "$file" ] || continue
    for name in $(objdump -p "$file" | sed -n 's/^  NEEDED *//p'); do
      [ ! -e "$tree/lib/$name" ] || continue
      [[ ! $name =~ $of_c ]] || continue
      [[ $file != */libavdevice* || ! $name =~ $of_devices ]] || continue
      fail "$file needs $name, which is neither in the tarball nor in every system"
    done
    versions+=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' || true)$'\n'
    [ -z "$(objdump -p "$file" | sed -n 's/^  R\(UN\)\?PATH *//p' | grep -v '^$ORIGIN\(/../lib\)\?$')" ] ||
      fail "$file looks for libraries outside the tarball"
  done
  echo "glibc: $(sort -Vu <<<"$versions" | tail -n 1) and newer"
  while read -r name; do [ -s "$tree/$name" ] || fail "LICENCES names $name, which is not there"; done \
    < <(sed -n 's/.*(\(licences\/.*\)).*/\1/p' "$tree/LICENCES")
}

# make SYSTEM NAME PACKAGES: a system with these packages, unpacked. The tarball is unpacked in it, in a folder that no
# option of the build names.
make() {
  local root=$folder/$2
  [ -e "$root/there" ] || {
    rm -rf --one-file-system "$root"
    mmdebstrap --quiet --variant=extract --aptopt='Acquire::Retries "3"' --include="$3" "$1" "$root" - \
      <<<"deb http://deb.debian.org/debian $1 main"
    mkdir -p "$root/proc" "$root/dev"
    touch "$root/there"
  }
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
  rm -rf "$root/any where"
  mkdir -p "$root/any where"
  tar xf "$tarball" -C "$root/any where" --strip-components=1
}

inside() {
  local root=$folder/$1
  shift
  chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root ${DISPLAY:+DISPLAY=$DISPLAY} "$@"
}

run_plain() {
  local system=$1 program="/any where/bin/reverie" sample="/any where/share/reverie/sample.mp4"
  inside "$system" "$program" --version -v
  inside "$system" "$program" info mini | head -n 3
  inside "$system" "$program" render "$sample" /film.mp4 -y --prompt neon --duration 1
  inside "$system" "$program" render "$sample" hash:/made --duration 0.2 --size 128x72 --prompt neon -y -q
  inside "$system" "$program" render "$sample" /film.webm -y -q --duration 0.5 --size 128x72
  [ "$(grep -c '^[0-9]' "$folder/$system/made")" = 5 ] || fail "$system: not all pictures were made"
  sha256sum <"$folder/$system/made" | sed "s/-/pictures of $system/"
}

run_window() {
  local system=$1 program="/any where/bin/reverie" number
  exec 3< <(exec Xvfb -displayfd 1 -screen 0 800x600x24 +extension GLX -noreset 2>/dev/null)
  display=$!
  read -r number <&3
  DISPLAY=:$number inside "$system" "$program" live "/any where/share/reverie/sample.mp4" --duration 5 --prompt neon
}

tree=$folder/tree
rm -rf "$tree"
mkdir -p "$tree"
tar xf "$tarball" -C "$tree" --strip-components=1
check_files "$tree"
for system in bullseye bookworm trixie; do
  make $system $system base-files,libc6,libgcc-s1,dash,coreutils
  run_plain $system
done
make trixie window base-files,libc6,libgcc-s1,dash,coreutils,libgl1,libglx-mesa0,libgl1-mesa-dri,libx11-6,libxrandr2,libxext6,\
libxcursor1,libxi6,libxss1,libxfixes3,libasound2t64,libxcb-shm0,libxcb-xfixes0,libxcb-shape0
run_window window
echo "$(basename "$tarball"): runs"
