/* Opens safetensors files and sets of shards (files that together have one set of tensors). Files are not trusted:
 * header, names, shapes, types and offsets are all checked here. */
#include "unet/checkpoint/safetensors_impl.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/json.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/format.h"

/* HEADER_LIMIT is the limit that the format sets: tags and thumbnails can make a header large. Each parsed JSON value
 * takes memory, however short its text is, so the number of values is limited as well; a tensor has about ten. */
#define HEADER_LIMIT ((uint64_t)100000000)
enum { VALUES_MAX = 4 << 20 };
#define INDEX_LIMIT ((size_t)8 << 20)
/* Largest number of shards. Every shard stays open, and some processes may open only 256 files: three sets of this many
 * shards leave room for other files. */
#define SHARDS_MAX 64

static const struct type_info {
  const char *name;
  size_t size;
} types[] = {
    {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},     {"U64", 8},     {"I32", 4},  {"U32", 4},
    {"I16", 2}, {"U16", 2}, {"I8", 1},   {"U8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"BOOL", 1},
};

/* Reads a whole number from 0 to 2^53. This program's JSON parser has doubles for numbers, which are exact up to
 * 2^53. */
static bool read_size(const cJSON *item, uint64_t *value) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 0x1p53 ||
      floor(item->valuedouble) != item->valuedouble)
    return false;
  *value = (uint64_t)item->valuedouble;
  return true;
}

static int bad_tensor(const char *path, const char *name, const char *what, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: tensor %s: %s; the file is damaged, fetch it again", path,
                   text_quote(name).text, what);
}

/* Reads the field "shape" of a tensor, and stores the product of its numbers in *elements. If there are more than
 * SAFETENSOR_RANK_MAX dimensions, t->rank is their number, and t->shape has only the first of them. */
static int read_shape(struct safetensor *t, const cJSON *shape, const char *path, uint64_t *elements,
                      struct error *err) {
  if (!cJSON_IsArray(shape))
    return bad_tensor(path, t->name, "its shape is not a list", err);
  uint64_t product = 1;
  bool empty = false;
  const cJSON *item;
  cJSON_ArrayForEach(item, shape) {
    uint64_t size;
    if (!read_size(item, &size))
      return bad_tensor(path, t->name, "its shape has something other than sizes", err);
    if (t->rank < SAFETENSOR_RANK_MAX)
      t->shape[t->rank] = (int64_t)size;
    t->rank++;
    empty |= size == 0;
    if (size && __builtin_mul_overflow(product, size, &product))
      return bad_tensor(path, t->name, "its shape is too large", err);
  }
  *elements = empty ? 0 : product;
  return 0;
}

/* Reads the position of the tensor's bytes, and checks that it lies in the data part of the file. */
static int read_range(struct safetensor *t, const cJSON *offsets, const struct weight_file *file, size_t data_start,
                      struct error *err) {
  uint64_t first, end;
  if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
      !read_size(cJSON_GetArrayItem(offsets, 0), &first) || !read_size(cJSON_GetArrayItem(offsets, 1), &end) ||
      first > end)
    return bad_tensor(file->path, t->name, "its data_offsets are not two rising offsets", err);
  if (end > file->size - data_start)
    return error_set(err, STATUS_MODEL,
                     "%s: tensor %s ends at byte %llu, the file at %zu: the download is incomplete, fetch it again",
                     file->path, text_quote(t->name).text, (unsigned long long)(end + data_start), file->size);
  t->file = file;
  t->offset = data_start + (size_t)first;
  t->bytes = (size_t)(end - first);
  return 0;
}

/* Reads a tensor's type from the header, and checks that its data has the size that type and shape require. A tensor
 * of an unknown type is accepted without this check, but stays unusable. */
static int read_type(struct safetensor *t, const cJSON *dtype, uint64_t elements, const char *path, struct error *err) {
  if (!cJSON_IsString(dtype) || strlen(dtype->valuestring) >= sizeof t->type)
    return bad_tensor(path, t->name, "it has no type", err);
  strcpy(t->type, dtype->valuestring);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(t->type, types[i].name))
      continue;
    uint64_t bytes;
    if (__builtin_mul_overflow(elements, types[i].size, &bytes) || bytes != t->bytes)
      return bad_tensor(path, t->name, "its shape and its data differ in size", err);
    t->usable = i <= 2 && t->rank <= SAFETENSOR_RANK_MAX;
    t->dtype = (enum dtype[]){DTYPE_F32, DTYPE_F16, DTYPE_BF16}[t->usable ? i : 0];
  }
  return 0;
}

