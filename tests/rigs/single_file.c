#include "tests/rigs/single_file.h"

#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"

struct writer {
  const struct golden *golden;
  char *header, *data;
  size_t header_size, data_size;
  FILE *header_out, *data_out;
  struct {
    char name[32];
    struct safetensors *files;
  } parts[8];
};

static struct safetensors *find_part(struct writer *w, const char *name) {
  int i = 0;
  for (; w->parts[i].files; i++)
    if (!strcmp(w->parts[i].name, name))
      return w->parts[i].files;
  struct error err;
  char *folder = fixture_path(w->golden->folder, name);
  snprintf(w->parts[i].name, sizeof w->parts[i].name, "%s", name);
  const char *basename = strncmp(name, "text", 4) ? "diffusion_pytorch_model" : "model";
  if (safetensors_open(&w->parts[i].files, folder, basename, &err))
    fail_msg("%s", err.message);
  free(folder);
  return w->parts[i].files;
}

static void begin_tensor(struct writer *w, const char *name, const char *type) {
  fflush(w->data_out);
  fprintf(w->header_out, "%s\"%s\": {\"dtype\": \"%s\", \"data_offsets\": [%zu, ", ftell(w->header_out) > 1 ? ", " : "",
          name, type, w->data_size);
}

static void end_tensor(struct writer *w, int rank, const int64_t *shape) {
  fflush(w->data_out);
  fprintf(w->header_out, "%zu], \"shape\": [", w->data_size);
  for (int i = 0; i < rank; i++)
    fprintf(w->header_out, "%s%lld", i ? ", " : "", (long long)shape[i]);
  fprintf(w->header_out, "]}");
}

static void put(struct writer *w, const struct safetensor *t, bool turned) {
  char *bytes = malloc(t->bytes);
  struct error err;
  assert_non_null(bytes);
  if (weight_file_read(t->file, t->offset, bytes, t->bytes, &err))
    fail_msg("%s", err.message);
  size_t rows = turned ? (size_t)t->shape[0] : 1, columns = turned ? (size_t)t->shape[1] : 1;
  size_t size = t->bytes / (rows * columns);
  for (size_t c = 0; c < columns; c++)
    for (size_t r = 0; r < rows; r++)
      fwrite(bytes + (r * columns + c) * size, size, 1, w->data_out);
  free(bytes);
}

/* Writes the tensor of one line of original.json. */
static void write_line(struct writer *w, const cJSON *line, const char *key) {
  const char *part = cJSON_GetArrayItem(line, 1)->valuestring;
  const char *how = cJSON_GetArrayItem(line, 3)->valuestring;
  const struct safetensor *t = NULL;
  const cJSON *name;
  int64_t rows = 0;
  cJSON_ArrayForEach(name, cJSON_GetArrayItem(line, 2)) {
    const struct safetensor *next = safetensors_find(find_part(w, part), name->valuestring);
    if (!next)
      fail_msg("%s of %s is not there", name->valuestring, part);
    if (!t)
      begin_tensor(w, key, next->type);
    t = next;
    rows += t->shape[0];
    put(w, t, !strcmp(how, "turn"));
  }
  int64_t shape[SAFETENSOR_RANK_MAX] = {rows, t->shape[1], t->shape[2], t->shape[3]};
  if (!strcmp(how, "turn"))
    shape[0] = t->shape[1], shape[1] = t->shape[0];
  bool convolution = !strcmp(how, "1x1");
  if (convolution)
    shape[2] = shape[3] = 1;
  end_tensor(w, convolution ? 4 : t->rank, shape);
}

static bool begins(const char *key, const char *prefix) {
  return prefix && !strncmp(key, prefix, strlen(prefix));
}

static void write_lines(struct writer *w, const struct single_file_change *change) {
  char *path = fixture_path(w->golden->folder, "original.json.gz"), *text = fixture_unpack(path, NULL);
  cJSON *lines = text ? cJSON_Parse(text) : NULL;
  const cJSON *line;
  assert_non_null(lines);
  cJSON_ArrayForEach(line, lines) {
    const char *key = cJSON_GetArrayItem(line, 0)->valuestring;
    char changed[256];
    snprintf(changed, sizeof changed, "%s%s", begins(key, change->from) ? change->to : "",
             begins(key, change->from) ? key + strlen(change->from) : key);
    if (!begins(key, change->without) && (!change->only || begins(key, change->only)))
      write_line(w, line, changed);
  }
  cJSON_Delete(lines);
  free(text);
  free(path);
}

void single_file_write(const struct golden *golden, const char *folder, const char *name,
                       const struct single_file_change *change) {
  static const struct single_file_change none = {0};
  struct writer w = {.golden = golden};
  change = change ? change : &none;
  w.header_out = open_memstream(&w.header, &w.header_size);
  w.data_out = open_memstream(&w.data, &w.data_size);
  assert_true(w.header_out && w.data_out);
  fprintf(w.header_out, "{");
  if (change->metadata)
    fprintf(w.header_out, "\"__metadata__\": {%s}", change->metadata);
  write_lines(&w, change);
  if (change->extra) {
    begin_tensor(&w, change->extra, "F32");
    fwrite((const float[]){1, 2}, sizeof(float), 2, w.data_out);
    end_tensor(&w, 1, (const int64_t[]){2});
  }
  fprintf(w.header_out, "}");
  assert_int_equal(fclose(w.header_out), 0);
  assert_int_equal(fclose(w.data_out), 0);
  fixture_tensors(folder, name, w.header, -1, w.data, w.data_size);
  for (int i = 0; w.parts[i].files; i++)
    safetensors_close(&w.parts[i].files);
  free(w.header);
  free(w.data);
}
