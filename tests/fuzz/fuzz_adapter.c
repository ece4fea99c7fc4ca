/* Fuzzes files of adapters (LoRA and others) as fuzz_file.h writes them; an input that begins with "k" is a tensor's
 * name instead. The adapters are for the small checkpoint "sd15" of tests/data/goldens. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_file.h"
#include "unet/adapter/adapter.h"
#include "unet/adapter/modules.h"

#define T(name, shape, from, to)                                                                                       \
  "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" from "," to "]}"
#define TO_Q "down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q"
#define CONV "lora_unet_down_blocks_0_resnets_0_conv1"
#define DOTTED "unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1."

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("h", "{" T("lora_unet_" TO_Q ".lora_down.weight", "2,16", "0", "128") "," T(
                       "lora_unet_" TO_Q ".lora_up.weight", "16,2", "128",
                       "256") "," T("lora_unet_" TO_Q ".alpha", "", "256", "260") "," T("lora_unet_" TO_Q ".dora_scale",
                                                                                        "16,1", "260", "324") "}"),
    FUZZ_SEED("h", "{" T("lora_unet_input_blocks_1_1_transformer_blocks_0_attn1_to_q.lora_down.weight", "2,16", "0",
                         "128") "," T("lora_unet_input_blocks_1_1_transformer_blocks_0_attn1_to_q.lora_up.weight",
                                      "16,2", "128", "256") "}"),
    FUZZ_SEED("h", "{" T(CONV ".lora_down.weight", "2,16,1,1", "0",
                         "128") "," T(CONV ".lora_mid.weight", "2,2,3,3", "128",
                                      "272") "," T(CONV ".lora_up.weight", "16,2,1,1", "272", "400") "}"),
    FUZZ_SEED("h", "{" T(CONV ".hada_w1_a", "2,16", "0", "128") "," T(CONV ".hada_w1_b", "2,16", "128", "256") "," T(
                       CONV ".hada_w2_a", "2,16", "256",
                       "384") "," T(CONV ".hada_w2_b", "2,16", "384",
                                    "512") "," T(CONV ".hada_t1", "2,2,3,3", "512",
                                                 "656") "," T(CONV ".hada_t2", "2,2,3,3", "656", "800") "}"),
    FUZZ_SEED("h", "{" T(CONV ".lokr_w1", "4,4", "0", "64") "," T(CONV ".lokr_w2_a", "4,2", "64", "96") "," T(
                       CONV ".lokr_w2_b", "2,36", "96", "384") "}"),
    FUZZ_SEED("h", "{" T(CONV ".diff", "16,16,3,3", "0", "9216") "," T(CONV ".diff_b", "16", "9216", "9280") "}"),
    FUZZ_SEED("h", "{\"__metadata__\":{\"lora_adapter_metadata\":\"{\\\"unet.r\\\":2,\\\"unet.lora_alpha\\\":3,"
                   "\\\"unet.use_rslora\\\":true,\\\"unet.alpha_pattern\\\":{\\\"to_q\\\":1}}\"}," T(
                       DOTTED "to_q.lora_A.weight", "2,16", "0",
                       "128") "," T(DOTTED "to_q.lora_B.weight", "16,2", "128",
                                    "256") "," T(DOTTED "processor.to_out_lora.down.weight", "2,16", "256",
                                                 "384") "," T(DOTTED "processor.to_out_lora.up.weight", "16,2", "384",
                                                              "512") "}"),
    FUZZ_SEED("h", "{" T("lora_te_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", "2,24", "0", "192") "," T(
                       "lora_te_text_model_encoder_layers_0_mlp_fc1.lora_up.weight", "48,2", "192", "576") "}"),
    FUZZ_SEED("k", "base_model.model.text_encoder.text_model.encoder.layers.0.self_attn.to_q_lora.down.weight"),
    FUZZ_SEED("k", "lora_unet_" TO_Q ".lora_down.weight"),
    FUZZ_SEED("k", "lora_te2_text_model_encoder_layers_0_mlp_fc1.oft_blocks"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static struct checkpoint *checkpoint;
static struct module_table table;

static void clean(void) {
  modules_free(&table);
  checkpoint_close(&checkpoint);
}

static void begin(void) {
  const struct checkpoint_sources sources = {.model = GOLDENS "/sd15"};
  if (checkpoint)
    return;
  FUZZ_CHECK(!checkpoint_open(&checkpoint, &sources, NULL, NULL) && !modules_init(&table, checkpoint, NULL));
  atexit(clean);
}

static void try_name(const uint8_t *data, size_t size) {
  char name[256];
  struct adapter_key key;
  bool original;
  snprintf(name, sizeof name, "%.*s", (int)size, (const char *)data);
  adapter_key_refused(name);
  if (!adapter_key_read(name, &key))
    return;
  FUZZ_CHECK(key.length > 0 && key.path >= name && key.path + key.length == name + key.module);
  int module = modules_find(&table, &key, &original);
  FUZZ_CHECK(module >= -1 && module < table.module_count);
}

/* Checks that each factor of the adapter's weight has the shape that it needs, and computes the weight's last row. */
static void check_place(const struct adapter *adapter, const struct adapter_place *place) {
  const struct safetensor *t = place->tensor;
  int64_t channels = t->rank > 1 ? t->shape[1] : 1, taps = 1;
  for (int i = 2; i < t->rank; i++)
    taps *= t->shape[i];
  const struct blend blend = {&place->term, 1, (size_t)t->shape[0], (int)taps, (int)channels};
  FUZZ_CHECK(blend_term_fits(&place->term, &blend, adapter->factor_count));
  float *rows = calloc((size_t)(5 * taps * channels), sizeof *rows);
  FUZZ_CHECK(rows);
  blend_rows(&blend, (size_t)t->shape[0] - 1, 1, rows, rows + taps * channels, rows + 2 * taps * channels);
  free(rows);
}

static void try_file(const char *path, bool lenient) {
  struct adapter *adapter;
  struct error err = {0};
  const struct adapter_options options = {.lenient = lenient};
  if (adapter_open(&adapter, path, checkpoint, &options, &err)) {
    FUZZ_CHECK(!adapter && err.status == STATUS_MODEL && *err.message && !strchr(err.message, '\n'));
    return;
  }
  FUZZ_CHECK(adapter->place_count > 0);
  for (int i = 0; i < adapter->place_count; i++)
    check_place(adapter, &adapter->places[i]);
  adapter_close(&adapter);
}

static void try_description(const char *path) {
  struct safetensors *files;
  struct error err = {0};
  if (safetensors_open_file(&files, path, &err))
    return;
  FILE *out = fopen("/dev/null", "w");
  FUZZ_CHECK(out);
  adapter_recognise(files);
  adapter_print(files, out, &err);
  fclose(out);
  safetensors_close(&files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  begin();
  if (!size)
    return 0;
  if (data[0] == 'k') {
    try_name(data + 1, size - 1);
    return 0;
  }
  int fd = fuzz_file(data, size);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  try_file(path, false);
  try_file(path, true);
  try_description(path);
  close(fd);
  return 0;
}