static int grow(struct safetensors *files) {
  if (files->count < files->capacity)
    return 0;
  size_t capacity = files->capacity ? 2 * files->capacity : 512;
  struct safetensor *list = realloc(files->list, capacity * sizeof *list);
  if (!list)
    return -1;
  files->list = list;
  files->capacity = capacity;
  return 0;
}

struct safetensor *safetensors_append(struct safetensors *files, const char *name, const char *key) {
  char *name_copy = grow(files) ? NULL : strdup(name), *key_copy = name_copy && key ? strdup(key) : name_copy;
  if (!key_copy) {
    free(name_copy);
    return NULL;
  }
  struct safetensor *t = &files->list[files->count++];
  *t = (struct safetensor){.name = name_copy, .key = key_copy};
  return t;
}

static int read_tensor(struct safetensors *files, const cJSON *item, const struct weight_file *file, size_t data_start,
                       struct error *err) {
  struct safetensor *t = safetensors_append(files, item->string, NULL);
  if (!t)
    return error_set(err, STATUS_FAILED, "%s: out of memory", file->path);
  if (!cJSON_IsObject(item))
    return bad_tensor(file->path, t->name, "it is not described", err);
  uint64_t elements = 0;
  if (read_shape(t, cJSON_GetObjectItemCaseSensitive(item, "shape"), file->path, &elements, err) ||
      read_range(t, cJSON_GetObjectItemCaseSensitive(item, "data_offsets"), file, data_start, err))
    return -1;
  return read_type(t, cJSON_GetObjectItemCaseSensitive(item, "dtype"), elements, file->path, err);
}

static int compare_offsets(const void *a, const void *b) {
  const struct safetensor *x = a, *y = b;
  size_t p = x->offset, q = y->offset;
  return p != q ? (p > q) - (p < q) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Fails unless each byte of the data belongs to exactly one tensor. All files that programs write fulfil this; in
 * others the offsets are wrong. */
static int check_cover(struct safetensors *files, size_t first, const struct weight_file *file, size_t at,
                       struct error *err) {
  size_t count = files->count - first;
  struct safetensor *list = count ? files->list + first : NULL;
  if (count)
    qsort(list, count, sizeof *list, compare_offsets);
  for (size_t i = 0; i < count; at += list[i++].bytes)
    if (list[i].offset != at)
      return bad_tensor(file->path, list[i].name,
                        list[i].offset < at ? "it shares bytes with another tensor" : "before it are bytes of none",
                        err);
  if (at < file->size)
    return error_set(err, STATUS_MODEL,
                     "%s: %zu bytes follow its last tensor, and belong to none: the file was written twice or damaged; "
                     "fetch it again",
                     file->path, file->size - at);
  return 0;
}

/* Parses the file's header, which is JSON padded with spaces. */
static cJSON *parse_header(const struct weight_file *file, const char *text, size_t length, struct error *err) {
  const char *end = NULL;
  cJSON *header;
  if (json_parse(&header, text, &end, file->path, err))
    return NULL;
  while (header && end < text + length && (*end == ' ' || *end == '\n'))
    end++;
  if (cJSON_IsObject(header) && end == text + length)
    return header;
  error_set(err, STATUS_MODEL, "%s: its header is not JSON; the file is damaged, fetch it again", file->path);
  cJSON_Delete(header);
  return NULL;
}

/* number of bytes at the file's beginning with the header's length, little-endian; the header follows */
enum { PREFIX_BYTES = 8 };

static int refuse_header(const struct weight_file *file, uint64_t length, bool is_object, struct error *err) {
  if (format_is_pickle_name(file->path))
    return format_refuse_pickle(file->path, err);
  if (!is_object)
    return error_set(err, STATUS_MODEL, "%s: is no safetensors file", file->path);
  if (length > HEADER_LIMIT)
    return error_set(err, STATUS_MODEL,
                     "%s: its header is %llu bytes long by its first 8 bytes, and the format allows 100 MB: it is no "
                     "safetensors file, or damaged; fetch it again",
                     file->path, (unsigned long long)length);
  return error_set(err, STATUS_MODEL,
                   "%s: its header ends at byte %llu, the file at %zu: it is cut short, or no safetensors file; fetch "
                   "it again",
                   file->path, (unsigned long long)length + PREFIX_BYTES, file->size);
}

/* Returns an upper bound for the number of values in a JSON text: the number of separators outside of strings. */
static size_t count_values(const char *text, size_t length) {
  size_t count = 1;
  bool quoted = false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"')
      quoted = !quoted;
    else if (quoted)
      i += text[i] == '\\';
    else
      count += text[i] == ',' || text[i] == '[' || text[i] == '{';
  }
  return count;
}

