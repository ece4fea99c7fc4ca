/* Reads the names of an adapter's tensors: first their end, which tells what the tensor is, then the words before the
 * module's path. */
#include "unet/adapter/tensor_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The endings of tensors' names, each with the role that such a tensor has in its module. PEFT may add the name of an
 * adapter, and ".weight", after the ending. */
static const struct ending {
  const char *text;
  enum piece piece;
  enum family family;
} endings[] = {
    {".lora_down", PIECE_DOWN, FAMILY_LORA},
    {".lora_up", PIECE_UP, FAMILY_LORA},
    {".lora_mid", PIECE_MID, FAMILY_LORA},
    {".lora_A", PIECE_DOWN, FAMILY_LORA},
    {".lora_B", PIECE_UP, FAMILY_LORA},
    {".lora.down", PIECE_DOWN, FAMILY_LORA},
    {".lora.up", PIECE_UP, FAMILY_LORA},
    {".lora_linear_layer.down", PIECE_DOWN, FAMILY_LORA},
    {".lora_linear_layer.up", PIECE_UP, FAMILY_LORA},
    {"_lora.down", PIECE_DOWN, FAMILY_LORA},
    {"_lora.up", PIECE_UP, FAMILY_LORA},
    {".alpha", PIECE_ALPHA, FAMILY_ANY},
    {".lora_alpha", PIECE_ALPHA, FAMILY_ANY},
    {".dora_scale", PIECE_MAGNITUDE, FAMILY_ANY},
    {".lora_magnitude_vector", PIECE_MAGNITUDE, FAMILY_ANY},
    {".magnitude", PIECE_MAGNITUDE, FAMILY_ANY},
    {".hada_w1_a", PIECE_W1_A, FAMILY_LOHA},
    {".hada_w1_b", PIECE_W1_B, FAMILY_LOHA},
    {".hada_w2_a", PIECE_W2_A, FAMILY_LOHA},
    {".hada_w2_b", PIECE_W2_B, FAMILY_LOHA},
    {".hada_t1", PIECE_T1, FAMILY_LOHA},
    {".hada_t2", PIECE_T2, FAMILY_LOHA},
    {".lokr_w1", PIECE_W1, FAMILY_LOKR},
    {".lokr_w1_a", PIECE_W1_A, FAMILY_LOKR},
    {".lokr_w1_b", PIECE_W1_B, FAMILY_LOKR},
    {".lokr_w2", PIECE_W2, FAMILY_LOKR},
    {".lokr_w2_a", PIECE_W2_A, FAMILY_LOKR},
    {".lokr_w2_b", PIECE_W2_B, FAMILY_LOKR},
    {".lokr_t2", PIECE_T2, FAMILY_LOKR},
    {".diff", PIECE_DIFF, FAMILY_FULL},
    {".diff_b", PIECE_DIFF_BIAS, FAMILY_FULL},
    {".w_norm", PIECE_DIFF, FAMILY_FULL},
    {".b_norm", PIECE_DIFF_BIAS, FAMILY_FULL},
};

/* Words that may come before a module's path, in any order, number and case. A dot counts as an underscore, and several
 * underscores count as one. PART_ANY: the word does not tell the part of the model. */
