#!/usr/bin/env bash
# libraries.sh: builds in /made, from the sources that lie in /sources, the libraries that the tarball has beside the
# program and those that the program is linked with statically. make.sh runs this script in a Debian 11.
set -euo pipefail
made=/made work=/made/work
export SOURCE_DATE_EPOCH=0 LC_ALL=C PKG_CONFIG_PATH=$made/lib/pkgconfig
export CFLAGS="-O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2" CXXFLAGS="-O2 -fstack-protector-strong"
mkdir -p $made/lib/pkgconfig $made/include $made/licences $work
jobs=${JOBS:-$(nproc)}
system=/usr/lib/x86_64-linux-gnu

# unpack NAME LICENCE...: unpacks the source of a Debian package, and makes its folder the current one. Its files
# LICENCE go into the tarball.
unpack() {
  local name=$1 file
  shift
  rm -rf "${work:?}/$name"
  mkdir -p $work/$name $made/licences/$name
  tar xf /sources/"$name"_*.orig.tar.* -C $work/$name --strip-components=1 --no-same-owner
  cd $work/$name
  for file in "$@"; do cp "$file" $made/licences/$name/; done
}

# describe NAME VERSION LIBRARIES: a file for pkg-config.
describe() {
  printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: -I%s/include %s\nLibs: -L%s/lib %s\n' "$1" "$1" "$2" $made \
    "${4-}" $made "$3" >$made/lib/pkgconfig/"$1".pc
}

# The filters that the program uses, and those that lavfi: has most use for.
filters=buffer,buffersink,abuffer,abuffersink,bwdif,yadif,tonemap,format,palettegen,paletteuse,aformat,aresample
filters+=,null,anull,nullsrc,anullsrc,nullsink,anullsink,movie,amovie,color,testsrc,testsrc2,smptebars,smptehdbars
filters+=,mandelbrot,life,cellauto,gradients,sierpinski,sine,anoisesrc,aevalsrc,noise,scale,crop,pad,fps,framerate
filters+=,setpts,asetpts,settb,trim,atrim,loop,aloop,split,asplit,concat,overlay,blend,hstack,vstack,xstack,hflip,vflip
filters+=,transpose,rotate,hue,eq,lut,lutyuv,lutrgb,curves,colorbalance,colorspace,colorkey,chromakey,alphamerge
filters+=,alphaextract,fade,afade,amix,volume,drawbox,drawgrid,geq,boxblur,gblur,unsharp,negate,reverse,realtime
filters+=,showwaves,showspectrum,setsar,setdar,setrange,setparams

build_ffmpeg() {
  unpack ffmpeg COPYING.LGPLv2.1 LICENSE.md CREDITS
  ./configure --prefix=$made --enable-shared --disable-static --disable-programs --disable-doc --disable-debug \
    --disable-autodetect --enable-zlib --enable-libvpx --enable-libopus --enable-libdav1d --enable-libwebp \
    --enable-libmp3lame --enable-libopenh264 --enable-alsa --enable-libxcb --enable-libxcb-shm --enable-libxcb-xfixes \
    --enable-libxcb-shape --disable-filters --enable-filter="$filters" --extra-cflags="$CFLAGS -I$made/include" \
    --extra-ldflags="-L$made/lib -Wl,-z,relro,-z,now" >/dev/null
  grep -q '^License: LGPL' <(sed -n 's/^#define FFMPEG_LICENSE "\(.*\)"/License: \1/p' config.h)
  make -s -j"$jobs" >/dev/null
  make -s install >/dev/null
}

build_sdl() {
  unpack libsdl2 LICENSE.txt
  ./configure --prefix=$made --disable-static --disable-rpath --disable-jack --disable-esd --disable-sndio \
    --disable-nas --disable-libsamplerate --disable-pipewire --disable-video-vulkan --disable-joystick \
    --disable-haptic --disable-sensor --disable-hidapi >/dev/null
  make -s -j"$jobs" >/dev/null
  make -s install >/dev/null
}

build_openh264() {
  unpack openh264 LICENSE
  make -s -j"$jobs" OS=linux ARCH=x86_64 BUILDTYPE=Release PREFIX=$made \
    SHLDFLAGS="-Wl,-soname,libopenh264.so.7 -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL" \
    install-shared >/dev/null
}

