#!/usr/bin/env bash
# Checks and times the CUDA device on a machine with a GPU, in one go; the last lines are a table.
#
#   tests/gpu.sh                 builds first (needs what the network needs; FFmpeg and SDL2 may be missing)
#   tests/gpu.sh FOLDER          runs what was built elsewhere: FOLDER/tests, FOLDER/app; what they load may be in
#                                FOLDER/lib, FFmpeg's programs in FOLDER/bin
#
# Environment: OUT    where logs go (default: gpu-logs)
#              PARTS  what to run (default: all but rows, minutes, clips and fidelity): ops products sanitizer models generic
#                     attention mini library program shapes rows minutes clips fidelity device
#              MINI   a mini model (default: assets/mini/model)
#              GENERIC the programs built with -Dgpu_archs=ptx80, likewise in a folder (default: built here where the others
#                     are)
#              MINUTES how many (default: 10)
#              CLIPS  how many seconds a clip has, and is measured (default: 10)
#              AWAKE  1: minutes and clips run with --awake (default: as the machine is)
#              HWDEC  what decodes the clips: no is software (default: nvdec, where there is a GPU)
#              HWDEC_CLIPS a folder with the clips of test_hwdec_cuda, where the ffmpeg here cannot make them
#              COMMIT what FIDELITY.md says was measured (default: git's word)
#              FIDELITY which of its files to measure, without .json: tests/peers/measured has them (default: all)
# Several GPUs of one machine are measured by tests/gpu/several_gpus.py FOLDER MODEL....
# "generic": a Hopper GPU does as an Ampere or Ada one does, as it gets code for compute capability 8.0 alone, which its
# driver compiles. "program" needs the built program and the ffmpeg program, "shapes" Python with torch, diffusers and transformers,
# "fidelity" for LoRA peft, too. They are left out, by name, where those are not. "rows" are what frames take in several
# sizes, 10,000 frames in the usual one, and starts; "minutes" so many of bench --live at 240 frames a second; "clips" the
# same of clips, which it makes first and NVDEC decodes, and then live's own figures of each: H.264 of 1080p at 60 and 240
# frames a second, HEVC of 2160p and 10 bits at 60. It needs what "program" needs, with libx264 and libx265. Nothing else
# may run on the machine meanwhile.
# "fidelity" compares every family with diffusers, which takes minutes and 20 GB of disk, and writes FIDELITY.md, here and
# among the logs.
set -uo pipefail
cd "$(dirname "$0")/.."
programs=${1:-}
out=${OUT:-gpu-logs}
parts=${PARTS:-ops products sanitizer models generic attention mini library program shapes device}
generic=${GENERIC:-}
mini=${MINI:-assets/mini/model}
awake=()
[ "${AWAKE:-0}" = 1 ] && awake=(--awake)
mkdir -p "$out"
if [ -z "$programs" ]; then
  programs=build-gpu
  [ -d $programs ] || meson setup $programs -Dprogram=auto || exit
  ninja -C $programs || exit
  if [ -z "$generic" ] && [[ " $parts " == *" generic "* ]]; then
    generic=build-gpu-generic
    [ -d $generic ] || meson setup $generic -Dprogram=disabled -Dgpu_archs=ptx80 || exit
    ninja -C $generic || exit
  fi
fi
programs=$(realpath "$programs")
export PATH=$programs/bin:$PATH LD_LIBRARY_PATH=$programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
work=$(mktemp -d "${TMPDIR:-/tmp}/reverie-gpu-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TUNING_DIR=$work/tuning XDG_CACHE_HOME=$work/cache REVERIE_DATA_DIR=$PWD/assets REVERIE_ASSETS=$PWD/assets
export REVERIE_GOLDENS=$PWD/tests/data/goldens REVERIE_EXPECTED=$PWD/tests/expected
mkdir -p "$TUNING_DIR"
table=()
has_gpu=no
nvidia-smi -L 2>/dev/null | grep -q '^GPU' && has_gpu=yes

# step NAME COMMAND...: runs it into a log, shows the log's end when it fails, adds a line to the table.
step() {
  local name=$1 start=$SECONDS status
  shift
  timeout -k 10 "${PATIENCE:-300}" "$@" >"$out/$name.log" 2>&1
  status=$?
  case $status in
    0) status=passed ;;
    77) # where there is a GPU nothing may find that there is none
      [ -n "${MAY_SKIP:-}" ] && left_out "$name" "$(sed -n 's/^skipped: //p' "$out/$name.log" | head -n 1)" && return
      status=skipped
      [ $has_gpu = yes ] && status="FAILED (skipped)"
      ;;
    *)
      status="FAILED ($status)"
      tail -n 25 "$out/$name.log"
      ;;
  esac
  table+=("$(printf '%-28s %-14s %4d s' "$name" "$status" $((SECONDS - start)))")
}
left_out() { table+=("$(printf '%-28s left out: %s' "$1" "$2")"); }
wanted() { [[ " $parts " == *" $1 "* ]]; }

