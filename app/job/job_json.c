#include "app/job/job_json.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MOST = 1 << 20, BATCH_MOST = 1 << 10, PARTS_MOST = 1 << 20, HEADER_MOST = 1 << 18 };

static const char digits[] = "0123456789abcdef";

bool job_json_whole(int64_t *value, const cJSON *object, const char *name, int64_t least, int64_t most) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
  double number = cJSON_IsNumber(found) ? found->valuedouble : NAN;
  if (!(number >= (double)least && number <= (double)most) || number != floor(number))
    return false;
  *value = (int64_t)number;
  return true;
}

/* --- writing a job (the whole render) and a part of it to JSON --- */

static bool add_text(cJSON *object, const char *name, const char *text) {
  return !text || cJSON_AddStringToObject(object, name, text);
}

static bool add_time(cJSON *object, const char *name, struct job_time time) {
  char text[48];
  snprintf(text, sizeof text, "%" PRId64 "/%" PRId64, time.num, time.den);
  return !time.den || cJSON_AddStringToObject(object, name, text);
}

static bool add_file(cJSON *object, const char *name, const struct job_file *file) {
  cJSON *added = cJSON_AddObjectToObject(object, name);
  return added && add_text(added, "name", file->name) && cJSON_AddNumberToObject(added, "size", (double)file->size) &&
         add_text(added, "hash", file->hash) && add_text(added, "changed", file->time);
}

static bool add_options(cJSON *object, const struct job *job) {
  cJSON *list = cJSON_AddArrayToObject(object, "options");
  bool added = list;
  for (size_t i = 0; added && i < job->option_count; i++) {
    const char *pair[] = {job->options[i].name, job->options[i].value};
    cJSON *item = cJSON_CreateStringArray(pair, 2);
    added = item && cJSON_AddItemToArray(list, item);
  }
  return added;
}

static bool add_header(cJSON *object, const struct job *job) {
  if (!job->header)
    return true;
  char *text = malloc(2 * job->header_bytes + 1);
  if (!text)
    return false;
  for (size_t i = 0; i < job->header_bytes; i++) {
    text[2 * i] = digits[job->header[i] >> 4];
    text[2 * i + 1] = digits[job->header[i] & 15];
  }
  text[2 * job->header_bytes] = 0;
  bool added = cJSON_AddStringToObject(object, "header", text);
  free(text);
  return added;
}

static bool add_part(cJSON *object, const struct job_part *part) {
  cJSON *added = cJSON_AddObjectToObject(object, "part");
  return added && cJSON_AddNumberToObject(added, "index", part->index) &&
         cJSON_AddNumberToObject(added, "count", part->count) && add_time(added, "begin", part->begin) &&
         (part->open || add_time(added, "end", part->end)) &&
         (!part->numbered || (cJSON_AddNumberToObject(added, "first", (double)part->first) &&
                              cJSON_AddNumberToObject(added, "last", (double)part->last)));
}

int job_to_json(cJSON *object, const struct job *job, const struct job_part *part) {
  bool added = add_text(object, "program", job->program) && add_file(object, "input", &job->input) &&
               add_options(object, job) && add_text(object, "model", job->model) &&
               add_text(object, "device", job->device) && add_text(object, "encoder", job->encoder) &&
               add_text(object, "container", job->container) && add_header(object, job) &&
               cJSON_AddNumberToObject(object, "width", job->width) &&
               cJSON_AddNumberToObject(object, "height", job->height) && add_time(object, "tick", job->tick) &&
               add_time(object, "rate", job->rate) && add_time(object, "origin", job->origin) &&
               add_time(object, "end", job->end) && cJSON_AddNumberToObject(object, "batch", job->batch) &&
               add_text(object, "choices", job->choices) && add_part(object, part);
  return added ? 0 : -1;
}

/* --- reading: each function returns 1 on success, 0 if a JSON member is not as this program writes it, or -1 with err
 * --- */

static int read_text(char **text, const cJSON *object, const char *name, struct error *err) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!found)
    return 1;
  if (!cJSON_IsString(found))
    return 0;
  return job_set_text(text, found->valuestring, err) ? -1 : 1;
}

static int read_time(struct job_time *time, const cJSON *object, const char *name) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
  int used = 0;
  if (!found)
    return 1;
  if (!cJSON_IsString(found) || strlen(found->valuestring) > 40 ||
      sscanf(found->valuestring, "%" SCNd64 "/%" SCNd64 "%n", &time->num, &time->den, &used) != 2)
    return 0;
  return !found->valuestring[used] && time->num >= -JOB_JSON_MOST && time->num <= JOB_JSON_MOST && time->den > 0 &&
         time->den <= JOB_JSON_MOST;
}

