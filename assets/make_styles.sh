#!/bin/sh
# Makes styles.webp, the README's picture: a portrait, a frame of the sample clip and a cat, each before and in five
# styles.
# usage: assets/make_styles.sh build/app/reverie astronaut.png chelsea.png
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cell=0

picture() {
  ffmpeg -nostdin -v error "$@" -frames:v 1 "$work/input.png"
}

# One row: the input, then one rendering for each prompt.
row() {
  cp "$work/input.png" "$work/cell$cell.png"
  cell=$((cell + 1))
  for prompt; do
    "$reverie" render "$work/input.png" "$work/cell$cell.png" --size 512x512 --seed 1 --device cpu --precision f32 \
      --prompt "$prompt"
    cell=$((cell + 1))
  done
  rm "$work/input.png"
}

reverie=$1
picture -i "$2" -vf 'crop=400:400:40:0,scale=512:512:flags=lanczos'
row 'oil painting' 'ink drawing' 'pencil sketch' 'pop art' 'mosaic'
picture -ss 2 -i "$here/sample.mp4" -vf 'crop=360:360,scale=512:512:flags=lanczos'
row 'watercolor' 'charcoal' 'neon' 'cartoon' 'blueprint'
picture -i "$3" -vf 'crop=300:300:90:0,scale=512:512:flags=lanczos'
row 'comic' 'linocut' 'risograph' 'thermal camera' 'vintage film'
ffmpeg -nostdin -v error -y -i "$work/cell%d.png" -vf 'scale=280:280:flags=area,tile=6x3:margin=3:padding=6:color=white' \
  -frames:v 1 -c:v libwebp -quality 84 -compression_level 6 "$here/styles.webp"
