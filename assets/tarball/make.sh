#!/usr/bin/env bash
usage="make.sh FOLDER [COMMIT]

Makes of COMMIT (HEAD) the tarball reverie-VERSION-linux-x86_64.tar.xz in FOLDER, and beside it
...-sources.tar with the sources of the libraries that were built for it. It builds in a Debian 11
of its own, FOLDER/root, so that the program runs with glibc 2.31 and newer. What was got and built
is kept there: a second call builds the program alone. Without FOLDER/root and FOLDER/sources
everything is made anew.

It needs root, mmdebstrap, pip, Debian's archive and PyPI, 2 GB of disk, and a quarter of an hour
of a processor. JOBS: how many compilers run at once."
# The files beside it: libraries.sh builds the libraries, program.sh the program and the tarball, opened.sh what stands
# in for libraries that may be missing, licences.txt lists the libraries.
set -euo pipefail
case ${1---help} in
-h | --help) echo "usage: $usage" && exit 0 ;;
-*) echo "make.sh: $1: there is no such option; --help tells more" >&2 && exit 2 ;;
esac
mkdir -p "$1"
folder=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
commit=$(git -C "$here" rev-parse --verify "${2-HEAD}^{commit}")
root=$folder/root sources=$folder/sources

# What runs in the Debian 11, what is linked with there, and what the shared libraries in lib/ are copied from.
packages=(base-files bash coreutils dash debianutils diffutils file findutils grep gzip libc-bin libcrypt1 mawk perl
  perl-base sed tar bzip2 g++ gcc make nasm ninja-build patchelf pkg-config python3-distutils python3-minimal xz-utils
  libasound2-dev libcurl4-openssl-dev libdav1d-dev libdbus-1-dev libdrm-dev libegl-dev libepoxy-dev libfreetype-dev
  libgbm-dev libgl-dev libgles-dev libibus-1.0-dev liblo-dev libmp3lame-dev libopus-dev libpcre2-dev libpng-dev
  libpulse-dev libudev-dev libutf8proc-dev libvpx-dev libwayland-dev libwebp-dev libwslay-dev libx11-dev
  libxcb-shape0-dev libxcb-shm0-dev libxcb-xfixes0-dev libxcb1-dev libxcursor-dev libxext-dev libxfixes-dev libxi-dev
  libxinerama-dev libxkbcommon-dev libxrandr-dev libxss-dev zlib1g-dev)

# The packages are unpacked and not configured, which takes a minute less and is all that a compiler needs.
make_root() {
  rm -rf --one-file-system "$root"
  mmdebstrap --quiet --variant=extract --aptopt='Acquire::Retries "3"' --include="$(IFS=, && echo "${packages[*]}")" \
    bullseye "$root" - <<END
deb http://deb.debian.org/debian bullseye main
deb http://deb.debian.org/debian-security bullseye-security main
END
  ln -sf mawk "$root/usr/bin/awk"
  mkdir -p "$root/proc" "$root/scripts"
}

# Debian 12 has the versions of the libraries that the program is tested with.
get_sources() {
  local lists=$folder/lists archive=$folder/debian-12.list key=/usr/share/keyrings/debian-archive-keyring.gpg
  rm -rf "$sources.part" "$lists"
  mkdir -p "$sources.part" "$lists/partial"
  cat >"$archive" <<END
deb-src [signed-by=$key] http://deb.debian.org/debian bookworm main
deb-src [signed-by=$key] http://deb.debian.org/debian-security bookworm-security main
END
  local options=(-qq -o Dir::Etc::sourcelist="$archive" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$lists" -o Acquire::Retries=3 -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$sources.part" && apt-get "${options[@]}" source --download-only --tar-only ffmpeg libsdl2 libsdl2-ttf harfbuzz \
    libmicrohttpd openh264 qr-code-generator cjson meson)
  rm -f "$sources.part"/*.asc
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --platform manylinux1_x86_64 --require-hashes --dest "$sources.part" -r "$here/wheels.txt"
  mv "$sources.part" "$sources"
}

inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root JOBS="${JOBS:-$(nproc)}" "$@"
}

[ -e "$root/scripts" ] || { echo "$(date +%T) Debian 11" && make_root; }
[ -e "$sources" ] || { echo "$(date +%T) sources" && get_sources; }
trap 'umount "$root/proc" 2>/dev/null || true' EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
rm -rf "$root/sources" "$root/source" "$root/out"
mkdir -p "$root/sources" "$root/source"
cp "$sources"/*.orig.tar.* "$sources"/*.whl "$root/sources/"
cp "$here"/* "$root/scripts/"
git -C "$here/../.." archive "$commit" | tar x -C "$root/source"
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/source/meson.build")
seconds=$(git -C "$here" log -1 --format=%ct "$commit")
inside /scripts/libraries.sh
echo "$(date +%T) program"
inside SOURCE_DATE_EPOCH="$seconds" /scripts/program.sh "$version"
cp "$root/out/"*.tar.xz "$folder/"
tar -C "$sources" --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --exclude='meson*' \
  --exclude='*.whl' -cf "$folder/reverie-$version-linux-x86_64-sources.tar" .
(cd "$folder" && sha256sum reverie-"$version"-linux-x86_64*)
