/* Tests files and folders of control networks: what they are recognised as, and what is said of other files. These
 * files have only the tensors that tell a network's sizes; tests/test_controls.c has whole networks. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/rigs/scratch.h"
#include "unet/checkpoint/control_network.h"

/* --- files --- */

/* Writes a file of tensors from lines such as "NAME 320,4,3,3"; all values are 0 in FP16. */
static void write_file(const char *name, const char *lines) {
  char *header = NULL;
  size_t header_size, used = 0;
  FILE *out = open_memstream(&header, &header_size);
  assert_non_null(out);
  fputc('{', out);
  for (const char *at = lines; *at; at = strchr(at, '\n') + 1) {
    const char *space = strchr(at, ' '), *end = strchr(at, '\n');
    size_t elements = 1;
    fprintf(out, "%s\"%.*s\":{\"dtype\":\"F16\",\"shape\":[%.*s],", at > lines ? "," : "", (int)(space - at), at,
            (int)(end - space) - 1, space + 1);
    for (const char *number = space; number < end; number = strpbrk(number + 1, ",\n"))
      elements *= strtoul(number + 1, NULL, 10);
    fprintf(out, "\"data_offsets\":[%zu,%zu]}", used, used + 2 * elements);
    used += 2 * elements;
  }
  fputc('}', out);
  assert_int_equal(fclose(out), 0);
  char *data = calloc(1, used);
  assert_non_null(data);
  fixture_tensors(scratch, name, header, -1, data, used);
  free(data);
  free(header);
}

static int open_at(struct control_network **network, const char *name, struct error *err) {
  char *path = fixture_path(scratch, name);
  int result = control_network_open(network, path, "control_1", NULL, err);
  free(path);
  return result;
}

static struct control_network *open_good(const char *name) {
  struct control_network *network;
  struct error err = {0};
  if (open_at(&network, name, &err))
    fail_msg("%s", err.message);
  return network;
}

static void check_refused(const char *name, const char *says) {
  struct control_network *network;
  struct error err = {0};
  assert_int_equal(open_at(&network, name, &err), -1);
  assert_null(network);
  assert_int_equal(err.status, STATUS_MODEL);
  if (!strstr(err.message, name) || !strstr(err.message, says) || strchr(err.message, '\n'))
    fail_msg("expected %s and %s in: %s", name, says, err.message);
}

/* A ControlNet with two levels of one layer and attention in the first one; P is a prefix of all names, WIDTH the width
 * of the text. */
#define ORIGINAL(P, WIDTH)                                                                                             \
  P "input_blocks.0.0.weight 64,4,3,3\n" P "time_embed.0.weight 256,64\n" P                                            \
    "input_blocks.1.0.in_layers.0.weight 64\n" P "input_blocks.1.0.in_layers.2.weight 64,64,3,3\n" P                   \
    "input_blocks.1.1.norm.weight 64\n" P "input_blocks.1.1.transformer_blocks.0.norm1.weight 64\n" P                  \
    "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight 64," WIDTH "\n" P "input_blocks.2.0.op.weight 64\n" P     \
    "input_blocks.3.0.in_layers.0.weight 64\n" P "input_blocks.3.0.in_layers.2.weight 128,64,3,3\n" P                  \
    "middle_block.0.in_layers.2.weight 128,128,3,3\n" P "zero_convs.0.0.weight 64,64,1,1\n" P                          \
    "middle_block_out.0.weight 128,128,1,1\n" P "input_hint_block.0.weight 16,3,3,3\n" P                               \
    "input_hint_block.2.weight 16,16,3,3\n" P "input_hint_block.4.weight 32,16,3,3\n" P                                \
    "input_hint_block.6.weight 64,32,3,3\n"

static void test_original_layout(void **state) {
  (void)state;
  write_file("sd1.safetensors", ORIGINAL("", "768"));
  struct control_network *network = open_good("sd1.safetensors");
  const struct unet_config *body = &network->controlnet.body;
  assert_int_equal(network->type, CONTROL_CONTROLNET);
  assert_string_equal(control_network_family(network), "SD 1");
  assert_true(body->levels == 2 && body->channels[0] == 64 && body->channels[1] == 128);
  assert_true(body->layers[0] == 1 && body->down_attention[0] && !body->down_attention[1]);
  assert_true(body->heads[0] == 8 && body->heads[1] == 8 && body->down_depth[0][0] == 1);
  assert_true(body->mid_block && !body->mid_attention && body->time_embed_dim == 256 && body->in_channels == 4);
  assert_true(network->controlnet.hint_levels == 2 && network->controlnet.hint[1] == 32);
  static const char *const names[] = {"controlnet_cond_embedding.conv_in.weight",
                                      "controlnet_cond_embedding.blocks.1.weight",
                                      "controlnet_cond_embedding.conv_out.weight",
                                      "controlnet_down_blocks.0.weight",
                                      "controlnet_mid_block.weight",
                                      "down_blocks.1.resnets.0.conv1.weight"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!checkpoint_has(&network->weights, names[i]))
      fail_msg("%s is missing", names[i]);
  control_network_close(&network);
}