static cJSON *read_header(const struct weight_file *file, size_t *data_start, struct error *err) {
  unsigned char prefix[PREFIX_BYTES + 1];
  uint64_t length = 0;
  if (format_check(file, err))
    return NULL;
  if (file->size < PREFIX_BYTES + 2) {
    error_set(err, STATUS_MODEL, "%s: has %zu bytes, too few for a safetensors file; fetch it again", file->path,
              file->size);
    return NULL;
  }
  if (weight_file_read(file, 0, prefix, sizeof prefix, err))
    return NULL;
  for (int i = 7; i >= 0; i--)
    length = length << 8 | prefix[i];
  if (length > file->size - PREFIX_BYTES || length > HEADER_LIMIT) {
    refuse_header(file, length, prefix[PREFIX_BYTES] == '{', err);
    return NULL;
  }
  *data_start = PREFIX_BYTES + (size_t)length;
  char *text = malloc((size_t)length + 1);
  cJSON *header = NULL;
  if (!text)
    error_set(err, STATUS_FAILED, "%s: out of memory", file->path);
  else if (!weight_file_read(file, PREFIX_BYTES, text, (size_t)length, err)) {
    text[length] = 0;
    if (count_values(text, (size_t)length) > VALUES_MAX)
      error_set(err, STATUS_MODEL, "%s: its header lists more than %d values, which is not supported", file->path,
                VALUES_MAX);
    else
      header = parse_header(file, text, (size_t)length, err);
  }
  free(text);
  return header;
}

/* Opens a file and adds it to the set. Returns NULL with err set after a failure. */
static struct weight_file *open_one(struct safetensors *files, const char *path, struct error *err) {
  struct weight_file **list = realloc(files->opened, (size_t)(files->opened_count + 1) * sizeof(*list));
  struct weight_file *file = list ? malloc(sizeof *file) : NULL;
  files->opened = list ? list : files->opened;
  if (!file) {
    error_set(err, STATUS_FAILED, "%s: out of memory", path);
    return NULL;
  }
  list[files->opened_count++] = file;
  return weight_file_open(file, path, err) ? NULL : file;
}

/* Opens one more file and lists its tensors. */
static int add_file(struct safetensors *files, const char *path, struct error *err) {
  size_t data_start, first = files->count;
  const struct weight_file *file = open_one(files, path, err);
  cJSON *header = file ? read_header(file, &data_start, err) : NULL;
  if (!header)
    return -1;
  int result = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, header) {
    if (strcmp(item->string, "__metadata__") && (result = read_tensor(files, item, file, data_start, err)))
      break;
  }
  if (!files->metadata)
    files->metadata = cJSON_DetachItemFromObjectCaseSensitive(header, "__metadata__");
  cJSON_Delete(header);
  return result ? result : check_cover(files, first, file, data_start, err);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const struct safetensor *)a)->name, ((const struct safetensor *)b)->name);
}

const struct safetensor *safetensors_sort(struct safetensors *files) {
  if (files->count)
    qsort(files->list, files->count, sizeof *files->list, compare_names);
  for (size_t i = 1; i < files->count; i++)
    if (!strcmp(files->list[i].name, files->list[i - 1].name))
      return &files->list[i];
  return NULL;
}

