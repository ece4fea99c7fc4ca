#!/bin/sh
# Prints a C header with a hash of the ways' code and of what it is compiled for: the key of tuning files. Comments and
# layout are left out of the hash, so that a change of these alone leaves the choices that users' files hold valid. The
# sources of kernels that one of the files includes have to be among the files.
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

# Prints the tokens of C, C++ and CUDA sources, one a line. Lines that end in a backslash are joined first, as a compiler
# does, and a directive stands between two empty lines, because the end of its line has a meaning.
code=$(awk '
  function fail(text) {
    print "hash.sh: " FILENAME ":" FNR ": " text > "/dev/stderr"
    failed = 1
    exit 1
  }
  function take(length_of_token) {
    print substr(line, 1, length_of_token)
    line = substr(line, length_of_token + 1)
    begun = 1
  }
  FNR == 1 { # A file begins.
    if (joined != "" || comment) fail("the file before it ends within a line or a comment")
    print ""
  }
  {
    line = joined $0
    joined = ""
    if (line ~ /\\$/) {
      joined = substr(line, 1, length(line) - 1)
      next
    }
    if (!comment) begun = 0 # No token of the line was seen yet.
    while (line != "") {
      if (comment) {
        end = index(line, "*/")
        line = end ? substr(line, end + 2) : ""
        comment = !end
      } else if (line ~ /^\/\*/) {
        line = substr(line, 3)
        comment = 1
      } else if (line ~ /^\/\//)
        line = ""
      else if (match(line, /^[ \t\r\f\v]+/))
        line = substr(line, RLENGTH + 1)
      else if (line ~ /^[uUL8]*R"/)
        fail("raw string literals are not understood")
      else if (line ~ /^#/ && !begun) {
        directive = 1
        print ""
        take(1)
      } else if (match(line, /^[A-Za-z0-9_$.]+/) || match(line, /^"([^"\\]|\\.)*"/) ||
               match(line, /^\047([^\047\\]|\\.)*\047/) ||
               match(line, /^(\+\+|--|->|<<|>>|::|##|&&|\|\||[-+*\/%&|^=<>!]=)/))
        take(RLENGTH)
      else
        take(1)
    }
    if (directive && !comment) {
      directive = 0
      print ""
    }
  }
  END {
    if (!failed && (comment || joined != "")) fail("the file ends within a line or a comment")
  }
' "$@")
hash=$(printf '%s\n%s\n' "$targets" "$code" | sha256sum | cut -c 1-16)
echo "#define WAYS_HASH \"$hash\""