struct told {
  char line[512];
};

static void remember(void *opaque, enum log_level level, const char *text) {
  struct told *told = opaque;
  if (level == LOG_WARNING)
    snprintf(told->line, sizeof told->line, "%s", text);
}

/* Whether a network's outputs are averaged over the picture (pooled) is read from the config beside the file, otherwise
 * from its name, and a line says which. */
static void test_pooling(void **state) {
  (void)state;
  static const struct {
    const char *name, *config, *text;
    bool pooled;
    const char *says; /* NULL: no warning */
  } cases[] = {
      {"control_v11e_sd15_shuffle.safetensors", NULL, NULL, true, "its name says shuffle"},
      {"my-Shuffle.safetensors", NULL, NULL, true, "its name says shuffle"},
      {"control_v11p_sd15_canny.safetensors", NULL, NULL, false, "is taken for a plain ControlNet"},
      {"a.safetensors", "a.yaml", "params:\n  global_average_pooling: True\n", true, NULL},
      {"b_shuffle.safetensors", "b_shuffle.yaml", "global_average_pooling: False # not here", false, NULL},
      {"d.safetensors", "d.safetensors.yaml", "GLOBAL_average_pooling: !!bool true\n", true, NULL},
      {"e.safetensors", "e.YAML", "global_average_pooling: true", true, NULL},
      {"c_shuffle.safetensors", "c_shuffle.yaml", "model:\n  target: cldm.cldm.ControlLDM\n", true, "shuffle"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct told told = {0};
    const struct log log = {remember, &told};
    struct control_network *network;
    struct error err;
    char *path = fixture_path(scratch, cases[i].name);
    write_file(cases[i].name, ORIGINAL("", "768"));
    if (cases[i].config)
      fixture_text(scratch, cases[i].config, cases[i].text);
    if (control_network_open(&network, path, "control_1", &log, &err))
      fail_msg("%s", err.message);
    assert_int_equal(network->controlnet.pooled, cases[i].pooled);
    if (cases[i].says ? !strstr(told.line, cases[i].says) : *told.line)
      fail_msg("%s says: %s", cases[i].name, told.line);
    control_network_close(&network);
    free(path);
  }
}

/* A file with a whole model and a control network under a prefix (control_sd15_*): only tensors with the prefix are the
 * network's. */
static void test_whole_model_beside(void **state) {
  (void)state;
  write_file("old.safetensors",
             ORIGINAL("control_model.", "1024") "model.diffusion_model.input_blocks.0.0.weight 64,4,3,3\n"
                                                "first_stage_model.decoder.conv_in.weight 8,4,3,3\n");
  struct control_network *network = open_good("old.safetensors");
  assert_string_equal(control_network_family(network), "SD 2");
  assert_true(network->controlnet.body.heads[0] == 1 && network->controlnet.body.heads[1] == 2);
  for (size_t i = 0; i < safetensors_count(network->weights.files); i++)
    assert_int_equal(strncmp(safetensors_at(network->weights.files, i)->key, "control_model.", 14), 0);
  control_network_close(&network);
}

/* Files in diffusers' layout without a config. SDXL's transformer depths follow from the tensors' names; a network
 * without attention is the variant "mid". */
#define DIFFUSERS(LEVEL1)                                                                                              \
  "conv_in.weight 64,4,3,3\ntime_embedding.linear_1.weight 256,64\nadd_embedding.linear_1.weight 256,2816\n"           \
  "down_blocks.0.resnets.0.conv1.weight 64,64,3,3\ndown_blocks.1.resnets.0.conv1.weight 128,64,3,3\n" LEVEL1           \
  "mid_block.resnets.0.conv1.weight 128,128,3,3\nmid_block.attentions.0.norm.weight 128\n"                             \
  "mid_block.attentions.0.transformer_blocks.0.norm1.weight 128\n"                                                     \
  "mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight 128,2048\n"                                           \
  "controlnet_cond_embedding.conv_in.weight 16,3,3,3\ncontrolnet_cond_embedding.blocks.1.weight 32,16,3,3\n"

/* For a folder whose config does not say it, pooling is also read from the name. */
static void test_pooling_of_folder(void **state) {
  (void)state;
  static const struct {
    const char *name, *field;
    bool pooled, says;
  } cases[] = {
      {"sd-controlnet-Shuffle", "", true, true},
      {"shuffle-no", ", \"global_pool_conditions\": false", false, false},
      {"shuffle-yes", ", \"global_pool_conditions\": true", true, false},
      {"canny", "", false, false},
  };
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    bool file = i & 1; /* false: the folder is opened; true: the file in it, which has the config beside it */
    char name[96], config[128], *folder = fixture_path(scratch, cases[i / 2].name);
    char *path = fixture_path(folder, "diffusion_pytorch_model.safetensors");
    snprintf(config, sizeof config, "{\"_class_name\": \"ControlNetModel\"%s}", cases[i / 2].field);
    if (!file) {
      assert_int_equal(mkdir(folder, 0700), 0);
      fixture_text(folder, "config.json", config);
      snprintf(name, sizeof name, "%s/diffusion_pytorch_model.safetensors", cases[i / 2].name);
      write_file(name, DIFFUSERS(""));
    }
    struct told told = {0};
    const struct log log = {remember, &told};
    struct control_network *network;
    struct error err;
    if (control_network_open(&network, file ? path : folder, "control_1", &log, &err))
      fail_msg("%s", err.message);
    assert_int_equal(network->controlnet.pooled, cases[i / 2].pooled);
    assert_int_equal(strstr(told.line, "has no global_pool_conditions; its name says shuffle") != NULL,
                     cases[i / 2].says);
    control_network_close(&network);
    free(path);
    free(folder);
  }
}

