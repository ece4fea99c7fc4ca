#!/bin/sh
# Makes maps.webp, PICTURE.md's picture of maps: a portrait, four maps of it, and what mini makes of it (which reads none).
# usage: assets/make_maps.sh build/app/reverie astronaut.png
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
reverie=$1
cell=0

render() {
  "$reverie" render "$work/cell0.png" "$work/cell$cell.png" -y --size 512x512 --seed 1 --device cpu --precision f32 "$@"
  cell=$((cell + 1))
}

ffmpeg -nostdin -v error -i "$2" -vf 'crop=400:400:40:0,scale=512:512:flags=lanczos' -frames:v 1 "$work/cell0.png"
cell=1
for map in canny lineart softedge color; do
  render --control $map --show map
done
render --prompt 'ink drawing'
ffmpeg -nostdin -v error -y -i "$work/cell%d.png" -vf 'scale=256:256:flags=area,tile=6x1:margin=3:padding=6:color=white' \
  -frames:v 1 -c:v libwebp -quality 84 -compression_level 6 "$here/maps.webp"
