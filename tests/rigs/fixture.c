#include "tests/rigs/fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  abort();
}

char *fixture_make(void) {
  const char *root = getenv("TMPDIR");
  char *folder;
  if (asprintf(&folder, "%s/reverie-test-XXXXXX", root ? root : "/tmp") < 0 || !mkdtemp(folder))
    die("temporary folder");
  return folder;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
  (void)st, (void)flag, (void)ftw;
  return remove(path);
}

void fixture_remove(char *folder) {
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(folder);
}

char *fixture_path(const char *folder, const char *name) {
  char *path;
  if (asprintf(&path, "%s/%s", folder, name) < 0)
    die("path");
  return path;
}

void fixture_write(const char *folder, const char *name, const void *bytes, size_t length) {
  char *path = fixture_path(folder, name);
  for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    mkdir(path, 0777);
  }
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, length, f) != length || fclose(f))
    die(path);
  free(path);
}

void fixture_text(const char *folder, const char *name, const char *text) {
  fixture_write(folder, name, text, strlen(text));
}

void fixture_tensors(const char *folder, const char *name, const char *header, long long stated, const void *data,
                     size_t data_bytes) {
  size_t length = strlen(header);
  unsigned long long prefix = stated < 0 ? length : (unsigned long long)stated;
  unsigned char *bytes = malloc(8 + length + data_bytes);
  if (!bytes)
    die(name);
  for (int i = 0; i < 8; i++)
    bytes[i] = (unsigned char)(prefix >> 8 * i);
  memcpy(bytes + 8, header, length);
  memcpy(bytes + 8 + length, data, data_bytes);
  fixture_write(folder, name, bytes, 8 + length + data_bytes);
  free(bytes);
}

char *fixture_read(const char *path, size_t *length) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return NULL;
  struct stat st;
  if (fstat(fileno(f), &st))
    die(path);
  char *bytes = malloc((size_t)st.st_size + 1);
  if (!bytes || fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
    die(path);
  fclose(f);
  bytes[st.st_size] = 0;
  if (length)
    *length = (size_t)st.st_size;
  return bytes;
}

unsigned long long fixture_random(unsigned long long *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}
