/* Recognises files of weights by rules about the names of their tensors, and writes the messages about them. */
#include "unet/checkpoint/kind.h"

#include <stdio.h>
#include <string.h>

#include "unet/base/text.h"

/* Returns a tensor's name without the words that programs put before the names of a transformer network's tensors, such
 * as "model.diffusion_model.". */
static const char *skip_prefixes(const char *name) {
  static const char *const prefixes[] = {"model.diffusion_model.", "diffusion_model.", "transformer.", "model.",
                                         "net."};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
      return name + strlen(prefixes[i]);
  return name;
}

/* Returns true if a tensor's name matches the pattern `text`. The pattern's first character says how: '*': the name
 * contains the rest of the pattern; '$': the name ends with the rest; '@': the name without a transformer's prefix
 * matches the rest, which is a pattern again. Without such a character, the name must begin with the pattern. */
static bool has_name(const char *name, const char *text) {
  if (*text == '*')
    return strstr(name, text + 1) != NULL;
  if (*text == '@')
    return has_name(skip_prefixes(name), text + 1);
  return *text == '$' ? text_ends(name, text + 1) : !strncmp(name, text, strlen(text));
}

bool weights_unet_layout(const struct safetensors *files, const char **prefix, bool *original) {
  static const char *const prefixes[] = {
      "",     "unet.",    "model.diffusion_model.", "diffusion_model.", "model.", "module.", "_orig_mod.",
      "net.", "unet_ema."};
  static const char *const first[] = {"conv_in.weight", "input_blocks.0.0.weight"};
  for (size_t i = 0; i < 2 * (sizeof prefixes / sizeof *prefixes); i++) {
    char name[64];
    *prefix = prefixes[i / 2];
    *original = i % 2;
    snprintf(name, sizeof name, "%s%s", *prefix, first[i % 2]);
    if (safetensors_find(files, name))
      return true;
  }
  return false;
}

/* Returns true if the file has a tensor whose name matches the pattern, as in has_name. Two more patterns are known:
 * '=': a tensor has exactly the name that follows; '%': the file has a U-Net in any key layout. */
static bool matches(const struct safetensors *files, const char *text) {
  const char *prefix;
  bool original;
  if (*text == '=')
    return safetensors_find(files, text + 1) != NULL;
  if (*text == '%')
    return weights_unet_layout(files, &prefix, &original);
  for (size_t i = 0; i < safetensors_count(files); i++)
    if (has_name(safetensors_at(files, i)->name, text))
      return true;
  return false;
}

/* The kinds of files, each with patterns for names of tensors. The first rule that matches counts, so special kinds
 * come before more general ones with similar names. */
