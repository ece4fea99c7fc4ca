#!/bin/sh
# Assembly that carries files in the program: embed.sh OUT NAME FILE [NAME FILE]...
# A file called NAME lies from embed_NAME up to embed_NAME_end and is followed by a zero byte.
set -eu
out=$1
shift
{
  echo '.section .rodata'
  while [ $# -gt 1 ]; do
    printf '.balign 16\n.global embed_%s\nembed_%s:\n.incbin "%s"\n' "$1" "$1" "$2"
    printf '.global embed_%s_end\nembed_%s_end:\n.byte 0\n' "$1" "$1"
    shift 2
  done
  echo '.section .note.GNU-stack,"",%progbits'
} >"$out"
