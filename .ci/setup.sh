# Sourced by run and check: what both need to install and build. Not a program of its own.

# What the program is built from, and what only the tests use.
build_packages=(gcc libc6-dev meson ninja-build pkg-config libsdl2-dev libsdl2-ttf-dev libavcodec-dev libavformat-dev
  libavdevice-dev libavfilter-dev libswresample-dev libswscale-dev libavutil-dev libcjson-dev libpcre2-dev libutf8proc-dev zlib1g-dev
  libepoxy-dev libdnnl-dev libpng-dev libcurl4-openssl-dev liblo-dev libmicrohttpd-dev libwslay-dev
  libasound2-dev libx11-dev libxrandr-dev libfontconfig-dev libqrcodegen-dev frei0r-plugins-dev)
test_packages=(libcmocka-dev ffmpeg xvfb xdotool xserver-xorg-core xserver-xorg-video-dummy x11-utils
  x11-xserver-utils libgl1-mesa-dri libegl1 python3 python3-cffi python3-numpy openssl gcc-mingw-w64-x86-64-posix make
  parallel libgstreamer-plugins-base1.0-dev gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  libpipewire-0.3-dev pipewire wireplumber dbus)

# Installs those of the named packages that are missing. Where that cannot be done it prints the one command that would,
# and returns 1. On a system without dpkg it leaves the matter to Meson, whose errors name what is missing.
install_missing() {
  command -v dpkg-query >/dev/null || return 0
  local missing sudo=()
  missing=$(comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort -u))
  [ -n "$missing" ] || return 0
  local install=(apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing)
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      echo "Some packages are missing, and installing them needs root. Run this, then try again:" >&2
      echo "  ${install[*]}" >&2
      return 1
    fi
    sudo=(sudo)
  fi
  echo "Installing:" $missing >&2
  local log
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get -o DPkg::Lock::Timeout=300 update &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "Installing failed; the command was: ${install[*]}" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# targets_without DIR SUITE: prints what ninja has to build if tests of this suite are not run: all that is built by
# default, except what those tests alone need.
targets_without() {
  python3 - "$@" <<'PYTHON'
import json, os, subprocess, sys
folder, suite = sys.argv[1:]
def introspect(what):
    return json.loads(subprocess.check_output(["meson", "introspect", "--" + what, folder]))
run, left = set(), set()
for test in introspect("tests"):
    (left if any(one.split(":")[-1] == suite for one in test["suite"]) else run).update(test["depends"])
for target in introspect("targets"):
    if target["build_by_default"] and target["id"] not in left - run:
        print(*(os.path.relpath(name, folder) for name in target["filename"]), sep="\n")
PYTHON
}

# build_in DIR MESON-OPTIONS...: configures once, then builds what changed. Quiet unless it fails. If without_suite is the
# name of a suite, what its tests alone need is not built.
build_in() {
  local dir=$1 log targets=()
  shift
  if [ ! -e "$dir/build.ninja" ]; then
    echo "Configuring $dir" >&2
    log=$(meson setup "$dir" "$@" 2>&1) || { printf '%s\n' "$log" | tail -n 20 >&2; return 1; }
  fi
  # The list of targets is read below, so it has to be that of today's meson.build.
  log=$(ninja -C "$dir" build.ninja 2>&1) || { printf '%s\n' "$log" | tail -n 40 >&2; return 1; }
  [ -z "${without_suite-}" ] || mapfile -t targets < <(targets_without "$dir" "$without_suite")
  if ! ninja -C "$dir" -n "${targets[@]}" 2>/dev/null | grep -q 'no work to do'; then
    echo "Building $dir: this takes minutes where nothing is built yet" >&2
    log=$(ninja -C "$dir" "${targets[@]}" 2>&1) || { printf '%s\n' "$log" | tail -n 40 >&2; return 1; }
  fi
}
