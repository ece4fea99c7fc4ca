#!/usr/bin/env bash
# opened.sh LIBRARY SONAME ABSENT HOW SOURCE...: prints a C file with a stand-in for each function of the shared library
# LIBRARY that the C files SOURCE name. A program that is linked with the stand-ins in place of the library starts where
# the library is missing. The first call of a stand-in opens the library SONAME by dlopen; all calls go to the library's
# function. Where the library cannot be opened, each function returns the number ABSENT, but snd_strerror a text.
# HOW: words among "global" (other libraries find the functions, too), "early" (the library is opened when the program
# starts) and "say" (one line on standard error tells why the library cannot be opened).
set -euo pipefail
export LC_ALL=C
library=$1 soname=$2 absent=$3 how=$4
shift 4
mapfile -t names < <(comm -12 \
  <(nm -D --defined-only "$library" | awk '$2 ~ /[TWi]/ { sub("@.*", "", $3); print $3 }' | sort -u) \
  <(cat "$@" | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u))
flags=RTLD_NOW
[[ $how != *global* ]] || flags="RTLD_NOW | RTLD_GLOBAL"
cat <<END
/* Made by assets/tarball/opened.sh. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {$(printf '"%s", ' "${names[@]}")};
__attribute__((used)) static void *functions[${#names[@]}];

static intptr_t absent(void) {
  return $absent;
}

static const char *absent_text(void) {
  return "$soname is not installed";
}

static void *open_library(void) {
  void *library = dlopen("$soname", $flags);
$([[ $how != *say* ]] || echo '  if (!library)
    fprintf(stderr, "reverie: %s\n", dlerror());')
  return library;
}

/* Returns the library's function number i. Several threads may call this at once: dlopen has a lock of its own. */
__attribute__((used)) static void *opened_find(uint32_t i) {
  void *library = open_library(), *function = library ? dlsym(library, names[i]) : NULL;
  if (!function)
    function = strcmp(names[i], "snd_strerror") ? (void *)absent : (void *)absent_text;
  __atomic_store_n(&functions[i], function, __ATOMIC_RELEASE);
  return function;
}
END
[[ $how != *early* ]] || cat <<END

__attribute__((constructor)) static void open_early(void) {
  open_library();
}
END
cat <<'END'

/* Calls opened_find for the function whose number is in r11, and goes on to that function with the arguments of the
 * first call: six in registers, eight in vector registers, and al, the count of these for functions that take any
 * number. */
__asm__(".text\n"
        "first_call:\n"
        "  push %rbp\n"
        "  mov %rsp, %rbp\n"
        "  and $-16, %rsp\n"
        "  sub $192, %rsp\n"
        "  mov %rdi, 0(%rsp)\n"
        "  mov %rsi, 8(%rsp)\n"
        "  mov %rdx, 16(%rsp)\n"
        "  mov %rcx, 24(%rsp)\n"
        "  mov %r8, 32(%rsp)\n"
        "  mov %r9, 40(%rsp)\n"
        "  mov %rax, 48(%rsp)\n"
        "  movaps %xmm0, 64(%rsp)\n"
        "  movaps %xmm1, 80(%rsp)\n"
        "  movaps %xmm2, 96(%rsp)\n"
        "  movaps %xmm3, 112(%rsp)\n"
        "  movaps %xmm4, 128(%rsp)\n"
        "  movaps %xmm5, 144(%rsp)\n"
        "  movaps %xmm6, 160(%rsp)\n"
        "  movaps %xmm7, 176(%rsp)\n"
        "  mov %r11d, %edi\n"
        "  call opened_find\n"
        "  mov %rax, %r11\n"
        "  mov 0(%rsp), %rdi\n"
        "  mov 8(%rsp), %rsi\n"
        "  mov 16(%rsp), %rdx\n"
        "  mov 24(%rsp), %rcx\n"
        "  mov 32(%rsp), %r8\n"
        "  mov 40(%rsp), %r9\n"
        "  mov 48(%rsp), %rax\n"
        "  movaps 64(%rsp), %xmm0\n"
        "  movaps 80(%rsp), %xmm1\n"
        "  movaps 96(%rsp), %xmm2\n"
        "  movaps 112(%rsp), %xmm3\n"
        "  movaps 128(%rsp), %xmm4\n"
        "  movaps 144(%rsp), %xmm5\n"
        "  movaps 160(%rsp), %xmm6\n"
        "  movaps 176(%rsp), %xmm7\n"
        "  leave\n"
        "  jmp *%r11\n");

END
# A stand-in is weak, so that a function of the same name in the program, such as XGetGeometry, takes its place.
for i in "${!names[@]}"; do
  cat <<END
__asm__(".weak ${names[i]}\n"
        ".type ${names[i]}, @function\n"
        "${names[i]}:\n"
        "  endbr64\n"
        "  mov functions + 8 * $i(%rip), %r11\n"
        "  test %r11, %r11\n"
        "  je 1f\n"
        "  jmp *%r11\n"
        "1:\n"
        "  mov \$$i, %r11d\n"
        "  jmp first_call\n"
        ".size ${names[i]}, . - ${names[i]}\n");
END
done