wanted ops && step ops "$programs/tests/gpu/test_ops_cuda"
wanted ops && step mix "$programs/tests/gpu/test_mix_cuda"
wanted ops && step state "$programs/tests/test_state" cuda
wanted products && step products "$programs/tests/bench/bench_product" "$out/products.txt"
if wanted sanitizer && command -v compute-sanitizer >/dev/null; then
  for tool in memcheck initcheck; do
    step sanitizer-$tool compute-sanitizer --tool $tool --error-exitcode 9 "$programs/tests/gpu/test_ops_cuda" --quick
    step sanitizer-attention-$tool compute-sanitizer --tool $tool --error-exitcode 9 "$programs/tests/gpu/test_attention" "" quick
  done
  step sanitizer-attention-synccheck compute-sanitizer --tool synccheck --error-exitcode 9 "$programs/tests/gpu/test_attention" \
    "" quick
  # With no graph: in the bodies of nodes that decide it reports barriers that no thread misses (cuda/MEASURED.md).
  step sanitizer-synccheck compute-sanitizer --tool synccheck --error-exitcode 9 "$programs/tests/gpu/test_ops_cuda" --flat
  step sanitizer-pictures-memcheck compute-sanitizer --tool memcheck --error-exitcode 9 "$programs/tests/gpu/test_cuda_pictures"
  step sanitizer-library-memcheck compute-sanitizer --tool memcheck --error-exitcode 9 "$programs/tests/library/test_cuda" "pixels*"
  ffmpeg -version >/dev/null 2>&1 && [ -x "$programs/tests/gpu/test_hwdec_cuda" ] &&
    step sanitizer-hwdec-memcheck compute-sanitizer --tool memcheck --error-exitcode 9 "$programs/tests/gpu/test_hwdec_cuda" \
      ${HWDEC_CLIPS:+"$HWDEC_CLIPS"}
  [ -x "$programs/tests/test_shared" ] && MAY_SKIP=yes SDL_VIDEODRIVER=offscreen step sanitizer-shared-memcheck \
    compute-sanitizer --tool memcheck --error-exitcode 9 "$programs/tests/test_shared" tests/data/goldens cuda
  # Steps come one after the other, and nothing else may be on the GPU meanwhile: cuda/MEASURED.md, "Under the sanitizer".
  step sanitizer-controls-memcheck compute-sanitizer --tool memcheck --error-exitcode 9 "$programs/tests/test_controls" \
    tests/data/goldens cuda
  for variant in long "halves 64" split few short; do # the others, and more channels of halves, take minutes
    read -r shape dim <<<"$variant"
    step "sanitizer-attention-racecheck-$shape" compute-sanitizer --tool racecheck --error-exitcode 9 \
      "$programs/tests/gpu/test_attention" "sm90 $shape" quick $dim
  done
elif wanted sanitizer; then
  left_out sanitizer "there is no compute-sanitizer"
