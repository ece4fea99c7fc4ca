#include "unet/checkpoint/depth_files.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/config.h"
#include "unet/checkpoint/kind.h"

bool depth_files_are(const char *folder) {
  char type[64];
  config_peek(folder, "model_type", type, sizeof type);
  return !strcmp(type, "depth_anything");
}

static int read_config(struct depth_files *files, struct error *err) {
  char *text = NULL;
  files->weights.config = text_path(files->weights.folder, "config.json");
  if (!files->weights.config)
    return error_set(err, STATUS_FAILED, "%s: out of memory", files->weights.folder);
  int result = text_read(files->weights.config, CONFIG_LIMIT, &text, NULL, err);
  if (!result)
    result = depth_config_parse(&files->config, text, files->weights.config, err);
  free(text);
  return result;
}

static int read_preprocessor(struct depth_files *files, struct error *err) {
  char *path = text_path(files->weights.folder, "preprocessor_config.json"), *text = NULL;
  if (!path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", files->weights.folder);
  int result = platform_exists(path) ? text_read(path, CONFIG_LIMIT, &text, NULL, err) : 0;
  if (!result)
    result = depth_preprocessor_parse(&files->config, text, path, err);
  free(text);
  free(path);
  return result;
}

int depth_files_open(struct depth_files *files, const char *folder, struct error *err) {
  *files = (struct depth_files){.weights = {.folder = strdup(folder), .name = "depth", .prefix = ""}};
  if (!files->weights.folder)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  if (platform_can_read_file(folder)) {
    struct safetensors *file = NULL;
    if (safetensors_open_file(&file, folder, err))
      return -1;
    enum weights_kind kind = weights_kind(file);
    safetensors_close(&file);
    return weights_kind_refuse(kind, folder, WEIGHTS_DEPTH, err);
  }
  if (read_config(files, err) || read_preprocessor(files, err))
    return -1;
  return safetensors_open(&files->weights.files, folder, "model", err);
}

void depth_files_print(const struct depth_files *files, FILE *out) {
  const struct depth_config *config = &files->config;
  size_t parameters = 0;
  for (size_t i = 0; i < safetensors_count(files->weights.files); i++) {
    const struct safetensor *t = safetensors_at(files->weights.files, i);
    parameters += t->usable ? t->bytes / dtype_size(t->dtype) : 0;
  }
  fprintf(out,
          "depth         Depth Anything, width %d, %d layers, %d heads, patches of %dx%d, shorter side %d: %.1f M "
          "parameters, %.1f MB\n",
          config->hidden_size, config->layers, config->heads, config->patch, config->patch, config->shorter_side,
          (double)parameters * 1e-6, (double)safetensors_bytes(files->weights.files) * 1e-6);
}

void depth_files_close(struct depth_files *files) {
  safetensors_close(&files->weights.files);
  free(files->weights.config);
  free(files->weights.folder);
  *files = (struct depth_files){0};
}
