/* Finds out for which family of models an adapter's file was made. The names of blocks and the widths of tensors tell;
 * where several families share these, the file's metadata decides. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "unet/adapter/adapter_impl.h"

enum { NAME_MAX_LENGTH = 512 };

static const char *const names[BASES] = {
    [BASE_SD] = "SD 1 or SD 2",
    [BASE_SD1] = "SD 1.x",
    [BASE_SD2] = "SD 2.x, SD-Turbo",
    [BASE_SDXL] = "SDXL",
    [BASE_MOTION] = "the motion modules of AnimateDiff",
    [BASE_SVD] = "Stable Video Diffusion",
    [BASE_CHROMA] = "Chroma",
    [BASE_QWEN] = "Qwen-Image",
    [BASE_HUNYUAN] = "HunyuanVideo or HunyuanImage",
    [BASE_AURAFLOW] = "AuraFlow",
    [BASE_FLUX] = "FLUX, Chroma, HunyuanVideo, or another transformer of double and single blocks",
    [BASE_WAN] = "Wan, or another video transformer",
    [BASE_HIDREAM] = "HiDream",
    [BASE_CASCADE] = "Stable Cascade",
    [BASE_LUMINA] = "Lumina, Z-Image, or another transformer of equal layers",
    [BASE_MOCHI] = "Mochi, CogVideoX, or another video transformer",
    [BASE_SD3] = "SD 3",
    [BASE_LTX] = "LTX-Video",
    [BASE_TRANSFORMER] = "a transformer (PixArt, Sana, LTX or their like)",
    [BASE_T5] = "T5, the text encoder of FLUX, SD 3 and PixArt",
    [BASE_LANGUAGE] = "a language model, the text encoder of a transformer",
};

const char *base_name(enum adapter_base base) {
  return names[base];
}

/* A text that shows for which family of models a file is, if it occurs in the names of its tensors: at the beginning of
 * a module's path, or anywhere in it. '#' stands for a number. */