build_microhttpd() {
  unpack libmicrohttpd COPYING
  ./configure --prefix=$made --disable-static --disable-https --disable-doc --disable-examples --disable-curl >/dev/null
  make -s -j"$jobs" >/dev/null
  make -s install >/dev/null
}

build_texts() {
  unpack harfbuzz COPYING
  g++ $CXXFLAGS -fPIC -fno-exceptions -fno-rtti -fno-threadsafe-statics -DHAVE_FREETYPE=1 -DHAVE_PTHREAD=1 \
    $(pkg-config --cflags freetype2) -c src/harfbuzz.cc -o harfbuzz.o
  ar rcD $made/lib/libharfbuzz.a harfbuzz.o
  unpack libsdl2-ttf LICENSE.txt
  gcc $CFLAGS -fPIC -DTTF_USE_HARFBUZZ=1 -I../harfbuzz/src $(pkg-config --cflags freetype2 sdl2) -c SDL_ttf.c
  ar rcD $made/lib/libSDL2_ttf.a SDL_ttf.o
  cp SDL_ttf.h $made/include/SDL2/
  describe SDL2_ttf 2.20.1 "-lSDL2_ttf -lharfbuzz -lfreetype -lpng16 -lbrotlidec -lbrotlicommon -lz -lm -lpthread" \
    "-I$made/include/SDL2"
}

build_small() {
  unpack cjson LICENSE
  gcc $CFLAGS -fPIC -c cJSON.c
  ar rcD $made/lib/libcjson.a cJSON.o
  mkdir -p $made/include/cjson
  cp cJSON.h $made/include/cjson/
  describe libcjson 1.7.15 -lcjson -I$made/include/cjson
  unpack qr-code-generator Readme.markdown
  gcc $CFLAGS -fPIC -c c/qrcodegen.c
  ar rcD $made/lib/libqrcodegen.a qrcodegen.o
  mkdir -p $made/include/qrcodegen
  cp c/qrcodegen.h $made/include/qrcodegen/
  describe qrcodegen 1.8.0 -lqrcodegen
}

# oneDNN comes as a wheel, which asks little of glibc. The runtime of C++ that oneDNN needs gets a name of its
# own, so that drivers, which the same process loads, still get the system's newer one.
take_onednn() {
  mkdir -p $made/licences/onednn
  rm -rf $work/onednn
  mkdir $work/onednn
  cd $work/onednn
  for wheel in /sources/onednn*.whl; do python3 -m zipfile -e "$wheel" .; done
  cp onednn_devel*.data/data/include/*.h $made/include/
  cp -r onednn_devel*.data/data/include/oneapi $made/include/
  cp onednn_cpu*.data/data/share/doc/onednn/{LICENSE,THIRD-PARTY-PROGRAMS} $made/licences/onednn/
  cp -L onednn_cpu*.data/data/lib/libdnnl.so.2 $made/lib/
  chmod 644 $made/lib/libdnnl.so.2
  cp -L $system/libstdc++.so.6 $made/lib/libreverie-stdc++.so.6
  cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 $made/lib/libreverie-gcc_s.so.1
  cp -L $system/libgomp.so.1 $made/lib/
  for name in stdc++.so.6 gcc_s.so.1; do patchelf --set-soname libreverie-$name $made/lib/libreverie-$name; done
  for name in dnnl.so.2 reverie-stdc++.so.6; do
    patchelf --replace-needed libstdc++.so.6 libreverie-stdc++.so.6 $made/lib/lib$name
    patchelf --replace-needed libgcc_s.so.1 libreverie-gcc_s.so.1 $made/lib/lib$name
  done
}

# Of these libraries the static ones are wanted, and gcc takes a shared one where there are both.
rm -f $system/lib{z,png,png16,freetype,brotlidec,brotlicommon,pcre2-8,utf8proc}.so
for name in brotlidec brotlicommon; do
  [ -e $system/lib$name.a ] || ln -s lib$name-static.a $system/lib$name.a
done
for part in ${PARTS:-small onednn openh264 microhttpd sdl texts ffmpeg}; do
  if [ -e $work/$part.done ]; then continue; fi
  echo "$(date +%T) $part"
  if [ $part = onednn ]; then take_onednn; else build_$part; fi
  touch $work/$part.done
done
