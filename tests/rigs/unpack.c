/* Reads packed files. It is apart from fixture.c, so that only the tests that call it need zlib. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "tests/rigs/fixture.h"

char *fixture_unpack(const char *path, size_t *length) {
  enum { BYTES_MAX = 4 << 20 };
  gzFile file = gzopen(path, "rb");
  if (!file)
    return NULL;
  char *text = malloc(BYTES_MAX + 1);
  int got = text ? gzread(file, text, BYTES_MAX) : -1;
  if (got < 0 || got == BYTES_MAX || gzclose(file) != Z_OK) {
    fprintf(stderr, "%s: cannot be unpacked\n", path);
    abort();
  }
  text[got] = 0;
  if (length)
    *length = (size_t)got;
  return text;
}