/* Reads a time that is greater than 0 and whose numerator and denominator fit FFmpeg's AVRational (int). Returns 1 if
 * the member is such a time or is absent, otherwise 0. */
static int read_unit(struct job_time *time, const cJSON *object, const char *name) {
  if (!read_time(time, object, name))
    return 0;
  return !time->den || (time->num > 0 && time->num <= INT_MAX && time->den <= INT_MAX);
}

static bool copy_short(char *to, size_t size, const cJSON *object, const char *name) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!cJSON_IsString(found) || strlen(found->valuestring) >= size)
    return false;
  strcpy(to, found->valuestring);
  return true;
}

static int read_file(struct job_file *file, const cJSON *object, const char *name, struct error *err) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!job_json_whole(&file->size, found, "size", -1, JOB_JSON_MOST) ||
      !copy_short(file->hash, sizeof file->hash, found, "hash") ||
      !copy_short(file->time, sizeof file->time, found, "changed"))
    return 0;
  return read_text(&file->name, found, "name", err);
}

static int read_options(struct job *job, const cJSON *object, struct error *err) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "options"), *item;
  if (list && !cJSON_IsArray(list))
    return 0;
  cJSON_ArrayForEach(item, list) {
    const cJSON *name = cJSON_GetArrayItem(item, 0), *value = cJSON_GetArrayItem(item, 1);
    if (!cJSON_IsArray(item) || !cJSON_IsString(name) || !cJSON_IsString(value))
      return 0;
    if (job_add_option(job, name->valuestring, value->valuestring, err))
      return -1;
  }
  return 1;
}

static int digit_of(char c) {
  const char *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

static int read_header(struct job *job, const cJSON *object, struct error *err) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, "header");
  if (!found)
    return 1;
  const char *text = cJSON_IsString(found) ? found->valuestring : "?";
  size_t length = strlen(text), bytes = length / 2;
  if (length % 2 || !bytes || bytes > HEADER_MOST || strspn(text, digits) != length)
    return 0;
  uint8_t *header = malloc(bytes);
  if (!header)
    return error_set(err, STATUS_FAILED, "no memory for what identifies a render job");
  for (size_t i = 0; i < bytes; i++)
    header[i] = (uint8_t)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
  job->header = header;
  job->header_bytes = bytes;
  return 1;
}

static int read_numbers(struct job *job, const cJSON *object) {
  int64_t width, height, batch;
  if (!job_json_whole(&width, object, "width", 0, SIDE_MOST) ||
      !job_json_whole(&height, object, "height", 0, SIDE_MOST) ||
      !job_json_whole(&batch, object, "batch", 0, BATCH_MOST))
    return 0;
  job->width = (int)width;
  job->height = (int)height;
  job->batch = (int)batch;
  return read_unit(&job->tick, object, "tick") && read_unit(&job->rate, object, "rate") &&
         read_time(&job->origin, object, "origin") && read_time(&job->end, object, "end");
}

static int read_part(struct job_part *part, const cJSON *object) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, "part");
  int64_t index, count;
  if (!job_json_whole(&count, found, "count", 1, PARTS_MOST) || !job_json_whole(&index, found, "index", 1, count))
    return 0;
  *part = (struct job_part){.index = (int)index, .count = (int)count, .begin = {0, 1}};
  part->numbered = cJSON_GetObjectItemCaseSensitive(found, "first");
  if (part->numbered && (!job_json_whole(&part->first, found, "first", 0, JOB_JSON_MOST) ||
                         !job_json_whole(&part->last, found, "last", -1, JOB_JSON_MOST)))
    return 0;
  part->open = !cJSON_GetObjectItemCaseSensitive(found, "end");
  return read_time(&part->begin, found, "begin") && read_time(&part->end, found, "end");
}

int job_from_json(struct job *job, struct job_part *part, const cJSON *object, struct error *err) {
  if (!read_numbers(job, object) || !read_part(part, object))
    return 0;
  int read = read_file(&job->input, object, "input", err);
  read = read > 0 ? read_options(job, object, err) : read;
  read = read > 0 ? read_header(job, object, err) : read;
  const struct {
    char **text;
    const char *name;
  } texts[] = {{&job->program, "program"}, {&job->model, "model"},         {&job->device, "device"},
               {&job->encoder, "encoder"}, {&job->container, "container"}, {&job->choices, "choices"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts && read > 0; i++)
    read = read_text(texts[i].text, object, texts[i].name, err);
  return read;
}
