/* Files for tests, in a folder under the system's temporary one that is removed with its contents. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stddef.h>

/* Makes a folder and returns its name, which fixture_remove frees. Errors fail the test. */
char *fixture_make(void);
void fixture_remove(char *folder); /* deletes the folder with its contents and frees the name */

/* Write the file folder/name, and make folders that name contains. */
void fixture_write(const char *folder, const char *name, const void *bytes, size_t length);
void fixture_text(const char *folder, const char *name, const char *text);
/* Writes a safetensors file: the header's length, the header, the data. stated: the length to write; -1: the true
 * one. */
void fixture_tensors(const char *folder, const char *name, const char *header, long long stated, const void *data,
                     size_t data_bytes);
/* Returns folder/name, which the caller frees. */
char *fixture_path(const char *folder, const char *name);

/* Returns a file's contents with a zero byte after them, which the caller frees. NULL: there is no such file. length
 * may be NULL. */
char *fixture_read(const char *path, size_t *length);

/* Returns the next number of a fixed sequence (xorshift). The state must not be 0 at first. */
unsigned long long fixture_random(unsigned long long *state);

#endif