static void test_xl_depths(void **state) {
  (void)state;
  static const struct {
    const char *lines;
    bool attention;
    int depth;
  } variants[] = {
      {DIFFUSERS("down_blocks.1.attentions.0.norm.weight 128\n"
                 "down_blocks.1.attentions.0.transformer_blocks.0.norm1.weight 128\n"
                 "down_blocks.1.attentions.0.transformer_blocks.1.norm1.weight 128\n"),
       true, 2},
      {DIFFUSERS("down_blocks.1.attentions.0.norm.weight 128\n"), true, 0},
      {DIFFUSERS(""), false, 0},
  };
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    write_file("xl.safetensors", variants[i].lines);
    struct control_network *network = open_good("xl.safetensors");
    const struct unet_config *body = &network->controlnet.body;
    assert_string_equal(control_network_family(network), "SDXL");
    assert_int_equal(body->down_attention[1], variants[i].attention);
    assert_int_equal(body->down_depth[1][0], variants[i].depth);
    assert_true(!body->down_attention[0] && body->mid_attention && body->mid_depth == 1 && body->heads[1] == 2);
    assert_true(body->added_size_dim == 256 && body->added_text_dim == 1280);
    control_network_close(&network);
  }
}

#define T2I(IN)                                                                                                        \
  "conv_in.weight 8," IN ",3,3\nbody.0.block1.weight 8,8,3,3\nbody.1.block2.weight 8,8,1,1\n"                          \
  "body.2.block1.weight 16,16,3,3\nbody.2.in_conv.weight 16,8,1,1\n"

static void test_t2i(void **state) {
  (void)state;
  static const struct {
    const char *lines, *family;
    int in, patch;
  } kinds[] = {{T2I("192"), "SD 1 or SD 2", 3, 8}, {T2I("64"), "SD 1 or SD 2", 1, 8}, {T2I("768"), "SDXL", 3, 16}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    write_file("t2i.safetensors", kinds[i].lines);
    struct control_network *network = open_good("t2i.safetensors");
    assert_int_equal(network->type, CONTROL_T2I);
    assert_string_equal(control_network_family(network), kinds[i].family);
    assert_true(network->t2i.in_channels == kinds[i].in && network->t2i.patch == kinds[i].patch);
    assert_true(network->t2i.levels == 2 && network->t2i.channels[1] == 16);
    assert_true(checkpoint_has(&network->weights, "adapter.body.1.in_conv.weight"));
    assert_true(checkpoint_has(&network->weights, "adapter.body.0.resnets.1.block2.weight"));
    control_network_close(&network);
  }
}

/* Writes the lines with a prefix in front of each name. */
static void write_wrapped(const char *name, const char *wrapper, const char *lines) {
  char *text = calloc(2, strlen(lines) + 64 * strlen(wrapper)), *to = text;
  assert_non_null(text);
  for (const char *at = lines; *at; at = strchr(at, '\n') + 1)
    to += sprintf(to, "%s%.*s", wrapper, (int)(strchr(at, '\n') + 1 - at), at);
  write_file(name, text);
  free(text);
}

