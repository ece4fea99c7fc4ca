/* Computes checksums of files: SHA-256, and the SHA-1 that git uses, with which downloads are checked. */
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

/* Starts to compute a checksum: SHA-256 or, if `git` is true, the SHA-1 by which git names a file of `size` bytes. May
 * be called again to start over. Returns 0, or -1 if memory is short; the caller calls digest_free in both cases. */
int digest_start(struct digest *digest, bool git, int64_t size);
/* Adds `size` bytes to the checksum. */
void digest_add(struct digest *digest, const void *bytes, size_t size);
/* Adds the contents of a file to the checksum. Returns the number of bytes, or -1 if the file cannot be read (with
 * errno) or *stop was set. */
int64_t digest_add_file(struct digest *digest, const char *path, const atomic_bool *stop);
/* Finishes the checksum of the bytes that were added, and writes it in hexadecimal digits to `hex`. */
void digest_text(struct digest *digest, char hex[DIGEST_MAX]);
void digest_free(struct digest *digest); /* frees the state of the checksum; accepts a zeroed struct */

#endif