static const struct rule {
  enum weights_kind kind;
  const char *names[10]; /* patterns for names of tensors; one of them must match a tensor of the file */
} rules[] = {
    {WEIGHTS_CONTROL_DIFFERENCE, {"=difference"}},
    {WEIGHTS_CONTROL_LORA, {"=lora_controlnet"}},
    {WEIGHTS_CONTROL_LLLITE, {"lllite_"}},
    {WEIGHTS_CONTROL_UNION, {"control_add_embedding.", "=task_embedding"}},
    {WEIGHTS_CONTROL_XS, {"control_to_base_for_conv_in."}},
    {WEIGHTS_CONTROL_TRANSFORMER, {"*controlnet_blocks.", "controlnet_x_embedder.", "pos_embed_input."}},
    {WEIGHTS_CONTROLNET, {"control_model.", "*controlnet_cond_embedding.", "*input_hint_block.", "*zero_convs."}},
    {WEIGHTS_ADAPTER_LIGHT, {"=adapter.body.0.out_conv.weight", "=body.0.out_conv.weight"}},
    {WEIGHTS_ADAPTER, {"adapter.body.", "*.adapter.body.", "=body.0.block1.weight", "$.body.0.block1.weight"}},
    {WEIGHTS_DEPTH, {"neck.fusion_stage."}},
    {WEIGHTS_DEPTH_AUTHORS, {"depth_head.scratch."}},
    {WEIGHTS_MODEL, {"=model.diffusion_model.input_blocks.0.0.weight"}},
    {WEIGHTS_MOTION, {"*motion_modules."}},
    {WEIGHTS_PHOTOMAKER, {"id_encoder.", "photomaker.", "lora_weights.unet."}},
    {WEIGHTS_IDENTITY, {"pulid_encoder.", "pulid_ca.", "id_adapter.", "id_adapter_attn_layers."}},
    {WEIGHTS_STYLE_MODEL, {"redux_up.", "=style_embedding"}},
    {WEIGHTS_GLIGEN, {"*position_net.", "*.fuser.linear."}},
    {WEIGHTS_CASCADE, {"clip_txt_mapper.", "clip_txt_pooled_mapper.", "effnet_mapper."}},
    {WEIGHTS_UNET, {"%"}},
    /* IP-Adapters come before LoRAs, because those of the kind FaceID contain a LoRA as well */
    {WEIGHTS_IP_ADAPTER, {"ip_adapter.", "image_proj.", "perceiver_resampler."}},
    {WEIGHTS_LORA,
     {"lora_unet_", "lora_te", "lycoris_", "lora_transformer_", "*.lora_A.", "*.lora_down.", "*_lora.down.",
      "*.lora.down.", "*.lora_linear_layer.", "*.hada_w1_a"}},
    {WEIGHTS_LORA,
     {"*.processor.proj_lora", "*.processor.qkv_lora", "*.lokr_w", "*.oft_blocks", "*.oft_diag", "*.dora_scale",
      "*.ia3_l", "*.glora_"}},
    {WEIGHTS_LORA,
     {"*.oft_", "*.boft_", "*.vera_lambda", "*.lora_E", "*.hra_u", "*.randlora_", "*.vblora_", "*.fourierft_",
      "*.bone_", "*.road_"}},
    {WEIGHTS_LORA, {"$.lora_A", "$.lora_B", "$.diff", "$.diff_b", "$.w_norm", "$.b_norm", "$.on_input"}},
    {WEIGHTS_CHROMA, {"@distilled_guidance_layer."}},
    {WEIGHTS_QWEN, {"@transformer_blocks.0.img_mod.", "@transformer_blocks.0.img_mlp."}},
    {WEIGHTS_HUNYUAN,
     {"@double_blocks.0.img_mlp.fc1.", "@double_blocks.0.img_mod.linear.", "@txt_in.individual_token_refiner.",
      "@context_embedder.token_refiner."}},
    {WEIGHTS_AURAFLOW, {"@double_layers.", "@joint_transformer_blocks."}},
    {WEIGHTS_FLUX, {"@double_blocks.", "@single_transformer_blocks."}},
    {WEIGHTS_SD3, {"@joint_blocks.", "@transformer_blocks.0.ff_context."}},
    {WEIGHTS_WAN, {"@blocks.0.self_attn.", "@blocks.0.cross_attn.", "@blocks.0.ffn.", "@vace_blocks."}},
    {WEIGHTS_LTX, {"@patchify_proj."}},
    {WEIGHTS_LUMINA, {"@cap_embedder.", "@noise_refiner.", "@context_refiner.", "@layers.0.attention."}},
    {WEIGHTS_TRANSFORMER, {"@transformer_blocks.", "@single_blocks.", "model.diffusion_model.layers.", "@blocks.0."}},
    {WEIGHTS_LANGUAGE, {"@layers.0.self_attn."}},
    {WEIGHTS_T5, {"encoder.block.0.layer.0.", "text_encoders.t5xxl.", "t5xxl."}},
    {WEIGHTS_FACE, {"stylegan_decoder.", "*final_body_down.", "fuse_convs_dict.", "=position_emb"}},
    {WEIGHTS_UPSCALER,
     {"*.rdb1.conv1.", "*.RDB1.conv1.", "*residual_group.blocks.", "=upconv1.weight", "=conv_after_body.weight",
      "=upsampler.0.weight", "=model.1.sub.0.weight", "conv_1.sk."}},
    {WEIGHTS_SEGMENTER, {"image_encoder.patch_embed.", "mask_decoder.", "image_encoder.trunk."}},
    {WEIGHTS_VAE,
     {"first_stage_model.", "=encoder.conv_in.weight", "=decoder.conv_in.weight", "=vae.encoder.conv_in.weight",
      "=vae.decoder.conv_in.weight"}},
    {WEIGHTS_TINY,
     {"=encoder.layers.0.weight", "=decoder.layers.0.weight", "=encoder.0.weight", "=decoder.1.weight", "=0.weight",
      "=1.weight"}},
    {WEIGHTS_UPSCALER, {"=body.0.weight"}}, /* small upscaling networks, whose layers are a numbered list */
    {WEIGHTS_TEXT_ENCODER,
     {"text_model.embeddings.", "embeddings.token_embedding.", "=token_embedding.weight", "cond_stage_model.",
      "conditioner.embedders."}},
    {WEIGHTS_IMAGE_ENCODER, {"=vision_model.embeddings.class_embedding", "=embeddings.class_embedding"}},
    {WEIGHTS_EMBEDDING,
     {"=emb_params", "*string_to_param", "=clip_g", "=clip_l", "=clip_h", "=t5", "=text_encoders_0", "=text_encoders_1",
      "<", "bundle_emb."}},
};