static int sort_names(struct safetensors *files, struct error *err) {
  const struct safetensor *twice = safetensors_sort(files);
  return twice ? bad_tensor(files->path, twice->name, "it is there twice", err) : 0;
}

struct safetensors *safetensors_make(const char *path, struct error *err) {
  struct safetensors *files = calloc(1, sizeof *files);
  if (files) {
    files->shares = 1;
    files->path = strdup(path);
  }
  if (files && files->path)
    return files;
  free(files);
  error_set(err, STATUS_FAILED, "%s: out of memory", path);
  return NULL;
}

int safetensors_open_file(struct safetensors **result, const char *path, struct error *err) {
  struct safetensors *files = safetensors_make(path, err);
  if (!files)
    return -1;
  if (add_file(files, path, err) || sort_names(files, err)) {
    safetensors_close(&files);
    return -1;
  }
  *result = files;
  return 0;
}

/* Adds the shard (one of several files of a set) `name` of the folder, unless it was added before. Names that lead out
 * of the folder are refused. */
static int add_shard(struct safetensors *files, const char *folder, const char *name, struct error *err) {
  if (!*name || *name == '.' || strchr(name, '/'))
    return error_set(err, STATUS_MODEL, "%s: shard \"%s\" is not the name of a file in the same folder", files->path,
                     text_quote(name).text);
  char *path = text_path(folder, name);
  if (!path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", files->path);
  int result = 0;
  bool known = false;
  for (int i = 0; i < files->opened_count && !known; i++)
    known = !strcmp(files->opened[i]->path, path);
  if (!known && files->opened_count == SHARDS_MAX)
    result = error_set(err, STATUS_MODEL, "%s: names more than %d shards", files->path, SHARDS_MAX);
  else if (!known)
    result = add_file(files, path, err);
  free(path);
  return result;
}

static int add_shards(struct safetensors *files, const char *folder, const cJSON *map, struct error *err) {
  if (!cJSON_IsObject(map) || !map->child)
    return error_set(err, STATUS_MODEL, "%s: has no weight_map; fetch it again", files->path);
  const cJSON *item;
  cJSON_ArrayForEach(item, map) {
    if (!cJSON_IsString(item))
      return error_set(err, STATUS_MODEL, "%s: weight_map of %s is not a file name", files->path,
                       text_quote(item->string).text);
    if (add_shard(files, folder, item->valuestring, err))
      return -1;
  }
  if (sort_names(files, err))
    return -1;
  cJSON_ArrayForEach(item, map) {
    if (!safetensors_find(files, item->string))
      return error_set(err, STATUS_MODEL, "%s: tensor %s is in none of the shards; fetch them again", files->path,
                       text_quote(item->string).text);
  }
  return 0;
}

static int open_index(struct safetensors **result, const char *folder, const char *path, struct error *err) {
  char *text;
  cJSON *index;
  if (text_read(path, INDEX_LIMIT, &text, NULL, err))
    return -1;
  int unread = json_parse(&index, text, NULL, path, err);
  free(text);
  if (unread)
    return -1;
  struct safetensors *files = safetensors_make(path, err);
  int failed = !files || add_shards(files, folder, cJSON_GetObjectItemCaseSensitive(index, "weight_map"), err);
  cJSON_Delete(index);
  if (failed) {
    safetensors_close(&files);
    return -1;
  }
  *result = files;
  return 0;
}

/* Fails with a message that the folder has no safetensors file. If the folder has a pickle file instead, the message
 * names that file. */
static int refuse_folder(const char *folder, const char *basename, struct error *err) {
  static const char *const pickles[] = {"%s/%s.bin",  "%s/%s.fp16.bin",    "%s/%s.bin.index.json",
                                        "%s/%s.ckpt", "%s/pytorch_%s.bin", "%s/pytorch_%s.bin.index.json"};
  for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
    char *path;
    if (asprintf(&path, pickles[i], folder, basename) < 0)
      return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
    bool there = platform_exists(path);
    if (there)
      format_refuse_pickle(path, err);
    free(path);
    if (there)
      return -1;
  }
  return error_set(err, STATUS_MODEL,
                   "%s: has no %s.safetensors; fetch the model's safetensors files (not .bin or .ckpt)", folder,
                   basename);
}

