#include "app/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libavutil/murmur3.h>
#include <libavutil/sha.h>
#include <libavutil/mem.h>

#include "app/platform/app_platform.h"
#include "app/source/protocols.h"
#include "unet/base/address.h"
#include "unet/base/text.h"

/* A file's hash is computed from SAMPLES pieces of the file, of SAMPLE_BYTES bytes each, spread over the file. Smaller
 * files are hashed as a whole. */
enum { SAMPLES = 64, SAMPLE_BYTES = 1 << 16 };

int job_time_compare(struct job_time one, struct job_time other) {
  __int128 left = (__int128)one.num * other.den, right = (__int128)other.num * one.den;
  return (left > right) - (left < right);
}

static int no_memory(struct error *err) {
  return error_set(err, STATUS_FAILED, "no memory for what identifies a render job");
}

int job_hash_picture(struct job_hash *hash, const struct frame *frame, struct error *err) {
  struct AVMurMur3 *state = av_murmur3_alloc();
  if (!state)
    return no_memory(err);
  av_murmur3_init(state);
  for (int plane = 0; plane < frame_planes(frame->format); plane++) {
    size_t bytes = (size_t)frame_row_bytes(frame->format, plane, frame->width);
    for (int y = 0; y < frame_rows(frame->format, plane, frame->height); y++)
      av_murmur3_update(state, frame->plane[plane] + (ptrdiff_t)y * frame->pitch[plane], bytes);
  }
  av_murmur3_final(state, hash->bytes);
  av_free(state);
  return 0;
}

int job_digest_text(char digest[JOB_DIGEST_MAX], const char *text, struct error *err) {
  uint8_t bytes[32];
  struct AVSHA *state = av_sha_alloc();
  if (!state)
    return no_memory(err);
  av_sha_init(state, 8 * sizeof bytes);
  av_sha_update(state, (const uint8_t *)text, strlen(text));
  av_sha_final(state, bytes);
  av_free(state);
  text_hex(digest, bytes, JOB_DIGEST_MAX / 2);
  return 0;
}

/* --- describing files by size and hash --- */

static void hash_samples(struct AVMurMur3 *state, FILE *file, int64_t size) {
  static const int64_t all = (int64_t)SAMPLES * SAMPLE_BYTES;
  uint8_t bytes[4096];
  for (int i = 0; i < SAMPLES; i++) {
    int64_t at = size <= all ? (int64_t)i * SAMPLE_BYTES : (size - SAMPLE_BYTES) / (SAMPLES - 1) * i;
    size_t got = 1;
    if (fseeko(file, at, SEEK_SET))
      return;
    for (int left = SAMPLE_BYTES; left > 0 && got; left -= (int)sizeof bytes) {
      got = fread(bytes, 1, sizeof bytes, file);
      av_murmur3_update(state, bytes, got);
    }
  }
}

static int hash_file(struct job_file *file, const char *path, struct error *err) {
  uint8_t hash[JOB_HASH_BYTES];
  struct AVMurMur3 *state = av_murmur3_alloc();
  FILE *from = state ? platform_stream(path, "rb") : NULL;
  if (!state)
    return no_memory(err);
  av_murmur3_init(state);
  if (from) {
    hash_samples(state, from, file->size);
    fclose(from);
    av_murmur3_final(state, hash);
    text_hex(file->hash, hash, sizeof hash);
  }
  av_free(state);
  return 0;
}

int job_file_describe(struct job_file *file, const char *name, struct error *err) {
  struct platform_entry entry;
  *file = (struct job_file){.size = -1};
  if (job_set_text(&file->name, address_shown(name).text, err))
    return -1;
  if (platform_look(&entry, file_path(name)) || entry.kind != ENTRY_FILE)
    return 0;
  time_t changed = (time_t)entry.changed_s;
  struct tm utc;
  if (gmtime_r(&changed, &utc))
    strftime(file->time, sizeof file->time, "%Y-%m-%dT%H:%M:%SZ", &utc);
  file->size = entry.size;
  return hash_file(file, file_path(name), err);
}

bool job_file_is(const struct job_file *file, int64_t size, const char *hash) {
  return file->size == size && !strcmp(file->hash, hash);
}

void job_file_free(struct job_file *file) {
  free(file->name);
  *file = (struct job_file){0};
}

/* --- setting, copying and freeing the fields of a job --- */

int job_set_text(char **field, const char *text, struct error *err) {
  char *copy = text ? strdup(text) : NULL;
  if (text && !copy)
    return no_memory(err);
  free(*field);
  *field = copy;
  return 0;
}

int job_set_header(struct job *job, const uint8_t *header, size_t bytes, struct error *err) {
  uint8_t *copy = bytes ? malloc(bytes) : NULL;
  if (bytes && !copy)
    return no_memory(err);
  if (bytes)
    memcpy(copy, header, bytes);
  free(job->header);
  job->header = copy;
  job->header_bytes = bytes;
  return 0;
}

int job_add_option(struct job *job, const char *name, const char *value, struct error *err) {
  struct job_option *options = realloc(job->options, (job->option_count + 1) * sizeof *options);
  if (!options)
    return no_memory(err);
  struct job_option *added = &options[job->option_count];
  *added = (struct job_option){0};
  job->options = options;
  job->option_count++; /* the new option is counted before its texts are copied, so that job_free frees the texts even
                        * if copying fails */
  return job_set_text(&added->name, name, err) || job_set_text(&added->value, value, err) ? -1 : 0;
}

static int copy_texts(struct job *to, const struct job *from, struct error *err) {
  if (job_set_text(&to->program, from->program, err) || job_set_text(&to->input.name, from->input.name, err) ||
      job_set_text(&to->model, from->model, err) || job_set_text(&to->device, from->device, err) ||
      job_set_text(&to->encoder, from->encoder, err) || job_set_text(&to->container, from->container, err) ||
      job_set_text(&to->choices, from->choices, err) || job_set_header(to, from->header, from->header_bytes, err))
    return -1;
  for (size_t i = 0; i < from->option_count; i++)
    if (job_add_option(to, from->options[i].name, from->options[i].value, err))
      return -1;
  return 0;
}

int job_copy(struct job *to, const struct job *from, struct error *err) {
  *to = *from;
  to->program = to->model = to->device = to->encoder = to->container = to->choices = to->input.name = NULL;
  to->options = NULL;
  to->option_count = 0;
  to->header = NULL;
  to->header_bytes = 0;
  if (!copy_texts(to, from, err))
    return 0;
  job_free(to);
  return -1;
}

void job_free(struct job *job) {
  for (size_t i = 0; i < job->option_count; i++) {
    free(job->options[i].name);
    free(job->options[i].value);
  }
  free(job->options);
  free(job->program);
  free(job->model);
  free(job->device);
  free(job->encoder);
  free(job->container);
  free(job->choices);
  free(job->header);
  job_file_free(&job->input);
  *job = (struct job){0};
}

bool job_part_has(const struct job_part *part, struct job_time time) {
  return job_time_compare(time, part->begin) >= 0 && (part->open || job_time_compare(time, part->end) < 0);
}