static const struct sign {
  const char *text;
  bool anywhere;
  enum adapter_base base;
} signs[] = {
    {"motion_modules_#_", true, BASE_MOTION},
    {"temporal_transformer_blocks_#_", true, BASE_SVD},
    {"distilled_guidance_layer_", false, BASE_CHROMA},
    {"transformer_blocks_#_img_mod", false, BASE_QWEN},
    {"transformer_blocks_#_img_mlp", false, BASE_QWEN},
    {"transformer_blocks_#_txt_mod", false, BASE_QWEN},
    {"transformer_blocks_#_txt_mlp", false, BASE_QWEN},
    {"double_blocks_#_img_mlp_fc", false, BASE_HUNYUAN},
    {"double_blocks_#_txt_mlp_fc", false, BASE_HUNYUAN},
    {"double_blocks_#_img_mod_linear", false, BASE_HUNYUAN},
    {"double_blocks_#_txt_mod_linear", false, BASE_HUNYUAN},
    {"single_blocks_#_modulation_linear", false, BASE_HUNYUAN},
    {"txt_in_individual_token_refiner", false, BASE_HUNYUAN},
    {"context_embedder_token_refiner", false, BASE_HUNYUAN},
    {"joint_transformer_blocks_#_", false, BASE_AURAFLOW},
    {"single_transformer_blocks_#_ff_linear", false, BASE_AURAFLOW},
    {"double_layers_#_", false, BASE_AURAFLOW},
    {"single_layers_#_", false, BASE_AURAFLOW},
    {"double_blocks_#_", false, BASE_FLUX},
    {"single_blocks_#_", false, BASE_FLUX},
    {"single_transformer_blocks_#_", false, BASE_FLUX},
    {"joint_blocks_#_", false, BASE_SD3},
    {"blocks_#_self_attn", false, BASE_WAN},
    {"blocks_#_cross_attn", false, BASE_WAN},
    {"blocks_#_ffn", false, BASE_WAN},
    {"blocks_#_attn1_to_", false, BASE_WAN},
    {"blocks_#_attn2_to_", false, BASE_WAN},
    {"blocks_#_attn2_add_", false, BASE_WAN},
    {"vace_blocks_#_", false, BASE_WAN},
    {"blocks_#_attn_qkv_x", false, BASE_MOCHI},
    {"blocks_#_attn_qkv_y", false, BASE_MOCHI},
    {"blocks_#_attn", false, BASE_TRANSFORMER},
    {"blocks_#_mlp", false, BASE_TRANSFORMER},
    {"double_stream_blocks_#_", false, BASE_HIDREAM},
    {"single_stream_blocks_#_", false, BASE_HIDREAM},
    {"prior_unet_", false, BASE_CASCADE},
    {"layers_#_attention_", false, BASE_LUMINA},
    {"layers_#_attn_", false, BASE_LUMINA},
    {"layers_#_feed_forward", false, BASE_LUMINA},
    {"layers_#_adaLN", false, BASE_LUMINA},
    {"noise_refiner_#_", false, BASE_LUMINA},
    {"context_refiner_#_", false, BASE_LUMINA},
    {"cap_embedder_", false, BASE_LUMINA},
    {"transformer_blocks_#_attn1_add_", false, BASE_MOCHI},
    {"transformer_blocks_#_attn1_to_add_", false, BASE_MOCHI},
    {"transformer_blocks_#_attn_", false, BASE_SD3},
    {"transformer_blocks_#_ff_context", false, BASE_SD3},
    {"transformer_blocks_#_audio_", false, BASE_LTX},
    {"transformer_blocks_#_", false, BASE_TRANSFORMER},
    {"visual_transformer_blocks_#_", false, BASE_TRANSFORMER},
    {"encoder_block_#_layer_#_", true, BASE_T5},
    {"layers_#_self_attn", false, BASE_LANGUAGE},
    {"layers_#_mlp", false, BASE_LANGUAGE},
    /* U-Nets differ in which blocks have attention, and in how many transformer layers each attention has */
    {"down_blocks_0_attentions_", false, BASE_SD},
    {"down_blocks_3_", false, BASE_SD},
    {"up_blocks_3_", false, BASE_SD},
    {"up_blocks_2_attentions_", false, BASE_SD},
    {"input_blocks_1_1_", false, BASE_SD},
    {"input_blocks_2_1_", false, BASE_SD},
    {"output_blocks_9_", false, BASE_SD},
    {"output_blocks_10_", false, BASE_SD},
    {"output_blocks_11_", false, BASE_SD},
    {"up_blocks_0_attentions_", false, BASE_SDXL},
    {"output_blocks_0_1_", false, BASE_SDXL},
    {"output_blocks_1_1_", false, BASE_SDXL},
    {"add_embedding_", false, BASE_SDXL},
    {"label_emb_", false, BASE_SDXL},
    {"attentions_#_transformer_blocks_1_", true, BASE_SDXL},
    {"blocks_#_1_transformer_blocks_1_", true, BASE_SDXL},
    {"middle_block_1_transformer_blocks_1_", false, BASE_SDXL},
};

static const char *skip_number(const char *text) {
  return text + strspn(text, "0123456789");
}

/* Returns true if the text begins with the pattern, in which '#' stands for a number. */
static bool begins(const char *text, const char *pattern) {
  for (; *pattern; pattern++) {
    if (*pattern != '#' && *pattern != *text)
      return false;
    if (*pattern == '#' && skip_number(text) == text)
      return false;
    text = *pattern == '#' ? skip_number(text) : text + 1;
  }
  return true;
}

static bool has_sign(const char *path, const struct sign *sign) {
  if (!sign->anywhere)
    return begins(path, sign->text);
  for (; *path; path++)
    if (begins(path, sign->text))
      return true;
  return false;
}

/* A group of tensors changes a layer. Returns how many inputs the layer has: as many as the group's first factor has
 * columns. 0: unknown. */
