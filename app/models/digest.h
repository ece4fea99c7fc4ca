/* Computes checksums of files. */
#ifndef APP_MODELS_DIGEST_H
#define APP_MODELS_DIGEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_MAX = 65 };

struct digest {
  struct AVSHA *sha;
  int bytes;
};

/* Starts a checksum: SHA-256, or with `git` the SHA-1 by which git names a file of `size` bytes. May be called again to
 * start over. Returns 0, or -1 if memory is short; the caller calls digest_free in both cases. */
int digest_start(struct digest *digest, bool git, int64_t size);
/* Adds bytes to the checksum. */
void digest_add(struct digest *digest, const void *bytes, size_t size);
/* Adds the contents of a file. Returns the number of bytes, or -1 if it cannot be read (with errno) or *stop was
 * set. */
int64_t digest_add_file(struct digest *digest, const char *path, const atomic_bool *stop);
/* Ends the checksum and writes it in hexadecimal digits. */
void digest_text(struct digest *digest, char hex[DIGEST_MAX]);
void digest_free(struct digest *digest); /* accepts zeros */

#endif