static const struct beginning {
  const char *text;
  enum part part;
} beginnings[] = {
    {"lora_", PART_ANY},
    {"lycoris_", PART_ANY},
    {"module_", PART_ANY},    /* torch.nn.DataParallel puts this word before names */
    {"_orig_mod_", PART_ANY}, /* torch.compile puts this word before names */
    {"net_", PART_ANY},
    {"pipe_", PART_ANY},
    {"pipeline_", PART_ANY},
    {"base_model_model_", PART_ANY},
    {"model_", PART_ANY},
    {"transformer_", PART_ANY},
    {"text_encoders_0_", PART_TEXT},
    {"text_encoders_1_", PART_TEXT_2},
    {"text_encoders_", PART_ANY},
    {"text_encoder_3_", PART_ANY}, /* the text encoder T5, which no supported model has */
    {"te3_", PART_ANY},
    {"te_3_", PART_ANY},
    {"t5xxl_", PART_ANY},
    {"unet_", PART_UNET},
    {"diffusion_model_", PART_UNET},
    {"te_1_", PART_TEXT},
    {"te_2_", PART_TEXT_2},
    {"te_", PART_TEXT},
    {"te1_", PART_TEXT},
    {"te2_", PART_TEXT_2},
    {"text_encoder_1_", PART_TEXT},
    {"text_encoder_l_", PART_TEXT},
    {"text_encoder1_", PART_TEXT},
    {"text_encoder_2_", PART_TEXT_2},
    {"text_encoder_g_", PART_TEXT_2},
    {"text_encoder2_", PART_TEXT_2},
    {"text_encoder_", PART_TEXT},
    {"clip_l_", PART_TEXT},
    {"clip_h_", PART_TEXT},
    {"clip_g_", PART_TEXT_2},
    {"cond_stage_model_", PART_TEXT},
    {"conditioner_embedders_0_", PART_TEXT},
    {"conditioner_embedders_1_", PART_TEXT_2},
};

static const struct {
  const char *text;
  bool first; /* true: the name must begin with the text; false: the text may be anywhere in the name */
  const char *kind;
} refused[] = {
    {"lllite_", true, "a ControlNet-LLLite"},
    {"lora_controlnet", false, "a control-LoRA"},
    {".processor.proj_lora", false, "a LoRA of FLUX in XLabs' layout"},
    {".processor.qkv_lora", false, "a LoRA of FLUX in XLabs' layout"},
    {".oft_", false, "OFT"},
    {".boft_", false, "BOFT"},
    {".on_input", false, "IA3"},
    {".ia3_l", false, "IA3"},
    {".a1.weight", false, "GLoRA"},
    {".a2.weight", false, "GLoRA"},
    {".b1.weight", false, "GLoRA"},
    {".b2.weight", false, "GLoRA"},
    {".vera_lambda", false, "VeRA"},
    {".lora_E", false, "AdaLoRA"},
    {".hra_u", false, "HRA"},
    {".randlora_", false, "RandLoRA"},
    {".vblora_", false, "VB-LoRA"},
    {".fourierft_", false, "FourierFT"},
    {".bone_", false, "Bone"},
    {".road_", false, "RoAd"},
    {".lora_embedding_", false, "a LoRA of an embedding table"},
};

static bool starts(const char *name, const char *text) {
  return !strncmp(name, text, strlen(text));
}

static bool ends(const char *name, size_t length, const char *text) {
  size_t size = strlen(text);
  return length > size && !memcmp(name + length - size, text, size);
}

const char *adapter_key_refused(const char *name) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (refused[i].first ? starts(name, refused[i].text) : strstr(name, refused[i].text) != NULL)
      return refused[i].kind;
  return NULL;
}

/* Removes the text from the end of a name, whose length is *length, and returns true. Returns false if the name does
 * not end with the text. */
static bool cut(const char *name, size_t *length, const char *text) {
  if (!ends(name, *length, text))
    return false;
  *length -= strlen(text);
  return true;
}

/* Removes the last part of a dotted name, with the dot. */
static bool cut_part(const char *name, size_t *length) {
  size_t at = *length;
  while (at > 0 && name[at - 1] != '.')
    at--;
  if (at < 2)
    return false;
  *length = at - 1;
  return true;
}

