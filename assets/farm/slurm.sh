#!/bin/bash
# Slurm: renders a video file or a sequence of pictures as an array of N tasks, one part each.
#
#     job=$(sbatch --parsable --array=1-8 slurm.sh 8 IN OUT [OPTIONS OF render])
#     sbatch --dependency=afterok:$job --wrap 'reverie join OUT'    # of a video file
#
# What else a task needs (--gres=gpu:1, --constraint, --partition, --time) goes before the script's name, or here.
#SBATCH --job-name=reverie
#SBATCH --output=reverie-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=4
# After a node has failed, or a preemption, Slurm itself begins the task again.
#SBATCH --requeue
# A minute before the time limit this script is told.
#SBATCH --signal=B:USR1@60

[ $# -ge 3 ] || { echo "usage: sbatch --array=1-N slurm.sh N IN OUT [OPTIONS]" >&2; exit 2; }
parts=$1 in=$2 out=$3
shift 3
again=(--skip-existing)
[[ $out == *%* ]] || again+=(--resume)

ended_by_limit=no
trap 'ended_by_limit=yes; kill -TERM "$render"' USR1
reverie render "$in" "$out" --shard "$SLURM_ARRAY_TASK_ID/$parts" "${again[@]}" --threads "$SLURM_CPUS_PER_TASK" "$@" \
  </dev/null &
render=$!
wait "$render"
status=$?
if [ $status = 138 ]; then # USR1 ended the wait, not the program
  wait "$render"
  status=$?
fi

# Three more attempts, where another one makes sense. 130 without the limit is what scancel asked for.
case $status in
  130) retry=$ended_by_limit ;;
  1 | 5 | 134 | 137 | 139) retry=yes ;;
  *) retry=no ;;
esac
if [ $retry = yes ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  echo "reverie ended with status $status; the task is queued again" >&2
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit $status
