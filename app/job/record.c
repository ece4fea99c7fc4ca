/* Reads manifests (files that describe a part of a render and list its pictures, manifest.h). A manifest may be cut
 * off, damaged or written to do harm. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/job/job_json.h"
#include "app/job/manifest.h"
#include "app/platform/app_platform.h"
#include "unet/base/json.h"

/* line_most: longest line in bytes; a longer one counts as incomplete. pictures_most: greatest number of pictures in a
 * manifest, about two years at 60 pictures a second. */
static const size_t line_most = 1 << 20;
static const int64_t pictures_most = INT64_C(1) << 32;

struct reading {
  struct job_record *record;
  const char *path;
  FILE *file;
  char *line;
  size_t capacity, pictures_capacity, segments_capacity;
};

static int no_memory(const struct reading *from, struct error *err) {
  return error_set(err, STATUS_FAILED, "%s: no memory to read it", from->path);
}

/* Reads the next line, without its line end, into from->line. Returns 1, 0 if there is no further complete line, or -1
 * with err. */
static int read_line(struct reading *from, struct error *err) {
  size_t length = 0;
  for (int c; (c = getc(from->file)) != EOF;) {
    if (length + 1 >= from->capacity) {
      size_t capacity = from->capacity ? 2 * from->capacity : 256;
      char *line = capacity > line_most ? NULL : realloc(from->line, capacity);
      if (capacity > line_most)
        return 0;
      if (!line)
        return no_memory(from, err);
      from->line = line;
      from->capacity = capacity;
    }
    from->line[length++] = (char)c;
    if (!c)
      return 0;
    if (c == '\n') {
      from->line[length - 1] = 0;
      return 1;
    }
  }
  return ferror(from->file) ? error_set(err, STATUS_INPUT, "%s: cannot be read: %s", from->path, strerror(errno)) : 0;
}

/* Makes room for one more element in an array. Returns false if memory is short. */
static bool grow(void **array, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity)
    return true;
  size_t wanted = *capacity ? 2 * *capacity : 64;
  void *grown = realloc(*array, wanted * size);
  if (!grown)
    return false;
  *array = grown;
  *capacity = wanted;
  return true;
}

