#include "tests/rigs/adapter_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"

void suite_open(struct suite *suite, const char *goldens) {
  *suite = (struct suite){0};
  if (golden_open(&suite->golden, goldens, "adapters") < 0)
    fail_msg("%s", suite->golden.missing);
  snprintf(suite->model, sizeof suite->model, "%s/%s", goldens, json_string(suite->golden.json, "model", ""));
  const struct checkpoint_sources sources = {.model = suite->model};
  must(checkpoint_open(&suite->checkpoint, &sources, NULL, &suite->err), &suite->err);
}

void suite_close(struct suite *suite) {
  checkpoint_close(&suite->checkpoint);
  golden_close(&suite->golden);
}

const cJSON *cases_of(const struct suite *suite) {
  return cJSON_GetObjectItem(suite->golden.json, "cases")->child;
}

char *case_file(const struct suite *suite, const char *file) {
  return *file == '/' ? strdup(file) : fixture_path(suite->golden.folder, file);
}

/* Writes the header of a safetensors file with these tensors, and returns the number of elements. size: bytes of an
 * element. */
static size_t write_header(char *header, size_t room, const struct tensor_text *tensors, const char *type,
                           size_t size) {
  size_t used = (size_t)snprintf(header, room, "{"), at = 0;
  for (int i = 0; tensors[i].name; i++) {
    size_t count = 1;
    used += (size_t)snprintf(header + used, room - used, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "",
                             tensors[i].name, type);
    for (int k = 0; k < 4 && tensors[i].shape[k]; k++) {
      count *= (size_t)tensors[i].shape[k];
      used += (size_t)snprintf(header + used, room - used, "%s%d", k ? "," : "", tensors[i].shape[k]);
    }
    used +=
        (size_t)snprintf(header + used, room - used, "],\"data_offsets\":[%zu,%zu]}", size * at, size * (at + count));
    at += count;
  }
  snprintf(header + used, room - used, "}");
  return at;
}

void write_adapter(const char *folder, const struct tensor_text *tensors, float value) {
  char header[4096];
  size_t count = write_header(header, sizeof header, tensors, "F32", sizeof value);
  float *data = malloc(count * sizeof *data);
  for (size_t i = 0; i < count; i++)
    data[i] = value;
  fixture_tensors(folder, "a.safetensors", header, -1, data, count * sizeof *data);
  free(data);
}

void write_wide_adapter(const char *folder, const struct tensor_text *tensors, double value) {
  char header[4096];
  size_t count = write_header(header, sizeof header, tensors, "F64", sizeof value);
  double *data = malloc(count * sizeof *data);
  for (size_t i = 0; i < count; i++)
    data[i] = value;
  fixture_tensors(folder, "a.safetensors", header, -1, data, count * sizeof *data);
  free(data);
}

const struct safetensor *suite_tensor(const struct checkpoint *checkpoint, const char *name) {
  const struct component *component;
  for (int i = 0; (component = checkpoint_component(checkpoint, i)); i++) {
    size_t length = strlen(component->name);
    if (!strncmp(name, component->name, length) && name[length] == '/')
      return safetensors_find(component->files, name + length + 1);
  }
  return NULL;
}

/* --- a file that is made up --- */

void attempt_begin(struct attempt *attempt, const char *goldens) {
  *attempt = (struct attempt){.folder = fixture_make()};
  attempt->log = (struct log){remember_warning, &attempt->warnings};
  suite_open(&attempt->suite, goldens);
}

void attempt_end(struct attempt *attempt) {
  fixture_remove(attempt->folder);
  suite_close(&attempt->suite);
}

int attempt_open(struct attempt *attempt, struct adapter **adapter, const struct tensor_text *tensors, float value,
                 bool lenient) {
  const struct adapter_options options = {.lenient = lenient, .log = &attempt->log};
  write_adapter(attempt->folder, tensors, value);
  char *path = fixture_path(attempt->folder, "a.safetensors");
  int status = adapter_open(adapter, path, attempt->suite.checkpoint, &options, &attempt->suite.err);
  free(path);
  return status;
}

void attempt_refused(struct attempt *attempt, const struct tensor_text *tensors, float value, bool lenient,
                     const char *what) {
  struct adapter *adapter;
  if (!attempt_open(attempt, &adapter, tensors, value, lenient))
    fail_msg("'%s' is not refused", tensors->name);
  assert_null(adapter);
  assert_error(&attempt->suite.err, STATUS_MODEL, what);
}

void attempt_open_sdxl(struct attempt *attempt, const char *goldens) {
  checkpoint_close(&attempt->suite.checkpoint);
  char *model = fixture_path(goldens, "sdxl");
  const struct checkpoint_sources sources = {.model = model};
  must(checkpoint_open(&attempt->suite.checkpoint, &sources, NULL, &attempt->suite.err), &attempt->suite.err);
  free(model);
}

void attempt_remember(void *opaque, enum log_level level, const char *text) {
  if (!strstr(text, "say no alpha"))
    remember_warning(opaque, level, text);
}