/* Returns true if a file that has a U-Net in the original layout has no other part of a model. */
static bool is_unet_alone(const struct safetensors *files) {
  static const char *const others[] = {"cond_stage_model.", "conditioner.", "first_stage_model.", "vae."};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (matches(files, others[i]))
      return false;
  return true;
}

/* Returns true if the file has nothing but a few rows with the width of a text encoder: the vectors of a learned word,
 * under the word's name. */
static bool is_embedding(const struct safetensors *files) {
  size_t count = safetensors_count(files);
  for (size_t i = 0; i < count; i++) {
    const struct safetensor *t = safetensors_at(files, i);
    int64_t width = t->rank == 1 || t->rank == 2 ? t->shape[t->rank - 1] : 0;
    if ((width != 768 && width != 1024 && width != 1280) || (t->rank == 2 && t->shape[0] > 128))
      return false;
  }
  return count > 0 && count <= 2;
}

enum weights_kind weights_kind(const struct safetensors *files) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    for (const char *const *name = rules[i].names; name < rules[i].names + 10 && *name; name++)
      if (matches(files, *name))
        return rules[i].kind == WEIGHTS_MODEL && is_unet_alone(files) ? WEIGHTS_UNET : rules[i].kind;
  return is_embedding(files) ? WEIGHTS_EMBEDDING : WEIGHTS_UNKNOWN;
}

int weights_refuse_quantised(const struct safetensors *files, struct error *err) {
  static const char *const endings[] = {".scale_weight", ".scale_input",  ".weight_scale", ".input_scale",
                                        ".comfy_quant",  ".quant_map",    ".absmax",       ".quant_state",
                                        ".qweight",      ".weight_scale2"};
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    bool quantised = !strcmp(t->name, "scaled_fp8") || !strncmp(t->type, "F8_", 3) || !strncmp(t->type, "F4", 2);
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
      quantised |= text_ends(t->name, endings[k]);
    if (quantised)
      return error_set(err, STATUS_MODEL,
                       "%s: its weights are quantised, as its tensor %s of type %s shows, which is not supported; take "
                       "the same model in FP16 or BF16",
                       t->file->path, text_quote(t->name).text, text_quote(t->type).text);
  }
  return 0;
}

#define SUPPORTED "models with a U-Net are supported: SD 1, SD 2, SDXL"

