#!/bin/sh
# GNU Parallel: renders a video file or a sequence of pictures in N parts, on this machine or over ssh on others.
#
#     parallel.sh 8 IN OUT [OPTIONS OF render] && reverie join OUT    # join: of a video file
#     NODES=node1,node2 JOBS=1 parallel.sh ...                        # JOBS at a time on each node; ":" is this machine
#
# The folder that it is called in must be there on each node under the same name, with IN and OUT. JOBLOG notes which
# parts are done. The same command again makes those that failed or are missing, and no others. A new job needs a new
# JOBLOG.
[ $# -ge 3 ] || { echo "usage: parallel.sh N IN OUT [OPTIONS]" >&2; exit 2; }
parts=$1 in=$2 out=$3
shift 3
case $out in *%*) ;; *) set -- --resume "$@" ;; esac
seq "$parts" | parallel --sshlogin "${NODES:-:}" --jobs "${JOBS:-1}" --workdir "$PWD" --quote \
  --joblog "${JOBLOG:-reverie.joblog}" --resume-failed --retries 2 \
  reverie render "$in" "$out" --shard "{}/$parts" --skip-existing -q "$@"
