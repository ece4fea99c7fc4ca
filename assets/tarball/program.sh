#!/usr/bin/env bash
# program.sh VERSION: builds the program from /source with the libraries of libraries.sh, and makes
# /out/reverie-VERSION-linux-x86_64.tar.xz. SOURCE_DATE_EPOCH: the time of all its files. make.sh runs this script in a
# Debian 11.
set -euo pipefail
name=reverie-$1-linux-x86_64
made=/made system=/usr/lib/x86_64-linux-gnu opened=/made/opened tree=/made/tree/$name
here=$(dirname "$(realpath "$0")")
export LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1

# Libraries that are the system's alone, which need not be there for most of what the program does, and oneDNN, whose
# C++ runtime drivers must not find.
stand_ins() {
  mkdir -p $opened/pkgconfig
  stand_in X11 libX11.so.6 0 global,early window/x11.c
  stand_in Xrandr libXrandr.so.2 0 "" window/x11.c
  stand_in asound libasound.so.2 -2 "" remote/midi_alsa.c
  stand_in curl libcurl.so.4 2 say models/http_curl.c
  stand_in dnnl libdnnl.so.2 5 say ../unet/cpu/cpu_dnnl.c
  for file in x11:X11 xrandr:Xrandr alsa:asound libcurl:curl; do
    printf 'Name: %s\nDescription: stand-ins\nVersion: %s\nLibs: -L%s -l%s -ldl\n' "${file%:*}" \
      "$(pkg-config --modversion "${file%:*}")" $opened "${file#*:}" >$opened/pkgconfig/"${file%:*}".pc
  done
}

# stand_in NAME SONAME ABSENT HOW FILE: the archive libNAME.a of what opened.sh makes.
stand_in() {
  local file=$system/$2
  [ -e "$file" ] || file=$made/lib/$2
  "$here/opened.sh" "$file" "$2" "$3" "$4" /source/app/"$5" >$opened/"$1".c
  gcc -O2 -fPIC -fvisibility=hidden -Wall -Werror -c $opened/"$1".c -o $opened/"$1".o
  rm -f $opened/lib"$1".a
  ar rcD $opened/lib"$1".a $opened/"$1".o
}

build() {
  rm -rf $made/meson $made/build $made/tree
  mkdir -p $made/meson
  tar xf /sources/meson_*.orig.tar.gz -C $made/meson --strip-components=1 --no-same-owner
  export CPATH=$made/include LIBRARY_PATH=$opened:$made/lib LD_LIBRARY_PATH=$made/lib
  export PKG_CONFIG_PATH=$opened/pkgconfig:$made/lib/pkgconfig
  python3 $made/meson/meson.py setup $made/build /source --prefix=/usr/local --libdir=lib --strip -Dtests=false \
    -Dpkgconfig.relocatable=true -Dcuda=disabled -Donednn=enabled -Dfetch=enabled -Dosc=enabled -Dalsa=enabled \
    -Dqr=enabled -Dweb=enabled -Dx11=enabled -Dfontconfig=disabled -Dpipewire=disabled -Dfrei0r=disabled \
    -Dgstreamer=disabled -Dobs=disabled -Dc_args=-ffile-prefix-map=/source=. \
    -Dc_link_args="-Wl,--push-state,--no-as-needed,-ldl,--pop-state -Wl,--export-dynamic-symbol=XGetGeometry" \
    >$made/meson.log || { tail -n 20 $made/meson.log; exit 1; }
  ninja -C $made/build -j "${JOBS:-$(nproc)}" >$made/ninja.log ||
    { grep -A 20 FAILED $made/ninja.log | head -60; exit 1; }
  DESTDIR=$made/tree/install python3 $made/meson/meson.py install -C $made/build --no-rebuild >/dev/null
  mv $made/tree/install/usr/local $tree
}

# needed FILE: the libraries that an ELF file names.
needed() { objdump -p "$1" | sed -n 's/^  NEEDED *//p'; }

# Copies into lib/ what the program and the libraries there need and the system does not have to have, until nothing is
# missing.
gather() {
  local missing=yes name file
  for file in $made/lib/lib{avdevice,avfilter}.so $made/lib/libdnnl.so.2; do
    cp -L "$file" "$tree/lib/$(objdump -p "$file" | sed -n 's/^  SONAME *//p')"
  done
  while [ -n "$missing" ]; do
    missing=
    for name in $(for file in "$tree"/bin/* "$tree"/lib/*.so.*; do needed "$file"; done | sort -u); do
      case $name in
      libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-x86-64.so.2) continue ;;
      libasound.so.2 | libxcb*.so.*) continue ;; # libavdevice alone needs them
      esac
      [ ! -e "$tree/lib/$name" ] || continue
      missing=yes
      for file in $made/lib/"$name" $system/"$name" /lib/x86_64-linux-gnu/"$name"; do
        if [ -e "$file" ]; then
          cp -L "$file" "$tree/lib/$name"
          break
        fi
      done
    done
  done
  for file in "$tree"/lib/*.so.*; do
    [ -L "$file" ] || { chmod 644 "$file" && strip --strip-unneeded "$file" && patchelf --set-rpath '$ORIGIN' "$file"; }
  done
  patchelf --set-rpath '$ORIGIN/../lib' "$tree/bin/reverie"
}

# Writes LICENCES and the folder licences, which has the texts.
licences() {
  local name licence how from version
  mkdir -p "$tree/licences"
  cp /source/LICENSE "$tree/licences/reverie"
  sed '/^Files: debian/d' /source/debian/copyright >"$tree/licences/reverie-data"
  {
    cat "$here/licences.head"
    while IFS='|' read -r name licence how from; do
      case $name in '#'*) continue ;; esac
      if [[ $from == "source "* ]]; then
        from=${from#source }
        version=$(cd /sources && ls | sed -n "s/^${from}[_a-z]*[_-]\([0-9][0-9.]*[0-9]\)[.+-].*/\1/p" | head -n 1)
        cat $made/licences/"$from"/* >"$tree/licences/$from"
      else
        version=$(zcat /usr/share/doc/"$from"/changelog.Debian.gz 2>/dev/null | sed -n '1s/.*(\(.*\)).*/\1/p')
        cp /usr/share/doc/"$from"/copyright "$tree/licences/$from"
      fi
      printf '%-36s %-20s %-8s %s\n' "$name" "$version" "$how" "$licence (licences/$from)"
    done <"$here/licences.txt"
  } >"$tree/LICENCES"
}

stand_ins
build
gather
licences
find "$tree" -type d -exec chmod 755 {} +
mkdir -p /out
tar -C "$(dirname "$tree")" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
  -c "$name" | xz -6 -T1 >/out/"$name".tar.xz