static int columns(const struct group *g) {
  const struct safetensor *t = g->piece[g->family == FAMILY_LORA ? PIECE_DOWN : PIECE_W1_B];
  return g->family < FAMILY_LOKR && t && t->rank > 1 && t->shape[1] < 1 << 20 ? (int)t->shape[1] : 0;
}

static enum adapter_base base_of_width(int width) {
  return width == 768 ? BASE_SD1 : width == 1024 ? BASE_SD2 : width == 2048 ? BASE_SDXL : BASE_UNKNOWN;
}

/* Returns the family of a transformer network whose block names occur in several families. The number of a block and
 * the width of its layer tell them apart: FLUX (19 blocks), HunyuanVideo (20), SD 3 (up to 38) and Qwen-Image (60), as
 * well as LTX, Mochi and CogVideoX. */
static enum adapter_base base_of_alike(const char *rest, int block, int width) {
  if (begins(rest, "attn1_to_") || begins(rest, "attn2_to_"))
    return width == 2048 || width == 4096 ? BASE_LTX : width == 3072 || width == 1920 ? BASE_MOCHI : BASE_UNKNOWN;
  if (begins(rest, "attn_") && block >= 40)
    return BASE_QWEN;
  if (!begins(rest, "attn_") || width != 3072)
    return BASE_UNKNOWN;
  return block > 20 ? BASE_QWEN : block > 18 ? BASE_HUNYUAN : BASE_FLUX;
}

/* Returns true if the block's number is too high for FLUX. The file is then for HunyuanVideo, which has one double
 * block and two single blocks more. (FLUX.2 has still more blocks, but is recognised by its widths.) */
static bool is_beyond_flux(const char *path, int width) {
  int block;
  if (width != 3072 && width != 15360)
    return false;
  return (sscanf(path, "double_blocks_%4d_", &block) == 1 && block > 18) ||
         (sscanf(path, "single_blocks_%4d_", &block) == 1 && block > 37) ||
         (sscanf(path, "single_transformer_blocks_%4d_", &block) == 1 && block > 37);
}

static enum adapter_base base_of_blocks(const struct group *g, const char *path) {
  int block, end = 0;
  if (is_beyond_flux(path, columns(g)))
    return BASE_HUNYUAN;
  if (sscanf(path, "transformer_blocks_%4d_%n", &block, &end) != 1 || !end)
    return BASE_UNKNOWN;
  return base_of_alike(path + end, block, columns(g));
}

/* Returns the family by the width of a layer. A layer that computes keys or values from the text has as many inputs as
 * the text encoding has channels; a layer of a text encoder has that encoder's width. */
static enum adapter_base base_by_width(const struct group *g, const char *path) {
  if (begins(path, "blocks_#_"))
    return BASE_UNKNOWN;
  if (strstr(path, "attn2_to_k") || strstr(path, "attn2_to_v"))
    return base_of_width(columns(g));
  if (g->key.part == PART_TEXT && (strstr(path, "mlp_fc1") || strstr(path, "self_attn")) && columns(g) == 1024)
    return BASE_SD2;
  return BASE_UNKNOWN;
}

static enum adapter_base base_by_name(const char *path) {
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (has_sign(path, &signs[i]))
      return signs[i].base;
  return BASE_UNKNOWN;
}

static enum adapter_base base_of_group(const struct group *g) {
  char path[NAME_MAX_LENGTH];
  adapter_key_flatten(&g->key, path, sizeof path);
  enum adapter_base blocks = base_of_blocks(g, path), name = blocks ? blocks : base_by_name(path);
  if (name >= BASE_OTHER)
    return name;
  enum adapter_base width = base_by_width(g, path);
  return width ? width : g->key.part == PART_TEXT_2 ? BASE_SDXL : name;
}

/* Decides between two families of models of which a file shows signs: `before`, found first, and `next`, found later.
 * Returns true if `next` is to be used. A family without a U-Net has priority over one with a U-Net. Of two with a
 * U-Net the more specific one is used; of two without, the first one in the enum. */
