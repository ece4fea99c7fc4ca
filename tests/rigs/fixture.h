/* Makes files for tests, in a folder for temporary files that is removed with its contents. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stddef.h>

/* Makes a new folder and returns its path, which fixture_remove frees. Errors fail the test. */
char *fixture_make(void);
void fixture_remove(char *folder); /* deletes the folder with its contents, and frees the path */

/* Write the file folder/name, and make the folders that `name` contains. */
void fixture_write(const char *folder, const char *name, const void *bytes, size_t length);
void fixture_text(const char *folder, const char *name, const char *text);
/* Writes a safetensors file: the length of the header, the header, the data. stated: the length that is written; -1:
 * the true one. */
void fixture_tensors(const char *folder, const char *name, const char *header, long long stated, const void *data,
                     size_t data_bytes);
/* Returns folder/name, which the caller frees. */
char *fixture_path(const char *folder, const char *name);

/* Returns a file's contents with a zero byte after them, which the caller frees. NULL: there is no such file. length
 * may be NULL. */
char *fixture_read(const char *path, size_t *length);
/* Returns the contents of a file that gzip has packed, at most 4 MiB, as fixture_read does. */
char *fixture_unpack(const char *path, size_t *length);

/* Returns the next number of a random sequence (xorshift), which is the same for the same *state. The caller sets
 * *state to any number but 0 at first. */
unsigned long long fixture_random(unsigned long long *state);

#endif
