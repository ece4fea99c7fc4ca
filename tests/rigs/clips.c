#include "tests/rigs/cmocka_all.h"

#include "tests/rigs/clips.h"
#include "tests/rigs/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *folder;

bool clips_open(void) {
  if (system("command -v ffmpeg >/dev/null"))
    return false;
  folder = fixture_make();
  return true;
}

void clips_close(void) {
  fixture_remove(folder);
}

const char *clip(const char *name) {
  static _Thread_local char paths[8][512]; /* one list for each thread, because servers of tests run on their own */
  static _Thread_local int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof *paths, "%s/%s", folder, name);
  return path;
}

static void make_command(char *command, size_t size, const char *format, va_list args) {
  int used = snprintf(command, size, "cd '%s' && ", folder);
  vsnprintf(command + used, size - (size_t)used, format, args);
}

void shell(const char *format, ...) {
  char command[2048];
  va_list args;
  va_start(args, format);
  make_command(command, sizeof command, format, args);
  va_end(args);
  if (system(command))
    fail_msg("this failed: %s", command);
}

uint8_t *shell_output(size_t *size, const char *format, ...) {
  char command[2048];
  va_list args;
  va_start(args, format);
  make_command(command, sizeof command, format, args);
  va_end(args);
  size_t capacity = 1 << 16, used = 0, got;
  uint8_t *bytes = malloc(capacity);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  while (bytes && (got = fread(bytes + used, 1, capacity - used - 1, pipe)) > 0)
    if ((used += got) + 1 == capacity)
      bytes = realloc(bytes, capacity *= 2);
  assert_non_null(bytes);
  if (pclose(pipe))
    fail_msg("this failed: %s", command);
  bytes[used] = 0;
  if (size)
    *size = used;
  return bytes;
}

void expect_same(const char *what, const char *command_one, const char *command_two) {
  char *one = (char *)shell_output(NULL, "%s", command_one), *two = (char *)shell_output(NULL, "%s", command_two);
  if (strcmp(one, two) || !*one)
    fail_msg("%s: '%s' gives\n%s'%s' gives\n%s", what, command_one, one, command_two, two);
  free(one);
  free(two);
}

void clip_random_bytes(const char *name, size_t size) {
  unsigned state = 12345;
  FILE *file = fopen(clip(name), "wb");
  assert_non_null(file);
  for (size_t i = 0; i < size; i++) {
    state = state * 1664525u + 1013904223u;
    fputc((int)(state >> 24), file);
  }
  assert_int_equal(fclose(file), 0);
}
