/* Reads the scales (alpha / rank) of adapters that PEFT saved. PEFT stores no alpha tensors, but fields in the file's
 * header or in adapter_config.json. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unet/adapter/adapter_impl.h"
#include "unet/base/json.h"
#include "unet/base/platform.h"
#include "unet/base/text_file.h"

#define CONFIG_LIMIT ((size_t)1 << 20)

static const char folder_file[] = "adapter_model.safetensors", folder_config[] = "adapter_config.json";

static int parse(struct peft *peft, const char *text, const char *path, struct error *err) {
  if (json_parse(&peft->root, text, NULL, path, err))
    return -1;
  if (cJSON_IsObject(peft->root))
    return 0;
  return error_set(err, STATUS_MODEL, "%s: its scales are no JSON object; the file is damaged, fetch it again", path);
}

/* Returns the path of PEFT's config beside a file that has the name which PEFT gives to adapters. The caller frees the
 * path. NULL: there is none. */
static char *config_path(const char *path) {
  size_t length = strlen(path), size = strlen(folder_file);
  char *config = NULL;
  if (length < size || strcmp(path + length - size, folder_file))
    return NULL;
  if (asprintf(&config, "%.*s%s", (int)(length - size), path, folder_config) < 0)
    return NULL;
  if (platform_exists(config))
    return config;
  free(config);
  return NULL;
}

int peft_open(struct peft *peft, const struct safetensors *files, const char *path, struct error *err) {
  const char *metadata = safetensors_metadata(files, "lora_adapter_metadata");
  *peft = (struct peft){.prefixed = metadata != NULL};
  if (metadata)
    return parse(peft, metadata, path, err);
  char *config = config_path(path), *text = NULL;
  int result = config ? text_read(config, CONFIG_LIMIT, &text, NULL, err) : 0;
  if (!result && text)
    result = parse(peft, text, config, err);
  free(text);
  free(config);
  return result;
}

void peft_close(struct peft *peft) {
  cJSON_Delete(peft->root);
  *peft = (struct peft){0};
}

static const cJSON *field(const struct peft *peft, const struct adapter_key *key, const char *name) {
  static const char *const parts[PARTS] = {"unet", "text_encoder", "text_encoder_2", "unet"};
  char full[64];
  snprintf(full, sizeof full, "%s%s%s", peft->prefixed ? parts[key->part] : "", peft->prefixed ? "." : "", name);
  return cJSON_GetObjectItemCaseSensitive(peft->root, full);
}

/* Returns true if the module's path equals the pattern, or ends with a dot and the pattern. */
static bool ends_with(const struct adapter_key *key, const char *pattern) {
  size_t size = strlen(pattern);
  return size && key->length >= size && !memcmp(key->path + key->length - size, pattern, size) &&
         (key->length == size || key->path[key->length - size - 1] == '.');
}

static double pattern_number(const cJSON *patterns, const struct adapter_key *key, double otherwise) {
  const cJSON *item;
  cJSON_ArrayForEach(item, patterns) {
    if (cJSON_IsNumber(item) && ends_with(key, item->string))
      return item->valuedouble;
  }
  return otherwise;
}

bool peft_scale(const struct peft *peft, const struct adapter_key *key, int rank, double *scale) {
  if (!peft->root)
    return false;
  const cJSON *alpha = field(peft, key, "lora_alpha");
  if (!alpha)
    alpha = field(peft, key, "alpha"); /* configs of LoHa and LoKr name the field "alpha" instead of "lora_alpha" */
  if (!cJSON_IsNumber(alpha))
    return false;
  double value = pattern_number(field(peft, key, "alpha_pattern"), key, alpha->valuedouble);
  if (!rank) {
    const cJSON *r = field(peft, key, "r");
    rank = (int)pattern_number(field(peft, key, "rank_pattern"), key, cJSON_IsNumber(r) ? r->valuedouble : 1);
  }
  *scale = value / (cJSON_IsTrue(field(peft, key, "use_rslora")) ? sqrt(rank) : rank);
  return isfinite(*scale);
}
