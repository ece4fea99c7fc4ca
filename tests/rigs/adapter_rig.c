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

void write_adapter(const char *folder, const struct tensor_text *tensors, float value) {
  char header[4096];
  size_t used = (size_t)snprintf(header, sizeof header, "{"), at = 0;
  for (int i = 0; tensors[i].name; i++) {
    size_t count = 1;
    used += (size_t)snprintf(header + used, sizeof header - used, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[",
                             i ? "," : "", tensors[i].name);
    for (int k = 0; k < 4 && tensors[i].shape[k]; k++) {
      count *= (size_t)tensors[i].shape[k];
      used += (size_t)snprintf(header + used, sizeof header - used, "%s%d", k ? "," : "", tensors[i].shape[k]);
    }
    used += (size_t)snprintf(header + used, sizeof header - used, "],\"data_offsets\":[%zu,%zu]}", 4 * at,
                             4 * (at + count));
    at += count;
  }
  snprintf(header + used, sizeof header - used, "}");
  float *data = malloc(at * sizeof *data);
  for (size_t i = 0; i < at; i++)
    data[i] = value;
  fixture_tensors(folder, "a.safetensors", header, -1, data, at * sizeof *data);
  free(data);
}
