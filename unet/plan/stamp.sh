#!/bin/sh
# Writes the header that unet/plan/device_module.c and modules are compiled with: the stamp, which is the version and a
# hash of all sources of unet/base and unet/plan, and the folder in which modules are installed.
# stamp.sh SOURCE_ROOT VERSION MODULE_FOLDER HEADER DEPENDENCY_FILE
set -eu
root=$1 version=$2 folder=$3 header=$4 dependencies=$5
export LC_ALL=C # The order of the files must not depend on the language.
set -- "$root"/unet/base/*.[ch] "$root"/unet/plan/*.[ch]
hash=$(cat "$@" | sha256sum | cut -c 1-16)
printf '#define DEVICE_MODULE_STAMP "%s (%s)"\n#define DEVICE_MODULE_FOLDER "%s"\n' "$version" "$hash" "$folder" >"$header"
printf '%s:' "$header" >"$dependencies"
printf ' %s' "$@" >>"$dependencies"
echo >>"$dependencies"
