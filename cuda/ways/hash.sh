#!/bin/sh
# What choices mean: a hash of the ways' sources and of what they are compiled for, as a C header. Sources of kernels that
# one of them includes have to be among them.
# hash.sh TARGETS FILE...
set -eu
targets=$1
shift
for name in $(sed -n 's|^#include "\(cuda/kernels/[^"]*\)".*|\1|p; s|^#include "\(attention/[^"]*\)".*|\1|p' "$@" | sort -u); do
  case " $* " in
    *"/$name "*) ;;
    *)
      echo "hash.sh: $name is missing from way_sources in cuda/meson.build: tuning files would outlive its changes" >&2
      exit 1
      ;;
  esac
done
hash=$({ echo "$targets"; cat "$@"; } | sha256sum | cut -c 1-16)
echo "#define WAYS_HASH \"$hash\""
