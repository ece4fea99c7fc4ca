#include "app/models/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <libavutil/mem.h>
#include <libavutil/sha.h>

#include "unet/base/platform.h"
#include "unet/base/text.h"

enum { CHUNK = 1 << 20 };

int digest_start(struct digest *digest, bool git, int64_t size) {
  char head[32];
  digest->sha = digest->sha ? digest->sha : av_sha_alloc();
  digest->bytes = git ? 20 : 32;
  if (!digest->sha)
    return -1;
  av_sha_init(digest->sha, 8 * digest->bytes);
  if (git) /* git's checksum of a file is the SHA-1 of "blob SIZE", a zero byte, and the file's bytes */
    digest_add(digest, head, (size_t)snprintf(head, sizeof head, "blob %" PRId64, size) + 1);
  return 0;
}

void digest_add(struct digest *digest, const void *bytes, size_t size) {
  for (size_t part; size; size -= part, bytes = (const char *)bytes + part) {
    /* bytes are passed in pieces, because av_sha_update of older versions of FFmpeg takes an unsigned int */
    part = size < CHUNK ? size : CHUNK;
    av_sha_update(digest->sha, bytes, (unsigned)part);
  }
}

int64_t digest_add_file(struct digest *digest, const char *path, const atomic_bool *stop) {
  struct platform_file file;
  int64_t done = 0, got = -1;
  char *bytes = malloc(CHUNK);
  if (!bytes || platform_open(&file, path)) {
    free(bytes);
    return -1;
  }
  while (!atomic_load(stop) && (got = platform_read(&file, (uint64_t)done, bytes, CHUNK)) > 0) {
    digest_add(digest, bytes, (size_t)got);
    done += got;
  }
  platform_close(&file);
  free(bytes);
  if (atomic_load(stop))
    errno = EINTR;
  return atomic_load(stop) || got < 0 ? -1 : done;
}

void digest_text(struct digest *digest, char hex[DIGEST_MAX]) {
  uint8_t sum[32] = {0};
  av_sha_final(digest->sha, sum);
  text_hex(hex, sum, (size_t)digest->bytes);
}

void digest_free(struct digest *digest) {
  av_freep(&digest->sha);
}
