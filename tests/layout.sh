#!/usr/bin/env bash
# layout.sh SOURCES: fails where a C, C++ or CUDA file is not in the layout of .clang-format. Other versions of
# clang-format than 14 lay some lines out differently, so the test is skipped with them.
set -euo pipefail
cd "$1"
tool=
for name in clang-format-14 clang-format; do
  if [[ $("$name" --version 2>/dev/null) == *"version 14."* ]]; then
    tool=$name
    break
  fi
done
if [ -z "$tool" ]; then
  echo "Skipped: there is no clang-format of version 14."
  exit 77
fi
status=0
# The folders are searched, because an exported tree has no list of its files.
mapfile -d '' files < <(find app unet cuda attention shaders assets tests -type f \
  \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.[ch]pp' \) -print0)
if ! printf '%s\0' "${files[@]}" | xargs -0 "$tool" --dry-run -Werror --ferror-limit=1; then
  echo "These files are not in the layout of .clang-format: run $tool -i on them." >&2
  status=1
fi
# clang-format leaves comments as they are.
if printf '%s\0' "${files[@]}" | LC_ALL=C.UTF-8 xargs -0 grep -nE '.{121}'; then
  echo "These lines are longer than 120 columns." >&2
  status=1
fi
exit $status
