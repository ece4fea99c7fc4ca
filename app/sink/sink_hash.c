#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/hash.h>

#include "app/platform/app_platform.h"
#include "app/sink/sink.h"
#include "unet/base/platform.h"

struct hash_sink {
  struct sink sink;
  FILE *out;
  const char *path;
  struct AVHashContext *frame_hash, *total_hash;
  long frames;
};

static bool accepts(const char *spec) {
  return !strncmp(spec, "hash:", 5) && spec[5];
}

static void hash_close(struct sink *sink) {
  struct hash_sink *to = (struct hash_sink *)sink;
  if (to->out && to->out != stdout)
    fclose(to->out);
  av_hash_freep(&to->frame_hash);
  av_hash_freep(&to->total_hash);
  free(to);
}

static int write_failed(const struct hash_sink *to, struct error *err) {
  return error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", to->path, platform_why_unwritten(errno));
}

static int hash_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  struct hash_sink *to = calloc(1, sizeof *to);
  if (!to)
    return error_set(err, STATUS_FAILED, "no memory for %s", spec);
  to->sink.impl = &sink_hash;
  to->path = spec + 5;
  if (av_hash_alloc(&to->frame_hash, "MD5") < 0 || av_hash_alloc(&to->total_hash, "MD5") < 0) {
    hash_close(&to->sink);
    return error_set(err, STATUS_FAILED, "no memory for %s", spec);
  }
  to->out = strcmp(to->path, "-") ? platform_open_to_write(to->path) : stdout;
  if (!to->out) {
    write_failed(to, err);
    hash_close(&to->sink);
    return -1;
  }
  av_hash_init(to->total_hash);
  fprintf(to->out, "# %s %dx%d, time base %d/%d\n# serial pts md5\n", frame_format_name(options->format),
          options->width, options->height, options->time_base_num, options->time_base_den);
  *sink = &to->sink;
  return 0;
}

static int hash_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct hash_sink *to = (struct hash_sink *)sink;
  uint8_t text[AV_HASH_MAX_SIZE * 2 + 1];
  av_hash_init(to->frame_hash);
  for (int plane = 0; plane < frame_planes(frame->format); plane++) {
    size_t bytes = (size_t)frame_row_bytes(frame->format, plane, frame->width);
    for (int y = 0; y < frame_rows(frame->format, plane, frame->height); y++) {
      const uint8_t *row = frame->plane[plane] + (ptrdiff_t)y * frame->pitch[plane];
      av_hash_update(to->frame_hash, row, bytes);
      av_hash_update(to->total_hash, row, bytes);
    }
  }
  av_hash_final_hex(to->frame_hash, text, sizeof text);
  to->frames++;
  if (fprintf(to->out, "%llu %lld %s\n", (unsigned long long)frame->serial, (long long)frame->pts, text) < 0)
    return write_failed(to, err);
  return 0;
}

static int hash_finish(struct sink *sink, bool whole, struct error *err) {
  (void)whole;
  struct hash_sink *to = (struct hash_sink *)sink;
  uint8_t text[AV_HASH_MAX_SIZE * 2 + 1];
  av_hash_final_hex(to->total_hash, text, sizeof text);
  fprintf(to->out, "total %ld %s\n", to->frames, text);
  return fflush(to->out) || ferror(to->out) ? write_failed(to, err) : 0;
}

/* Returns how many frames have their checksum in the file; -1: unknown, because it could not be written. */
static long hash_pictures(const struct sink *sink) {
  const struct hash_sink *to = (const struct hash_sink *)sink;
  return ferror(to->out) ? -1 : to->frames;
}

const struct sink_impl sink_hash = {
    .name = "hash",
    .accepts = accepts,
    .open = hash_open,
    .write = hash_write,
    .finish = hash_finish,
    .close = hash_close,
    .pictures = hash_pictures,
};