fi
if wanted models; then
  step engine "$programs/tests/test_engine" tests/data/goldens cuda
  step mask "$programs/tests/test_mask" tests/data/goldens cuda
  step engine-changes "$programs/tests/test_engine_changes" tests/data/goldens cuda
  step bank "$programs/tests/test_bank" tests/data/goldens cuda
  step carry "$programs/tests/test_carry" tests/data/goldens cuda
  step bank-golden "$programs/tests/test_bank_golden" tests/data/goldens cuda
  step past "$programs/tests/test_past" tests/data/goldens cuda
  step handles "$programs/tests/test_handles" tests/data/goldens cuda
  step adapters "$programs/tests/test_adapters" tests/data/goldens cuda
  step guidance "$programs/tests/test_guidance" tests/data/goldens cuda
  step stream-batch "$programs/tests/test_stream_batch" tests/data/goldens cuda
  step prompts "$programs/tests/test_prompts" tests/data/goldens cuda
  step controls "$programs/tests/test_controls" tests/data/goldens cuda
  step beside "$programs/tests/test_beside" tests/data/goldens cuda
  step batch "$programs/tests/test_batch" tests/data/goldens cuda
  step places "$programs/tests/test_places" tests/data/goldens cuda
  step depth "$programs/tests/test_depth" tests/data/goldens cuda
  step depth-files "$programs/tests/test_depth_files" tests/data/goldens cuda
  step gpus "$programs/tests/gpu/test_gpus"
  step models "$programs/tests/test_models" tests/data/goldens cuda
  step models-mini "$programs/tests/test_models" tests/data/goldens "$mini" cuda
  step frame-ways python3 -B tests/gpu/test_gpu_frame.py "$programs/tests/gpu/gpu_frame" tests/data/goldens
fi
if wanted generic && [ -n "$generic" ]; then
  export CUDA_CACHE_PATH=$work/compiled # by the driver, once for all of them
  for name in ops attention engine controls models models-mini; do
    case $name in
      ops) command=(gpu/test_ops_cuda --generic) ;;
      attention) command=(gpu/test_attention sm80) ;;
      engine | controls | models) command=(test_$name tests/data/goldens cuda) ;;
      models-mini) command=(test_models tests/data/goldens "$mini" cuda) ;;
    esac
    PATIENCE=600 TUNING_DIR=$work/generic step "generic-$name" "$generic/tests/${command[0]}" "${command[@]:1}"
  done
  PATIENCE=600 TUNING_DIR=$work/generic step generic-mini-512 "$generic/tests/gpu/gpu_frame" "$mini" time 200 512 512
elif wanted generic; then
  left_out generic "there are no programs of -Dgpu_archs=ptx80 (GENERIC)"
fi
if wanted attention; then
  step attention "$programs/tests/gpu/test_attention"
  if python3 -c 'import torch' 2>/dev/null; then
    step attention-peers python3 tests/bench/peers_attention.py "$programs/tests/bench/bench_attention"
  else
    left_out attention-peers "Python lacks torch"
  fi
fi
if wanted mini && [ -e "$mini/model_index.json" ]; then
  step mini-512 "$programs/tests/gpu/gpu_frame" "$mini" time 500 512 512
  step mini-256 "$programs/tests/gpu/gpu_frame" "$mini" time 500 256 256
  step mini-512-launches "$programs/tests/gpu/gpu_frame" "$mini" launches "$out/mini-512-launches.txt" 512 512
  TUNING_DIR=$work/beside step mini-beside "$programs/tests/gpu/gpu_beside" "$mini" 512 512 1 384 384 1 0
  TUNING_DIR=$work/changes step mini-changes-cold "$programs/tests/gpu/gpu_changes" "$mini" 512 512
  TUNING_DIR=$work/changes step mini-changes-warm "$programs/tests/gpu/gpu_changes" "$mini" 512 512
elif wanted mini; then
  left_out mini "there is no model in $mini"
fi
if wanted library; then
  step library "$programs/tests/library/test_cuda"
  LD_LIBRARY_PATH=$programs/tests/library/by_module:${LD_LIBRARY_PATH:-} step library-module "$programs/tests/library/test_cuda"
  MAY_SKIP=yes step library-gl "$programs/tests/library/test_cuda_gl"
  if [ -x "$programs/tests/library/test_gst_cuda" ]; then
    GST_PLUGIN_PATH=$programs/app/library step library-gst "$programs/tests/library/test_gst_cuda"
    MAY_SKIP=yes step library-gst-pipelines python3 -B tests/library/test_gst_cuda.py "$programs/app/library/libgstreverie.so"
  else
    left_out library-gst "built without GStreamer's library for CUDA"
  fi
  if python3 -c 'import torch, cffi' 2>/dev/null; then
    step library-tensors python3 -B tests/library/dlpack_cuda.py "$PWD" "$programs/app/libreverie.so.0"
  else
    left_out library-tensors "Python lacks torch or cffi"
  fi