/* Trainers and packing tools put a prefix before all names, in each layout. */
static void test_wrapped(void **state) {
  (void)state;
  static const struct {
    const char *lines, *family, *name;
  } files[] = {{ORIGINAL("", "768"), "SD 1", "controlnet_cond_embedding.conv_in.weight"},
               {DIFFUSERS(""), "SDXL", "controlnet_cond_embedding.conv_in.weight"},
               {T2I("64"), "SD 1 or SD 2", "adapter.body.1.in_conv.weight"}};
  static const char *const wrappers[] = {"module.", "controlnet.", "_orig_mod.module.", "model.control_model."};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (size_t j = 0; j < sizeof wrappers / sizeof *wrappers; j++) {
      write_wrapped("wrapped.safetensors", wrappers[j], files[i].lines);
      struct control_network *network = open_good("wrapped.safetensors");
      assert_string_equal(control_network_family(network), files[i].family);
      assert_true(checkpoint_has(&network->weights, files[i].name));
      control_network_close(&network);
    }
}

/* --- refusals --- */

static void test_other_files(void **state) {
  (void)state;
  static const struct {
    const char *lines, *says;
  } files[] = {
      {"difference 1\n" ORIGINAL("control_model.", "768"), "difference from a model"},
      {"lora_controlnet 1\n" ORIGINAL("", "768"), "control-LoRA"},
      {"lllite_unet_input_blocks_4_1.down.0.weight 4,4\n", "LLLite"},
      {"task_embedding 8,64\n" DIFFUSERS(""), "Union"},
      {"control_to_base_for_conv_in.weight 4,4\n" DIFFUSERS(""), "ControlNet-XS"},
      {"body.0.out_conv.weight 8,2,1,1\nbody.0.in_conv.weight 2,192,1,1\n", "light_adapter"},
      {"lora_unet_mid_block_x.lora_down.weight 2,2\n", "is a LoRA"},
      {"model.diffusion_model.input_blocks.0.0.weight 320,4,3,3\nfirst_stage_model.x 1\n", "is a whole model"},
      {"something 2\n", "no kind that is known"},
      {"zero_convs.0.0.weight 64,64,1,1\n", "is no whole ControlNet"},
      {"input_hint_block.0.weight 16,3,3,3\ninput_blocks.0.0.weight 60,4,3,3\ntime_embed.0.weight 4,4\n"
       "input_blocks.1.0.in_layers.0.weight 60\ninput_blocks.1.0.in_layers.2.weight 60,60,3,3\n"
       "middle_block.0.in_layers.2.weight 60,60,3,3\n",
       "other widths"},
      {"conv_in.weight 8,100,3,3\nbody.0.block1.weight 8,8,3,3\n", "is no whole T2I-Adapter"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    write_file("other.safetensors", files[i].lines);
    check_refused("other.safetensors", files[i].says);
  }
}

#define NET "\"_class_name\": \"ControlNetModel\""
#define ADAPTER "\"_class_name\": \"T2IAdapter\""

static void test_configs(void **state) {
  (void)state;
  static const struct {
    const char *config, *says;
  } configs[] = {
      {"{\"_class_name\": \"ControlNetUnionModel\"}", "ControlNetUnionModel"},
      {"{" NET ", \"controlnet_conditioning_channel_order\": \"bgr\"}", "bgr"},
      {"{" NET ", \"conditioning_channels\": 1}", "conditioning_channels"},
      {"{" NET ", \"mid_block_type\": null}", "mid_block_type"},
      {"{" NET ", \"conditioning_embedding_out_channels\": []}", "conditioning_embedding_out_channels"},
      {"{" NET ", \"conditioning_embedding_out_channels\": [16, -1]}", "conditioning_embedding_out_channels"},
      {"{" NET ", \"transformer_layers_per_block\": [1, 2]}", "transformer_layers_per_block"},
      {"{" NET ", \"block_out_channels\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "block_out_channels"},
      {"{" NET ", \"something_new\": 1}", "something_new"},
      {"{" ADAPTER ", \"adapter_type\": \"light_adapter\"}", "light_adapter"},
      {"{" ADAPTER ", \"channels\": 5000000}", "channels"},
      {"{" ADAPTER ", \"channels\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "channels"},
      {"{" ADAPTER ", \"in_channels\": 2}", "in_channels"},
      {"{" ADAPTER ", \"downscale_factor\": 0}", "downscale_factor"},
      {"{" ADAPTER ", \"something_new\": 1}", "something_new"},
      {"[", "config.json"},
      {"{" NET "}", "diffusion_pytorch_model"},
  };
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    fixture_text(scratch, "folder/config.json", configs[i].config);
    check_refused("folder", configs[i].says);
  }
  check_refused("none", "config.json");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_original_layout),   cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_pooling_of_folder), cmocka_unit_test(test_whole_model_beside),
      cmocka_unit_test(test_xl_depths),         cmocka_unit_test(test_t2i),
      cmocka_unit_test(test_wrapped),           cmocka_unit_test(test_other_files),
      cmocka_unit_test(test_configs),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
