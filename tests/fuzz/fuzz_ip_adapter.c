/* Fuzzes files of IP-Adapters as fuzz_file.h writes them; an input that begins with "c" is the text of an image
 * encoder's config.json. An adapter that is accepted has sizes that a plan can be made of, or making the plan reports
 * an error. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_file.h"
#include "unet/checkpoint/ip_adapter.h"
#include "unet/model/models.h"
#include "unet/model/style.h"

#define KEYS                                                                                                           \
  "ip_adapter.1.to_k_ip.weight 16,8\nip_adapter.1.to_v_ip.weight 16,8\n"                                               \
  "ip_adapter.3.to_k_ip.weight 16,8\nip_adapter.3.to_v_ip.weight 16,8\n"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("l", KEYS "image_proj.proj.weight 32,24\nimage_proj.proj.bias 32\nimage_proj.norm.weight 8\n"
                        "image_proj.norm.bias 8\n"),
    FUZZ_SEED("l", KEYS "image_proj.proj.0.weight 80,80\nimage_proj.proj.0.bias 80\nimage_proj.proj.2.weight 8,80\n"
                        "image_proj.proj.2.bias 8\nimage_proj.proj.3.weight 8\nimage_proj.proj.3.bias 8\n"),
    FUZZ_SEED("l", KEYS "image_proj.latents 1,6,8\nimage_proj.proj_in.weight 8,80\nimage_proj.proj_in.bias 8\n"
                        "image_proj.proj_out.weight 8,8\nimage_proj.proj_out.bias 8\nimage_proj.norm_out.weight 8\n"
                        "image_proj.norm_out.bias 8\nimage_proj.layers.0.0.norm1.weight 8\n"
                        "image_proj.layers.0.0.norm1.bias 8\nimage_proj.layers.0.0.norm2.weight 8\n"
                        "image_proj.layers.0.0.norm2.bias 8\nimage_proj.layers.0.0.to_q.weight 64,8\n"
                        "image_proj.layers.0.0.to_kv.weight 128,8\nimage_proj.layers.0.0.to_out.weight 8,64\n"
                        "image_proj.layers.0.1.0.weight 8\nimage_proj.layers.0.1.0.bias 8\n"
                        "image_proj.layers.0.1.1.weight 32,8\nimage_proj.layers.0.1.3.weight 8,32\n"),
    FUZZ_SEED("l", "image_proj.perceiver_resampler.proj_in.weight 8,8\nip_adapter.0.to_q_lora.down.weight 8,8\n"),
    FUZZ_SEED("c", "{\"architectures\":[\"CLIPVisionModelWithProjection\"],\"hidden_size\":80,\"image_size\":16,"
                   "\"patch_size\":4,\"num_attention_heads\":1,\"num_hidden_layers\":2,\"hidden_act\":\"gelu\"}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

/* Makes plans with a U-Net of one layer, as wide as the adapters that the fuzzer starts from expect. */
static void check_plans(struct ip_adapter *a) {
  struct unet_layer layer = {.kind = LAYER_TRANSFORMER, .part = UNET_DOWN, .name = "x", .out = 16};
  const struct unet_config config = {.cross_attention_dim = a->config.text_width};
  layer.depth = a->config.attentions;
  const struct unet unet = {.config = &config,
                            .walk = {.layers = &layer, .count = 1, .style_channels = layer.depth * 2 * layer.out}};
  struct resources resources = {0};
  struct style style;
  struct error err = {0};
  if (style_init(&style, a, "x", &unet, &resources, &err)) {
    fuzz_check_error(&err);
  } else {
    for (int none = 0; none < 2; none++) {
      struct plan plan;
      plan_init(&plan, &resources);
      style_keys(&style, &unet, &plan, style_input(&style, &plan), none);
      if (plan_finish(&plan, &err))
        fuzz_check_error(&err);
      plan_free(&plan);
    }
  }
  resources_free(&resources);
}

static void check_adapter(const char *path) {
  struct ip_adapter *a;
  struct error err = {0};
  if (ip_adapter_open(&a, path, GOLDENS "/styles/encoder80", &err)) {
    FUZZ_CHECK(!a);
    fuzz_check_error(&err);
    return;
  }
  FUZZ_CHECK(a->config.text_width > 0 && a->config.attentions > 0 && ip_adapter_tokens(a) > 0);
  for (size_t i = 0; i < safetensors_count(a->weights.files); i++)
    fuzz_check_tensor(a->weights.files, safetensors_at(a->weights.files, i));
  check_plans(a);
  ip_adapter_close(&a);
}

static void check_config(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  struct vision_config config;
  struct error err = {0};
  FUZZ_CHECK(text);
  memcpy(text, data, size);
  text[size] = 0;
  if (vision_config_parse(&config, text, "config.json", &err))
    fuzz_check_error(&err);
  else
    FUZZ_CHECK(config.hidden_size % config.heads == 0 && config.image_size % config.patch_size == 0);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  if (*data == 'c') {
    check_config(data + 1, size - 1);
    return 0;
  }
  char path[64];
  int fd = fuzz_file(data, size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  check_adapter(path);
  close(fd);
  return 0;
}