fi
if wanted program && [ -x "$programs/app/reverie" ] && ffmpeg -version >/dev/null 2>&1; then
  step program "$programs/tests/gpu/test_program_cuda" "$programs/app/reverie"
  step hwdec "$programs/tests/gpu/test_hwdec_cuda" ${HWDEC_CLIPS:+"$HWDEC_CLIPS"}
  MAY_SKIP=yes SDL_VIDEODRIVER=offscreen step shared "$programs/tests/test_shared" tests/data/goldens cuda
  [ -x "$programs/tests/reverie_by_module" ] &&
    step module python3 -B tests/test_cuda_module.py "$PWD" "$programs/tests/reverie_by_module" - - - - - \
      "$programs/app/reverie-cuda.so" - "$programs/app/reverie" Modules.test_pictures_of_a_gpu
elif wanted program; then
  left_out program "there is no built program, or no ffmpeg"
fi
if wanted shapes && python3 -c 'import torch, diffusers, transformers' 2>/dev/null; then
  step shapes python3 tests/peers/sd_shapes.py "$programs/tests/gpu/gpu_frame" "$work" ${SHAPES_OPTIONS:-}
  step range python3 tests/peers/half_range.py "$programs/tests/gpu/gpu_frame" "$work"
  step turbo-512 "$programs/tests/gpu/gpu_frame" "$work/turbo-shapes" time 200
  step turbo-512-again "$programs/tests/gpu/gpu_frame" "$work/turbo-shapes" time 20
  for rank in 16 64; do
    step "lora-$rank-file" python3 tests/peers/sd_lora.py "$work/turbo-shapes" "$work/lora$rank.safetensors" "$rank"
    step "lora-$rank" "$programs/tests/gpu/gpu_lora" "$work/turbo-shapes" "$work/lora$rank.safetensors"
    TUNING_DIR=$work/deadlines step "deadlines-$rank" "$programs/tests/gpu/gpu_deadlines" "$work/turbo-shapes" \
      "$work/lora$rank.safetensors"
  done
  step sd15-512 "$programs/tests/gpu/gpu_frame" "$work/sd15-shapes" time 200
  step turbo-512-launches "$programs/tests/gpu/gpu_frame" "$work/turbo-shapes" launches "$out/turbo-512-launches.txt"
  TUNING_DIR=$work/beside step turbo-beside "$programs/tests/gpu/gpu_beside" "$work/turbo-shapes" 512 512 1 512 512 1 1
  TUNING_DIR=$work/changes step turbo-changes-cold "$programs/tests/gpu/gpu_changes" "$work/turbo-shapes"
  TUNING_DIR=$work/changes step turbo-changes-warm "$programs/tests/gpu/gpu_changes" "$work/turbo-shapes"
elif wanted shapes; then
  left_out shapes "Python lacks torch, diffusers or transformers"
fi
if (wanted rows || wanted minutes || wanted clips) && python3 -c 'import torch, diffusers, transformers' 2>/dev/null; then
  shapes=$work/alone
  mkdir -p "$shapes"
  step make python3 tests/peers/sd_shapes.py "$programs/tests/gpu/gpu_frame" "$shapes" --make turbo sd15
  while wanted rows && read -r name model batch size; do
    BATCH=$batch step "row-$name" "$programs/tests/gpu/gpu_frame" "$model" time $size
    table+=("$(sed -n 's/^start to first frame/  &/p; s/^host planes to host picture/  &/p; s/^device planes/  &/p' \
      "$out/row-$name.log")")
  done <<ROWS