int safetensors_open(struct safetensors **files, const char *folder, const char *basename, struct error *err) {
  static const struct {
    const char *ending;
    bool index;
  } kinds[] = {
      {".safetensors", false},
      {".safetensors.index.json", true},
      {".fp16.safetensors", false},
      {".safetensors.fp16.index.json", true},
      {".safetensors.index.fp16.json", true}, /* older spelling of .safetensors.fp16.index.json */
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char *path;
    if (asprintf(&path, "%s/%s%s", folder, basename, kinds[i].ending) < 0)
      return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
    bool there = platform_exists(path);
    int result = 0;
    if (there)
      result = kinds[i].index ? open_index(files, folder, path, err) : safetensors_open_file(files, path, err);
    free(path);
    if (there)
      return result;
  }
  return refuse_folder(folder, basename, err);
}

void safetensors_close(struct safetensors **files) {
  struct safetensors *f = *files;
  *files = NULL;
  if (!f || --f->shares > 0)
    return;
  for (size_t i = 0; i < f->count; i++) {
    if (f->list[i].key != f->list[i].name)
      free((char *)f->list[i].key);
    free((char *)f->list[i].name);
  }
  for (int i = 0; i < f->set_count; i++)
    safetensors_close(&f->set[i]);
  for (int i = 0; i < f->opened_count; i++) {
    weight_file_close(f->opened[i]);
    free(f->opened[i]);
  }
  cJSON_Delete(f->metadata);
  free(f->set);
  free(f->list);
  free(f->opened);
  free(f->path);
  free(f);
}

size_t safetensors_count(const struct safetensors *files) {
  return files->count;
}

const struct safetensor *safetensors_at(const struct safetensors *files, size_t index) {
  return &files->list[index];
}

const struct safetensor *safetensors_find(const struct safetensors *files, const char *name) {
  struct safetensor key = {.name = name};
  return files->count ? bsearch(&key, files->list, files->count, sizeof key, compare_names) : NULL;
}

const struct safetensor *safetensors_find_printed(const struct safetensors *files, const char *format, ...) {
  char name[512];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  return safetensors_find(files, name);
}

int safetensor_dimension(const struct safetensor *t, int index, int most) {
  bool fits = t && t->usable && index < t->rank && t->shape[index] > 0 && t->shape[index] <= most;
  return fits ? (int)t->shape[index] : 0;
}

static size_t count_equal(const char *a, const char *b) {
  size_t count = 0;
  while (a[count] && a[count] == b[count])
    count++;
  return count;
}

/* A missing tensor probably belongs in the file with the most similar name. Returns the path of that file. */
static const char *file_of_kin(const struct safetensors *files, const char *name) {
  const char *path = files->path;
  size_t best = 0;
  for (size_t i = 0; i < files->count; i++) {
    size_t equal = count_equal(files->list[i].name, name);
    if (equal > best)
      path = files->list[i].file->path;
    best = equal > best ? equal : best;
  }
  return path;
}

const struct safetensor *safetensors_get(const struct safetensors *files, const char *name, struct error *err) {
  const struct safetensor *t = safetensors_find(files, name);
  if (!t && files->set)
    error_set(err, STATUS_MODEL, "%s: has no tensor for the model's %s; the file is not whole, or not of this kind",
              file_of_kin(files, name), name);
  else if (!t)
    error_set(err, STATUS_MODEL, "%s: has no tensor %s; the file is not whole, or not of this model", files->path,
              name);
  else if (!t->usable)
    error_set(err, STATUS_MODEL, "%s: tensor %s: type %s with %d dimensions is not supported (F32, F16 or BF16 is)",
              t->file->path, t->key, text_quote(t->type).text, t->rank);
  return t && t->usable ? t : NULL;
}

const char *safetensors_metadata(const struct safetensors *files, const char *field) {
  while (files->set)
    files = files->set[0];
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(files->metadata, field));
}

size_t safetensors_bytes(const struct safetensors *files) {
  size_t bytes = 0;
  for (size_t i = 0; i < files->count; i++)
    bytes += files->list[i].bytes;
  return bytes;
}

const char *safetensors_path(const struct safetensors *files) {
  return files->path;
}
