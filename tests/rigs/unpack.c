/* Reads packed files. It is apart from fixture.c, so that only the tests that call it need zlib. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "tests/rigs/fixture.h"

char *fixture_unpack(const char *path) {
  enum { BYTES_MAX = 4 << 20 };
  gzFile file = gzopen(path, "rb");
  if (!file)
    return NULL;
  char *text = malloc(BYTES_MAX + 1);
  int length = text ? gzread(file, text, BYTES_MAX) : -1;
  if (length < 0 || length == BYTES_MAX || gzclose(file) != Z_OK) {
    fprintf(stderr, "%s: cannot be unpacked\n", path);
    abort();
  }
  text[length] = 0;
  return text;
}
