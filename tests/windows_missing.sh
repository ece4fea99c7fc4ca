#!/usr/bin/env bash
# windows_missing.sh BUILD: links all of unet/ as it was built for Windows, and fails with what is missing there other
# than cJSON, PCRE2, utf8proc and zlib.
set -euo pipefail
program=$(mktemp)
trap 'rm -f "$program"' EXIT
output=$(echo 'int main(void) { return 0; }' | LC_ALL=C x86_64-w64-mingw32-gcc-posix -x c - -x none -o "$program" \
  -Wl,--whole-archive "$1"/unet/*.a -Wl,--no-whole-archive -fopenmp -lssp 2>&1 || true)
missing=$(sed -n 's/.*undefined reference to //p' <<<"$output" | sort -u)
if ! grep -q cJSON_Delete <<<"$missing"; then
  printf '%s\n' "unet/ for Windows does not link far enough to tell what is missing:" "$output" >&2
  exit 1
fi
if grep -vE '`(__imp_)?(cJSON_|pcre2_|utf8proc_|gz)' <<<"$missing" >&2; then
  echo "unet/ for Windows lacks these." >&2
  exit 1
fi