static bool says_more(enum adapter_base next, enum adapter_base before) {
  return next < BASE_OTHER ? before < BASE_OTHER && next > before : before < BASE_OTHER || next < before;
}

/* Returns true if the names by which this family was found occur in other families, too. The file's metadata may then
 * decide. */
static bool is_open(enum adapter_base base) {
  return base == BASE_UNKNOWN || base == BASE_FLUX || base == BASE_WAN || base == BASE_LUMINA || base == BASE_MOCHI ||
         base == BASE_TRANSFORMER;
}

enum adapter_base groups_base_by_names(const struct groups *groups) {
  enum adapter_base base = BASE_UNKNOWN;
  for (int i = 0; i < groups->count; i++) {
    enum adapter_base found = base_of_group(&groups->list[i]);
    if (says_more(found, base))
      base = found;
  }
  return base;
}

enum adapter_base groups_base(const struct groups *groups) {
  enum adapter_base base = groups_base_by_names(groups);
  bool other = base == BASE_UNKNOWN || groups->said >= BASE_OTHER;
  return groups->said && is_open(base) && other ? groups->said : base;
}

/* --- the family of models that a file's metadata names --- */

/* Words with which trainers name a family of models in the metadata ss_base_model_version and
 * modelspec.architecture. */
static const struct word {
  const char *text;
  enum adapter_base base;
} said[] = {
    {"animatediff", BASE_MOTION},
    {"chroma", BASE_CHROMA},
    {"qwen", BASE_QWEN},
    {"hunyuan", BASE_HUNYUAN},
    {"framepack", BASE_HUNYUAN},
    {"auraflow", BASE_AURAFLOW},
    {"aura-flow", BASE_AURAFLOW},
    {"lumina", BASE_LUMINA},
    {"z-image", BASE_LUMINA},
    {"zimage", BASE_LUMINA},
    {"ltx", BASE_LTX},
    {"mochi", BASE_MOCHI},
    {"cogvideo", BASE_MOCHI},
    {"hidream", BASE_HIDREAM},
    {"pixart", BASE_TRANSFORMER},
    {"sana", BASE_TRANSFORMER},
    {"cascade", BASE_CASCADE},
    {"wan", BASE_WAN},
    {"sd3", BASE_SD3},
    {"stable-diffusion-3", BASE_SD3},
    {"flux", BASE_FLUX},
    {"sdxl", BASE_SDXL},
    {"stable-diffusion-xl", BASE_SDXL},
    {"sd_v2", BASE_SD2},
    {"stable-diffusion-v2", BASE_SD2},
    {"sd_v1", BASE_SD1},
    {"stable-diffusion-v1", BASE_SD1},
};

static bool has_word(const char *text, const char *word) {
  for (; *text; text++)
    if (!strncasecmp(text, word, strlen(word)))
      return true;
  return false;
}

enum adapter_base base_said(const struct safetensors *files) {
  static const char *const fields[] = {"ss_base_model_version", "modelspec.architecture"};
  for (int i = 0; i < 2; i++) {
    const char *value = safetensors_metadata(files, fields[i]);
    for (size_t k = 0; value && k < sizeof said / sizeof *said; k++)
      if (has_word(value, said[k].text))
        return said[k].base;
  }
  return BASE_UNKNOWN;
}

/* --- the family of a model that is open --- */

enum adapter_base base_of_checkpoint(const struct checkpoint *checkpoint) {
  const struct unet_config *unet = &checkpoint->predictors[0].config;
  enum adapter_base width = base_of_width(unet->cross_attention_dim);
  return unet->added_text_dim ? BASE_SDXL : width ? width : BASE_SD;
}

bool base_fits(enum adapter_base base, enum adapter_base own) {
  bool open = base == BASE_SD ? own < BASE_SDXL : own == BASE_SD && base < BASE_SDXL;
  return base == BASE_UNKNOWN || base == own || open;
}