static const struct description {
  const char *name, *instead;
} descriptions[] = {
    [WEIGHTS_UNKNOWN] = {"a file of no kind that is known here", "a diffusers folder or a single-file checkpoint of "
                                                                 "SD 1, SD 2 or SDXL is what --model takes"},
    [WEIGHTS_MODEL] = {"a whole model", "give it with --model"},
    [WEIGHTS_UNET] = {"a U-Net alone", "give it with --unet beside the --model whose other parts it is to have"},
    [WEIGHTS_VAE] = {"an autoencoder (VAE) alone", "give it with --vae beside a --model"},
    [WEIGHTS_TINY] = {"a tiny autoencoder alone", "give it with --vae beside a --model"},
    [WEIGHTS_TEXT_ENCODER] = {"a text encoder alone", "it is a part of a model's folder or file"},
    [WEIGHTS_LORA] = {"a LoRA or one of its kin", "it changes a model: give it with --lora beside the --model"},
    [WEIGHTS_CONTROLNET] = {"a ControlNet", "give it with --control KIND:FILE beside the --model"},
    [WEIGHTS_CONTROL_DIFFERENCE] = {"a ControlNet as its difference from a model", "whole ControlNets are supported"},
    [WEIGHTS_CONTROL_LORA] = {"a control-LoRA", "whole ControlNets are supported"},
    [WEIGHTS_CONTROL_LLLITE] = {"a ControlNet-LLLite", "plain ControlNets are supported"},
    [WEIGHTS_CONTROL_UNION] = {"a ControlNet Union", "ControlNets for one kind of maps are supported"},
    [WEIGHTS_CONTROL_TRANSFORMER] = {"a ControlNet of FLUX, SD 3 or another transformer",
                                     "those of SD 1, SD 2 and SDXL are supported"},
    [WEIGHTS_CONTROL_XS] = {"a ControlNet-XS", "plain ControlNets are supported"},
    [WEIGHTS_ADAPTER] = {"a T2I-Adapter", "give it with --control KIND:FILE beside the --model"},
    [WEIGHTS_ADAPTER_LIGHT] = {"a light T2I-Adapter (light_adapter)", "full T2I-Adapters are supported"},
    [WEIGHTS_DEPTH] = {"a depth model", "give its folder with --depth-model beside --control depth"},
    [WEIGHTS_DEPTH_AUTHORS] = {"a depth model in its authors' key layout",
                               "take it in transformers' layout: depth-anything/Depth-Anything-V2-Small-hf"},
    [WEIGHTS_IP_ADAPTER] = {"an IP-Adapter",
                            "it reads the style of pictures: give it with --ip-adapter beside the --model"},
    [WEIGHTS_IMAGE_ENCODER] = {"an image encoder of CLIP", "give its folder with --image-encoder beside --ip-adapter"},
    [WEIGHTS_EMBEDDING] = {"an embedding (textual inversion, pivotal tuning)", "embeddings are not supported"},
    [WEIGHTS_MOTION] = {"a motion module", "video networks are not supported"},
    [WEIGHTS_UPSCALER] = {"an upscaler (ESRGAN, SwinIR and their like)", "upscalers are not supported"},
    [WEIGHTS_FACE] = {"a restorer of faces (GFPGAN, CodeFormer)", "networks after the picture are not supported"},
    [WEIGHTS_PHOTOMAKER] = {"PhotoMaker", "IP-Adapters are supported: --ip-adapter with --style"},
    [WEIGHTS_IDENTITY] = {"an adapter for faces (PuLID, InstantID)",
                          "IP-Adapters are supported: --ip-adapter with --style"},
    [WEIGHTS_STYLE_MODEL] = {"a style model (Redux, or the style adapter of T2I)",
                             "IP-Adapters are supported: --ip-adapter with --style"},
    [WEIGHTS_GLIGEN] = {"GLIGEN, which takes boxes", "ControlNets and T2I-Adapters are supported: --control"},
    [WEIGHTS_SEGMENTER] = {"Segment Anything", "--mask takes a picture or a video"},
    [WEIGHTS_CASCADE] = {"Stable Cascade or Wuerstchen", SUPPORTED},
    [WEIGHTS_FLUX] = {"FLUX", SUPPORTED},
    [WEIGHTS_SD3] = {"SD 3", SUPPORTED},
    [WEIGHTS_WAN] = {"Wan, or another video transformer", SUPPORTED},
    [WEIGHTS_QWEN] = {"Qwen-Image", SUPPORTED},
    [WEIGHTS_LTX] = {"LTX-Video", SUPPORTED},
    [WEIGHTS_HUNYUAN] = {"HunyuanVideo or HunyuanImage", SUPPORTED},
    [WEIGHTS_CHROMA] = {"Chroma", SUPPORTED},
    [WEIGHTS_AURAFLOW] = {"AuraFlow", SUPPORTED},
    [WEIGHTS_LUMINA] = {"Lumina, Z-Image, or another transformer of equal layers", SUPPORTED},
    [WEIGHTS_TRANSFORMER] = {"a transformer network (PixArt, Sana, CogVideoX and their like)", SUPPORTED},
    [WEIGHTS_LANGUAGE] = {"a language model, as other families have it for a text encoder", SUPPORTED},
    [WEIGHTS_T5] = {"T5, a text encoder of FLUX, SD 3 and PixArt", SUPPORTED},
};

const char *weights_kind_name(enum weights_kind kind) {
  return descriptions[kind].name;
}

const char *weights_kind_use(enum weights_kind kind) {
  return descriptions[kind].instead;
}

int weights_kind_refuse(enum weights_kind kind, const char *path, enum weights_kind wanted, struct error *err) {
  static const struct {
    const char *name, *takes;
  } places[] = {
      [WEIGHTS_MODEL] = {"a whole model", "--model takes a diffusers folder, or one file of SD 1, SD 2 or SDXL"},
      [WEIGHTS_UNET] = {"a U-Net", "--unet takes one of diffusers, or in the original key layout"},
      [WEIGHTS_VAE] = {"an autoencoder", "--vae takes an AutoencoderKL or a tiny one, a file or a diffusers folder"},
      [WEIGHTS_LORA] = {"a LoRA", "--lora takes LoRA, LoCon, LoHa, LoKr and DoRA"},
      [WEIGHTS_CONTROLNET] = {"a plain ControlNet or T2I-Adapter",
                              "--control takes a ControlNet or a T2I-Adapter, a diffusers folder or one file"},
      [WEIGHTS_IP_ADAPTER] = {"an IP-Adapter", "--ip-adapter takes those of SD 1.5 and SDXL"},
      [WEIGHTS_DEPTH] = {"the folder of a depth model",
                         "what is taken is Depth Anything V2 in transformers' layout, with its config.json"},
  };
  return error_set(err, STATUS_MODEL, "%s: is %s, not %s; %s", path, descriptions[kind].name, places[wanted].name,
                   kind == WEIGHTS_UNKNOWN ? places[wanted].takes : descriptions[kind].instead);
}
