#!/usr/bin/env bash
# subjects.sh SOURCES: fails where the subject of a commit is longer than 72 characters. Commits up to the one named
# here were made before this was tested.
set -euo pipefail
cd "$1"
first=9b1d893880fbf1008b634e2ccde8feb9bde9bd0d
skip() {
  echo "Skipped: $1"
  exit 77
}
command -v git >/dev/null || skip "git is not installed."
[ -e .git ] || skip "the sources are an export without a history."
# The folder may belong to another user, as in a container: git reads it then only where it is called safe.
history() { git -c "safe.directory=$PWD" "$@"; }
if ! history cat-file -e "$first^{commit}" 2>/dev/null; then
  history rev-parse --git-dir >/dev/null
  skip "this history does not reach back to commit ${first:0:7}, as in a shallow clone."
fi
# Subjects of merges are left out: a program writes them.
if history log --no-merges --format='%h %s' "$first..HEAD" | LC_ALL=C.UTF-8 grep -E '^[0-9a-f]+ .{73}'; then
  echo "The subjects of these commits are longer than 72 characters." >&2
  exit 1
fi
