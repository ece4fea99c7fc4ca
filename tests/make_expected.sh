#!/bin/sh
# Makes the pictures in tests/expected that test_render compares the sample clip with. Run it when the built-in model or
# what is asked of it changes, look at the pictures, and commit them.
# usage: tests/make_expected.sh build/app/reverie
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=$here/expected
mkdir -p "$out"
rm -f "$out"/*.png
echo '--size 256x128 --prompt neon --seed 1 --precision f32 -c ffv1' >"$out/arguments"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046
"$1" render "$here/../assets/sample.mp4" "$work/sample.mkv" $(cat "$out/arguments")
ffmpeg -nostdin -v error -i "$work/sample.mkv" -vf "select='not(mod(n,63))'" -fps_mode passthrough -start_number 0 \
  "$out/%d.png"
ls -l "$out"
