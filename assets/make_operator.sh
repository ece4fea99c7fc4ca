#!/bin/bash
# Makes operator.webp, the operator's window of README.md and LIVE.md: a show of six presets, with a sound track of its
# own, played to where the picture is frozen. Needs Xvfb, xdotool and ffmpeg.
# usage: assets/make_operator.sh build/app/reverie [FILE]
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server='' show=''
finish() {
  kill $show $server 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT

number=1
printf '{"presets": [' >"$work/show.json"
for name in 'Doors open' 'Night drive' Rain 'Ink and drums' Break Finale; do
  [ $number = 1 ] || printf ',' >>"$work/show.json"
  printf '{"name": "%s", "fade": 0, "values": {"strength": 0.7, "seed": %d, "blend[1]": 0.5, "blend[2]": 0.5}}' \
    "$name" $number >>"$work/show.json"
  number=$((number + 1))
done
printf ']}' >>"$work/show.json"
cat >"$work/acts.jsonl" <<'ACTS'
{"time": 1, "parameter": "scene", "value": "Rain"}
{"time": 2, "parameter": "cued-scene", "value": "Ink and drums"}
{"time": 12, "parameter": "freeze", "value": true}
ACTS
# A drum on each beat, and two tones, so that each meter has something to show.
drum='0.3*sin(2*PI*60*t)*exp(-4*mod(t,60/118))'
ffmpeg -nostdin -v error -f lavfi -i "aevalsrc='$drum+0.02*sin(2*PI*900*t)+0.004*sin(2*PI*5000*t)':d=30" \
  "$work/drums.wav"

export DISPLAY=:97 SDL_VIDEODRIVER=x11 SDL_AUDIODRIVER=dummy XDG_CONFIG_HOME=$work REVERIE_DATA_DIR=$here
Xvfb $DISPLAY -screen 0 1920x1080x24 2>/dev/null &
server=$!
sleep 1
"$1" live "$here/sample.mp4" --loop --no-config --operator --size 512x288 --budget 900 --budget-floor 512x288 \
  --presets "$work/show.json" --script "$work/acts.jsonl" --tempo 118 --sound "$work/drums.wav" \
  --modulate 'strength=bass*0.1' --strength 0.7 --prompt watercolor --prompt neon --prompt 'ink drawing' \
  --prompt 'oil painting' --prompt 'pencil sketch' --prompt cartoon --prompt mosaic --prompt 'vintage film' \
  --prompt 'pop art' >"$work/said" 2>&1 &
show=$!
goes_on() { kill -0 $show 2>/dev/null || { cat "$work/said" && exit 1; }; }
until window=$(xdotool search --onlyvisible --name '^reverie operator$'); do
  goes_on
  sleep 0.2
done
xdotool windowmove "$window" 0 0 windowsize "$window" 1280 720
sleep "${SECONDS_OF_SHOW:-25}"
goes_on
ffmpeg -nostdin -v error -y -f x11grab -draw_mouse 0 -window_id "$window" -i $DISPLAY -frames:v 1 -c:v libwebp \
  -quality 75 -compression_level 6 "${2:-$here/operator.webp}"
