#include "app/job/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "app/job/job_json.h"
#include "app/platform/app_platform.h"
#include "unet/base/text.h"

struct manifest {
  FILE *out;
  const char *path;
  int64_t pictures; /* number of pictures whose lines were written so far */
};

static int write_failed(const struct manifest *manifest, struct error *err) {
  return error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", manifest->path, platform_why_unwritten(errno));
}

/* Completes a line of the manifest by flushing it to the operating system at once. printed: what fprintf returned for
 * the line. */
static int end_line(struct manifest *manifest, int printed, struct error *err) {
  return printed < 0 || fflush(manifest->out) ? write_failed(manifest, err) : 0;
}

static int write_head(struct manifest *manifest, const struct job *job, const struct job_part *part,
                      struct error *err) {
  cJSON *object = cJSON_CreateObject();
  char *text = NULL;
  if (object && cJSON_AddNumberToObject(object, "manifest", MANIFEST_VERSION) && !job_to_json(object, job, part))
    text = cJSON_PrintUnformatted(object);
  cJSON_Delete(object);
  if (!text)
    return error_set(err, STATUS_FAILED, "%s: no memory", manifest->path);
  int failed = end_line(manifest, fprintf(manifest->out, "%s\n", text), err);
  cJSON_free(text);
  return failed;
}

int manifest_open(struct manifest **manifest, FILE *out, const char *path, const struct job *job,
                  const struct job_part *part, struct error *err) {
  struct manifest *made = *manifest = calloc(1, sizeof *made);
  if (!made) {
    fclose(out);
    return error_set(err, STATUS_FAILED, "%s: no memory", path);
  }
  made->out = out;
  made->path = path;
  if (!write_head(made, job, part, err))
    return 0;
  manifest_close(manifest);
  return -1;
}

int manifest_add_picture(struct manifest *manifest, const struct job_picture *picture, struct error *err) {
  char hash[2 * JOB_HASH_BYTES + 1];
  text_hex(hash, picture->hash.bytes, JOB_HASH_BYTES);
  int printed =
      fprintf(manifest->out, "{\"picture\":%" PRId64 ",\"time\":%" PRId64 ",\"source\":%" PRId64 ",\"hash\":\"%s\"}\n",
              manifest->pictures++, picture->time, picture->source, hash);
  return end_line(manifest, printed, err);
}

int manifest_add_segment(struct manifest *manifest, const struct job_segment *segment, struct error *err) {
  return end_line(
      manifest,
      fprintf(manifest->out, "{\"segment\":%" PRId64 ",\"pictures\":%" PRId64 "}\n", segment->first, segment->pictures),
      err);
}

int manifest_add_end(struct manifest *manifest, const struct job_end *end, struct error *err) {
  return end_line(manifest,
                  fprintf(manifest->out, "{\"end\":%" PRId64 ",\"pictures\":%" PRId64 ",\"whole\":%s}\n", end->time,
                          end->pictures, end->whole ? "true" : "false"),
                  err);
}

int manifest_add_file(struct manifest *manifest, const char *path, struct error *err) {
  struct job_file file;
  if (job_file_describe(&file, path, err))
    return -1;
  int printed = fprintf(manifest->out, "{\"file\":%" PRId64 ",\"hash\":\"%s\"}\n", file.size, file.hash);
  job_file_free(&file);
  return end_line(manifest, printed, err);
}

void manifest_close(struct manifest **manifest) {
  if (*manifest)
    fclose((*manifest)->out);
  free(*manifest);
  *manifest = NULL;
}
