#!/bin/sh
# What choices mean: a hash of the ways' sources and of what they are compiled for, as a C header.
# hash.sh TARGETS FILE...
set -eu
targets=$1
shift
hash=$({ echo "$targets"; cat "$@"; } | sha256sum | cut -c 1-16)
echo "#define WAYS_HASH \"$hash\""
