/* Tests the built program with readelf: options of compiler and linker that make memory errors hard to exploit; and
 * permissions of its files. Arguments: the program, what is expected of its build, and the objects that nvcc made. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"

enum { SKIPPED = 77 };

static const char *program;
/* fortified: calls are checked (_FORTIFY_SOURCE); marked: objects say that their branches are protected */
static bool fortified, marked;
static char **objects;
static int object_count;

static void expect(const char *options, const char *path, const char *pattern) {
  char *absolute = realpath(path, NULL);
  assert_non_null(absolute);
  shell("readelf -W %s '%s' >elf.txt && grep -Eq '%s' elf.txt", options, absolute, pattern);
  free(absolute);
}

/* The program is position-independent. */
static void test_position(void **state) {
  (void)state;
  expect("-h", program, "Type: +DYN");
  expect("-d", program, "FLAGS_1.* PIE");
}

/* Addresses that the loader has resolved are read-only before main. */
static void test_relocations(void **state) {
  (void)state;
  expect("-l", program, "GNU_RELRO");
  expect("-d", program, "BIND_NOW|FLAGS_1.* NOW");
}

static void test_no_writable_code(void **state) {
  (void)state;
  expect("-l", program, "GNU_STACK .* RW ");
  shell("! grep -E ' RWE ' elf.txt");
}

static void test_stack(void **state) {
  (void)state;
  expect("--dyn-syms", program, " __stack_chk_fail");
}

static void test_checked_calls(void **state) {
  (void)state;
  if (!fortified)
    skip();
  expect("--dyn-syms", program, " __vsnprintf_chk");
}

/* Each object of nvcc was compiled with the same options as the C code. */
static void test_objects_of_nvcc(void **state) {
  (void)state;
  if (!object_count || !marked)
    skip();
  for (int i = 0; i < object_count; i++)
    expect("-n", objects[i], "IBT, SHSTK");
}

/* With any umask, other users cannot read the cache. */
static void test_private_cache(void **state) {
  (void)state;
  char *absolute = realpath(program, NULL);
  assert_non_null(absolute);
  shell(
      "umask 0; XDG_CACHE_HOME=$PWD/new/cache '%s' bench --frames 1 --warmup 0 --size 64x64 -d cpu >bench.txt 2>&1 && "
      "stat -c %%a new new/cache new/cache/reverie >modes.txt && ! grep -vx 700 modes.txt",
      absolute);
  free(absolute);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_position),         cmocka_unit_test(test_relocations),
      cmocka_unit_test(test_no_writable_code), cmocka_unit_test(test_stack),
      cmocka_unit_test(test_checked_calls),    cmocka_unit_test(test_objects_of_nvcc),
      cmocka_unit_test(test_private_cache),
  };
  if (argc < 4 || system("readelf --version >/dev/null 2>&1") || !clips_open())
    return SKIPPED;
  program = argv[1];
  fortified = !strcmp(argv[2], "fortified");
  marked = !strcmp(argv[3], "marked");
  objects = argv + 4;
  object_count = argc - 4;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