turbo-512 $shapes/turbo-shapes 1 10000 512 512
turbo-512-later-start $shapes/turbo-shapes 1 100 512 512
turbo-512-4-steps $shapes/turbo-shapes 1 1000 512 512 4
sd15-512-4-steps $shapes/sd15-shapes 1 1000 512 512 4
turbo-1024x576 $shapes/turbo-shapes 1 1000 1024 576
turbo-256 $shapes/turbo-shapes 1 1000 256 256
turbo-512-four-pictures $shapes/turbo-shapes 4 1000 512 512
mini-512 $mini 1 2000 512 512
mini-256 $mini 1 2000 256 256
ROWS
  wanted rows && step row-clocks "$programs/tests/gpu/gpu_frame" "$shapes/turbo-shapes" clocks 10000
  if wanted minutes && [ -x "$programs/app/reverie" ]; then
    PATIENCE=$((60 * ${MINUTES:-10} + 120)) SDL_VIDEODRIVER=${SDL_VIDEODRIVER:-offscreen} step minutes \
      "$programs/app/reverie" bench --live -v "${awake[@]}" --model "$shapes/turbo-shapes" --size 512x512 --input-fps 240 \
      --duration $((60 * ${MINUTES:-10})) --json "$out/minutes.json"
  fi
elif wanted rows || wanted minutes; then
  left_out "rows, minutes" "Python lacks torch, diffusers or transformers"
