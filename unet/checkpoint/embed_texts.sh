#!/bin/sh
# Texts that are compiled in: embed_texts.sh OUT FOLDER PATH... writes C with the text of FOLDER/PATH for each PATH, as
# the table that family_files.h declares.
set -eu
out=$1
folder=$2
shift 2
{
  echo '#include "unet/checkpoint/family_files.h"'
  echo
  echo 'const struct family_file family_files[] = {'
  for path; do
    printf '{"%s",\n' "$path"
    sed 's/[\\"]/\\&/g; s/.*/ "&\\n"/' "$folder/$path"
    echo '},'
  done
  echo '{0}};'
} >"$out"
