#!/usr/bin/env bash
# Checks and times the CUDA device on a machine with a GPU, in one go; the last lines are a table.
#
#   tests/gpu.sh                 builds first (needs what the project needs)
#   tests/gpu.sh FOLDER          runs the programs in FOLDER/tests, built elsewhere; what they load may be in FOLDER/lib
#
# Environment: OUT    where logs go (default: gpu-logs)
#              PARTS  what to run (default: all): ops sanitizer device models attention mini shapes
#              MINI   a mini model (default: assets/mini/model)
# "shapes" needs Python with torch, diffusers and transformers, and is left out where they are not.
set -uo pipefail
cd "$(dirname "$0")/.."
programs=${1:-}
out=${OUT:-gpu-logs}
parts=${PARTS:-ops sanitizer device models attention mini shapes}
mini=${MINI:-assets/mini/model}
mkdir -p "$out"
if [ -z "$programs" ]; then
  programs=build-gpu
  [ -d $programs ] || meson setup $programs || exit
  ninja -C $programs || exit
fi
export LD_LIBRARY_PATH=$PWD/$programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
work=$(mktemp -d "${TMPDIR:-/tmp}/reverie-gpu-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TUNING_DIR=$work
table=()

# step NAME COMMAND...: runs it into a log, shows the log's end when it fails, adds a line to the table.
step() {
  local name=$1 start=$SECONDS status
  shift
  "$@" >"$out/$name.log" 2>&1
  status=$?
  case $status in
    0) status=passed ;;
    77) status=skipped ;;
    *)
      status="FAILED ($status)"
      tail -n 25 "$out/$name.log"
      ;;
  esac
  table+=("$(printf '%-28s %-14s %4d s' "$name" "$status" $((SECONDS - start)))")
}
wanted() { [[ " $parts " == *" $1 "* ]]; }

wanted ops && step ops "$programs/tests/test_ops_cuda"
if wanted sanitizer && command -v compute-sanitizer >/dev/null; then
  for tool in memcheck initcheck; do
    step sanitizer-$tool timeout 240 compute-sanitizer --tool $tool --error-exitcode 9 \
      "$programs/tests/test_ops_cuda" --quick
  done
fi
wanted device && step device "$programs/tests/test_cuda"
if wanted models; then
  step engine "$programs/tests/test_engine" tests/data/goldens cuda
  step models "$programs/tests/test_models" tests/data/goldens cuda
  step models-mini "$programs/tests/test_models" tests/data/goldens "$mini" cuda
fi
wanted attention && step attention "$programs/tests/test_attention"
if wanted mini && [ -e "$mini/model_index.json" ]; then
  step mini-512 "$programs/tests/gpu_frame" "$mini" time 500 512 512
  step mini-256 "$programs/tests/gpu_frame" "$mini" time 500 256 256
  step mini-512-steps "$programs/tests/gpu_frame" "$mini" steps "$out/mini-512-steps.txt" 512 512
fi
if wanted shapes && python3 -c 'import torch, diffusers, transformers' 2>/dev/null; then
  step shapes python3 tests/peers/sd_shapes.py "$programs/tests/gpu_frame" "$work" ${SHAPES_OPTIONS:-}
  step turbo-512 "$programs/tests/gpu_frame" "$work/turbo-shapes" time 200
  step turbo-512-again "$programs/tests/gpu_frame" "$work/turbo-shapes" time 20
  step sd15-512 "$programs/tests/gpu_frame" "$work/sd15-shapes" time 200
  step turbo-512-steps "$programs/tests/gpu_frame" "$work/turbo-shapes" steps "$out/turbo-512-steps.txt"
fi
cp "$work"/tuning-*.txt "$out" 2>/dev/null

echo
for log in shapes mini-256 mini-512 mini-512-steps turbo-512 turbo-512-again turbo-512-steps sd15-512; do
  [ -e "$out/$log.log" ] && echo "--- $log" && grep -v " splits: .* us$" "$out/$log.log" | tail -n 30
done
echo
printf '%s\n' "${table[@]}"
[[ "${table[*]}" != *FAILED* ]]