fi
# make_clip NAME WIDTH HEIGHT FPS ENCODER...: with markers, into $work.
make_clip() {
  local name=$1 width=$2 height=$3 fps=$4
  shift 4
  "$programs/tests/marked_clip" "$width" "$height" "$fps" $((fps * ${CLIPS:-10})) |
    ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt yuv420p -s "${width}x$height" -r "$fps" -i - "$@" \
      -preset ultrafast "$work/$name.mp4"
}
make_clips() {
  local status=0 pid pids=()
  make_clip h264-1080p-60 1920 1080 60 -c:v libx264 & pids+=($!)
  make_clip h264-1080p-240 1920 1080 240 -c:v libx264 & pids+=($!)
  make_clip hevc-2160p-60 3840 2160 60 -c:v libx265 -pix_fmt yuv420p10le -x265-params log-level=error & pids+=($!)
  for pid in "${pids[@]}"; do
    wait "$pid" || status=1
  done
  return $status
}
if wanted clips && [ -x "$programs/app/reverie" ] && ffmpeg -version >/dev/null 2>&1; then
  export -f make_clip make_clips
  export programs work
  decoder=auto # elsewhere software
  [ $has_gpu = yes ] && decoder=${HWDEC:-nvdec}
  PATIENCE=600 step clips-make bash -o pipefail -c make_clips
  for model in "mini $mini" "turbo $work/alone/turbo-shapes"; do
    read -r name model <<<"$model"
    [ -e "$model/model_index.json" ] || { left_out "clips-$name" "there is no model in $model" && continue; }
    for clip in h264-1080p-60 h264-1080p-240 hevc-2160p-60; do
      PATIENCE=$((${CLIPS:-10} + 200)) SDL_VIDEODRIVER=${SDL_VIDEODRIVER:-offscreen} step "clip-$name-$clip" \
        "$programs/app/reverie" bench --live -v "${awake[@]}" \
        --hwdec "$decoder" --model "$model" --size 512x512 --duration "${CLIPS:-10}" \
        --json "$out/clip-$name-$clip.json" -y "$work/$clip.mp4"
      table+=("$(sed -n 's/^input: /  &/p; s/^  *frames  *fps  .*/  &/p; s/^engine, in the window  /  &/p; s/^of that for the marker  /  &/p
        s/^handed out late  /  &/p; s/^capture to presented  /  &/p; s/^[0-9]* pictures presented/  &/p
        s/^processor time a picture/  &/p; s/^bytes of pixels copied a picture: .*; /  &/p' "$out/clip-$name-$clip.log")")
      # With no marker, as users have it.
      PATIENCE=$((${CLIPS:-10} + 200)) SDL_VIDEODRIVER=${SDL_VIDEODRIVER:-offscreen} step "live-$name-$clip" \
        "$programs/app/reverie" live -v "${awake[@]}" \
        --hwdec "$decoder" --model "$model" --size 512x512 --loop --duration "${CLIPS:-10}" "$work/$clip.mp4"
      table+=("$(sed -n 's/^reverie: \(processor time a picture\)/  \1/p' "$out/live-$name-$clip.log")")
    done
  done
elif wanted clips; then
  left_out clips "there is no built program, or no ffmpeg"
fi
if wanted fidelity && python3 -c 'import torch, diffusers, transformers' 2>/dev/null; then
  shapes=$work/fidelity measured=$out/measured lora=(--lora 16)
  python3 -c 'import peft' 2>/dev/null || { lora=() && left_out fidelity-lora "Python lacks peft"; }
  mkdir -p "$shapes" "$measured"
  # measure NAME SCRIPT ARGUMENTS...: a file each, so that what fails takes no other's rows along.
  measure() {
    local name=$1 script=$2
    shift 2
    [[ " ${FIDELITY:-$name} " == *" $name "* ]] || return 0
    step "fidelity-$name" python3 "tests/peers/$script" "$programs/tests/gpu/gpu_frame" "$@" --json "$measured/$name.json"
    rm -rf "${shapes:?}"/*
  }
  for model in turbo sd21v lcm sdxl; do
    measure $model sd_shapes.py "$shapes" $model "${lora[@]}"
  done
  measure sd15 sd_shapes.py "$shapes" sd15 "${lora[@]}" --samplers tcd,pndm,unipc,dpm++,dpm++-sde
  measure turbo-controls sd_shapes.py "$shapes" turbo --controlnet 2
  measure sdxl-controls sd_shapes.py "$shapes" sdxl --controlnet 1
  measure style style_shapes.py "$programs/tests/gpu/gpu_style" "$shapes"
  measure style-plus style_shapes.py "$programs/tests/gpu/gpu_style" "$shapes" --plus
  measure style-bigg style_shapes.py "$programs/tests/gpu/gpu_style" "$shapes" --encoder bigg
  measure kl kl_shapes.py "$shapes"
  measure range half_range.py "$shapes"
  cp "$measured"/*.json tests/peers/measured
  step FIDELITY.md python3 tests/peers/page.py tests/peers/measured/*.json
  table+=("$(printf '%-28s %d rows of FIDELITY.md' "not run" "$(grep -c 'not run |' "$out/FIDELITY.md.log")")")
  [ -s "$out/FIDELITY.md.log" ] && cp "$out/FIDELITY.md.log" FIDELITY.md && mv "$out/FIDELITY.md.log" "$out/FIDELITY.md"
elif wanted fidelity; then
  left_out fidelity "Python lacks torch, diffusers or transformers"
fi
# Last what makes the GPU fail on purpose: nothing measured comes after it. The very last of it left a driver with an OpenGL
# that stands still for seconds (cuda/MEASURED.md).
if wanted device; then
  step tune "$programs/tests/test_tune"
  step pictures "$programs/tests/gpu/test_cuda_pictures"
  step prepare "$programs/tests/gpu/test_cuda_prepare"
  step device "$programs/tests/gpu/test_cuda"
fi
if wanted program && [ -x "$programs/app/reverie" ] && ffmpeg -version >/dev/null 2>&1; then
  # The folder of the fake driver chooses the tests of drivers and leaves out all others.
  step faults-drivers "$programs/tests/test_faults" "$programs/app/reverie" "$programs/tests/reverie_faulty" cuda \
    "$programs/tests/fake_driver"
  REVERIE_TEST_WRITES=1 step faults "$programs/tests/test_faults" "$programs/app/reverie" \
    "$programs/tests/reverie_faulty" cuda
fi
cp "$TUNING_DIR"/tuning-*.txt "$out" 2>/dev/null

echo
for log in products attention-peers models-mini library library-tensors program shapes range mini-256 mini-512 mini-beside mini-changes-cold mini-changes-warm turbo-512 \
  turbo-512-again turbo-beside turbo-changes-cold turbo-changes-warm sd15-512 row-clocks minutes \
  fidelity-turbo fidelity-sd15 fidelity-sd21v fidelity-lcm fidelity-sdxl fidelity-kl fidelity-range device faults; do
  [ -e "$out/$log.log" ] && echo "--- $log" && grep -vE " splits: .* us$|^\[ (RUN|      OK) |^\[=|  (normal|large|one-hot|constant|huge|largest) " "$out/$log.log" |
    tail -n 60
done
echo
printf '%s\n' "${table[@]}"
[[ "${table[*]}" != *FAILED* ]]
