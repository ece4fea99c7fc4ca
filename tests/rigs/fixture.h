/* Files for tests: a folder under the temporary one that goes away with its contents. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stddef.h>

/* Makes a folder; the caller frees the name after fixture_remove. Failures end the test. */
char *fixture_make(void);
void fixture_remove(char *folder); /* deletes all of it and frees the name */

/* Writes folder/name; folders in name are made. */
void fixture_write(const char *folder, const char *name, const void *bytes, size_t length);
void fixture_text(const char *folder, const char *name, const char *text);
/* A safetensors file: the header's length (stated: -1 its own, else this), the header, the data. */
void fixture_tensors(const char *folder, const char *name, const char *header, long long stated, const void *data,
                     size_t data_bytes);
/* folder/name, allocated. */
char *fixture_path(const char *folder, const char *name);

/* A whole file with a zero byte after it, allocated; NULL where there is none. length may be NULL. */
char *fixture_read(const char *path, size_t *length);

/* Numbers that are the same every time: xorshift, seeded with anything but 0. */
unsigned long long fixture_random(unsigned long long *state);

#endif