bool adapter_key_is_embedding(const char *name) {
  static const char *const whole[] = {"emb_params", "clip_l",          "clip_g",          "clip_h",         "t5",
                                      "t5xxl",      "text_encoders_0", "text_encoders_1", "text_encoders_2"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (!strcmp(name, whole[i]))
      return true;
  return starts(name, "bundle_emb.") || strstr(name, "string_to_param") || (*name == '<' && name[length - 1] == '>');
}

static const struct ending *find_ending(const char *name, size_t *length) {
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (cut(name, length, endings[i].text))
      return &endings[i];
  return NULL;
}

/* Finds and removes the ending of a tensor's name. PEFT writes the adapter's name after this ending; the caller has cut
 * that off already. Returns NULL if the name has no known ending. */
static const struct ending *find_peft_ending(const char *name, size_t *length) {
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (starts(endings[i].text, ".lora_") && cut(name, length, endings[i].text))
      return &endings[i];
  return NULL;
}

/* Reads the end of a tensor's name, as in "MODULE.lora_A.NAME.weight". It tells which part of MODULE's change the
 * tensor is; that is stored in *key. *length becomes the length of the module's path. */
static bool read_piece(const char *name, size_t *length, struct adapter_key *key) {
  bool bias = cut(name, length, ".bias");
  if (!bias)
    cut(name, length, ".weight");
  const struct ending *ending = find_ending(name, length);
  if (!ending && cut_part(name, length))
    ending = find_ending(name, length);
  /* The adapter's name, which follows the ending, may contain dots, as in ".lora_A.v1.2": look for the ending further
   * to the left. */
  while (!ending && cut_part(name, length))
    ending = find_peft_ending(name, length);
  if (!ending || (bias && ending->piece != PIECE_UP))
    return false;
  key->piece = bias ? PIECE_UP_BIAS : ending->piece;
  key->family = ending->family;
  key->kohya = starts(ending->text, ".lora_down") || starts(ending->text, ".lora_up");
  return true;
}

/* Returns true if the path begins with the text and is longer. Case is ignored, and a dot in the path matches an
 * underscore in the text. */
static bool starts_flat(const char *path, size_t length, const char *text) {
  size_t size = strlen(text);
  if (length <= size)
    return false;
  for (size_t i = 0; i < size; i++)
    if (tolower((unsigned char)path[i]) != text[i] && !(text[i] == '_' && path[i] == '.'))
      return false;
  return true;
}

static const struct beginning *find_beginning(const struct adapter_key *key) {
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (starts_flat(key->path, key->length, beginnings[i].text))
      return &beginnings[i];
  return NULL;
}

/* Removes one of the words in beginnings[] (such as "unet_"), or a repeated underscore, from the beginning of the path.
 * Returns false if the path begins with none. */
static bool cut_beginning(struct adapter_key *key, const char *name) {
  /* nothing is removed from "transformer_blocks", although it begins with the word "transformer_": it is a list of
   * layers, and so belongs to the module's own path */
  const struct beginning *beginning = starts(key->path, "transformer_blocks") ? NULL : find_beginning(key);
  bool fits = beginning && (beginning->part == PART_ANY || key->part == PART_ANY || beginning->part == key->part);
  bool again = !beginning && key->path > name && key->length > 1 && (*key->path == '_' || *key->path == '.');
  size_t size = fits ? strlen(beginning->text) : again;
  key->path += size;
  key->length -= size;
  if (fits && key->part == PART_ANY)
    key->part = beginning->part;
  return size > 0;
}

bool adapter_key_read(const char *name, struct adapter_key *key) {
  size_t length = strlen(name);
  *key = (struct adapter_key){.part = PART_ANY};
  if (!read_piece(name, &length, key))
    return false;
  key->path = name;
  key->length = key->module = length;
  while (cut_beginning(key, name))
    ;
  return true;
}

void adapter_key_flatten(const struct adapter_key *key, char *path, size_t size) {
  /* the word that torch.compile puts into the names of layers that are compiled one by one; it is removed */
  static const char compiled[] = "__orig_mod";
  snprintf(path, size, "%.*s", (int)key->length, key->path);
  for (char *c = path; *c; c++)
    if (*c == '.')
      *c = '_';
  for (char *at = path; (at = strstr(at, compiled));)
    memmove(at, at + strlen(compiled), strlen(at + strlen(compiled)) + 1);
}