static bool read_hash(struct job_hash *hash, const cJSON *line) {
  static const char digits[] = "0123456789abcdef";
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(line, "hash");
  const char *text = cJSON_IsString(found) ? found->valuestring : "";
  if (strlen(text) != 2 * JOB_HASH_BYTES || strspn(text, digits) != 2 * JOB_HASH_BYTES)
    return false;
  for (int i = 0; i < JOB_HASH_BYTES; i++)
    hash->bytes[i] =
        (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
  return true;
}

/* The functions take_... add the contents of one line of the manifest to the record. They return 1; 0 if manifest.c
 * would not write such a line there; or -1 with err. */

static int take_picture(struct reading *from, const cJSON *line, struct error *err) {
  struct job_record *record = from->record;
  struct job_picture picture;
  int64_t number;
  if (!job_json_whole(&number, line, "picture", 0, pictures_most) || number != (int64_t)record->picture_count ||
      !job_json_whole(&picture.time, line, "time", -JOB_JSON_MOST, JOB_JSON_MOST) ||
      !job_json_whole(&picture.source, line, "source", -JOB_JSON_MOST, JOB_JSON_MOST) ||
      !read_hash(&picture.hash, line))
    return 0;
  const struct job_picture *last = number ? &record->pictures[number - 1] : NULL;
  if (last && (picture.time <= last->time || picture.source <= last->source))
    return 0;
  if (!grow((void **)&record->pictures, &from->pictures_capacity, record->picture_count, sizeof picture))
    return no_memory(from, err);
  record->pictures[record->picture_count++] = picture;
  return 1;
}

static int take_segment(struct reading *from, const cJSON *line, struct error *err) {
  struct job_record *record = from->record;
  struct job_segment segment;
  int64_t kept = job_record_kept(record), most = (int64_t)record->picture_count - kept;
  if (!job_json_whole(&segment.first, line, "segment", kept, kept) ||
      !job_json_whole(&segment.pictures, line, "pictures", 1, most))
    return 0;
  if (!grow((void **)&record->segments, &from->segments_capacity, record->segment_count, sizeof segment))
    return no_memory(from, err);
  record->segments[record->segment_count++] = segment;
  return 1;
}

static int take_end(const struct reading *from, const cJSON *line) {
  struct job_record *record = from->record;
  const cJSON *whole = cJSON_GetObjectItemCaseSensitive(line, "whole");
  int64_t count = (int64_t)record->picture_count;
  int64_t last = count ? record->pictures[count - 1].time : -JOB_JSON_MOST;
  if (!cJSON_IsBool(whole) || job_record_kept(record) != count ||
      !job_json_whole(&record->end.pictures, line, "pictures", count, count) ||
      !job_json_whole(&record->end.time, line, "end", last, JOB_JSON_MOST))
    return 0;
  record->end.whole = cJSON_IsTrue(whole);
  record->ended = true;
  return 1;
}

static int take_file(const struct reading *from, const cJSON *line) {
  struct job_record *record = from->record;
  const cJSON *hash = cJSON_GetObjectItemCaseSensitive(line, "hash");
  if (!record->ended || !cJSON_IsString(hash) || strlen(hash->valuestring) >= sizeof record->file_hash ||
      !job_json_whole(&record->file_size, line, "file", 0, JOB_JSON_MOST))
    return 0;
  strcpy(record->file_hash, hash->valuestring);
  return 1;
}

static int take_head(const struct reading *from, const cJSON *line, struct error *err) {
  int64_t version;
  if (!job_json_whole(&version, line, "manifest", 1, JOB_JSON_MOST))
    return 0;
  if (version != MANIFEST_VERSION)
    return error_set(err, STATUS_USAGE, "%s: made by another version of reverie; render anew with -y", from->path);
  return job_from_json(&from->record->job, &from->record->part, line, err);
}

static int take_line(struct reading *from, const cJSON *line, struct error *err) {
  if (from->record->ended)
    return take_file(from, line);
  if (cJSON_GetObjectItemCaseSensitive(line, "picture"))
    return take_picture(from, line, err);
  return cJSON_GetObjectItemCaseSensitive(line, "segment") ? take_segment(from, line, err) : take_end(from, line);
}

/* Reads the next line of the manifest and adds its contents to the record. head: true: it is the first line. Returns 1;
 * 0 if there is no further complete line, or if the line is not as manifest.c writes lines; or -1 with err. */
static int next_line(struct reading *from, bool head, struct error *err) {
  cJSON *line = NULL;
  int taken = read_line(from, err);
  if (taken > 0 && json_parse(&line, from->line, NULL, from->path, err))
    taken = -1;
  if (taken > 0)
    taken = !cJSON_IsObject(line) ? 0 : head ? take_head(from, line, err) : take_line(from, line, err);
  cJSON_Delete(line);
  return taken;
}

bool manifest_is(const char *path) {
  static const char begin[] = "{\"manifest\":";
  char text[sizeof begin - 1];
  FILE *file = platform_is_file(path) ? platform_stream(path, "rb") : NULL;
  bool is = file && fread(text, 1, sizeof text, file) == sizeof text && !memcmp(text, begin, sizeof text);
  if (file)
    fclose(file);
  return is;
}

int job_record_read(struct job_record *record, const char *path, struct error *err) {
  struct reading from = {.record = record, .path = path};
  *record = (struct job_record){.file_size = -1};
  from.file = platform_is_file(path) ? platform_stream(path, "rb") : NULL;
  if (!from.file)
    return !platform_is_file(path) || errno == ENOENT
               ? 0
               : error_set(err, STATUS_OUTPUT, "%s: cannot be read: %s", path, strerror(errno));
  int head = next_line(&from, true, err), taken = head;
  while (taken > 0 && record->file_size < 0)
    taken = next_line(&from, false, err);
  fclose(from.file);
  free(from.line);
  if (taken < 0 || !head)
    job_record_free(record);
  return taken < 0 ? -1 : head;
}

int64_t job_record_kept(const struct job_record *record) {
  const struct job_segment *last = record->segment_count ? &record->segments[record->segment_count - 1] : NULL;
  return last ? last->first + last->pictures : 0;
}

void job_record_free(struct job_record *record) {
  job_free(&record->job);
  free(record->pictures);
  free(record->segments);
  *record = (struct job_record){0};
}
