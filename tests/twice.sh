#!/usr/bin/env bash
usage="twice.sh [COMMIT]
       twice.sh tarball [COMMIT]

Builds COMMIT (HEAD) twice, in two folders of different names and without ccache, and compares
what is installed, byte by byte. With the word tarball it makes the tarball of assets/tarball/make.sh
twice, with all libraries in it, which needs what make.sh needs, and twice its time."
set -euo pipefail
case ${1-} in
-h | --help) echo "usage: $usage" && exit 0 ;;
tarball) tarball=yes && shift ;;
-*) echo "twice.sh: $1: there is no such option; --help tells more" >&2 && exit 2 ;;
esac
top=$(realpath "$(dirname "$0")/..")
commit=$(git -C "$top" rev-parse --verify "${1-HEAD}^{commit}")
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
export CCACHE_DISABLE=1

# build FOLDER: what the build of a copy of the sources in FOLDER installs, in $work/FOLDER.installed.
build() {
  mkdir "$work/$1"
  git -C "$top" archive "$commit" | tar x -C "$work/$1"
  meson setup "$work/$1/build" "$work/$1" -Dtests=false -Dcuda=disabled >/dev/null
  ninja -C "$work/$1/build" >/dev/null
  DESTDIR=$work/$1.installed meson install -C "$work/$1/build" --no-rebuild >/dev/null
}

if [ -n "${tarball-}" ]; then
  for name in one other; do "$top/assets/tarball/make.sh" "$work/$name.installed" "$commit" >/dev/null; done
  rm -rf --one-file-system "$work"/*.installed/{root,lists,sources,debian-12.list}
else
  build one
  build another-folder
fi
diff -r "$work"/*.installed
echo "equal: $(cd "$work" && find ./*.installed -type f | wc -l) files of two builds of ${commit:0:8}"
