/* What tells that a file is the one that was asked for. */
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

/* Begins the SHA-256 of a file, or with git the name that git gives one of so many bytes, a SHA-1; also anew. Returns
 * 0, or -1 where memory is short; digest_free must follow. */
int digest_start(struct digest *digest, bool git, int64_t size);
void digest_add(struct digest *digest, const void *bytes, size_t size);
/* Adds what the file has. Returns the number of bytes, or -1 with errno where it cannot be read, or stop was set. */
int64_t digest_add_file(struct digest *digest, const char *path, const atomic_bool *stop);
/* In hexadecimal digits. */
void digest_text(struct digest *digest, char hex[DIGEST_MAX]);
void digest_free(struct digest *digest); /* takes a zeroed one */

#endif
