#include "unet/adapter/keys.h"

#include <string.h>

static const struct ending {
  const char *text;
  enum piece piece;
  enum family family;
  bool processor;
} endings[] = {
    {".lora_down.weight", PIECE_DOWN, FAMILY_LORA},
    {".lora_up.weight", PIECE_UP, FAMILY_LORA},
    {".lora_mid.weight", PIECE_MID, FAMILY_LORA},
    {".lora_A.weight", PIECE_DOWN, FAMILY_LORA},
    {".lora_B.weight", PIECE_UP, FAMILY_LORA},
    {".lora_B.bias", PIECE_UP_BIAS, FAMILY_LORA},
    {".lora_A.default.weight", PIECE_DOWN, FAMILY_LORA},
    {".lora_B.default.weight", PIECE_UP, FAMILY_LORA},
    {".lora_B.default.bias", PIECE_UP_BIAS, FAMILY_LORA},
    {".lora.down.weight", PIECE_DOWN, FAMILY_LORA},
    {".lora.up.weight", PIECE_UP, FAMILY_LORA},
    {".lora_linear_layer.down.weight", PIECE_DOWN, FAMILY_LORA},
    {".lora_linear_layer.up.weight", PIECE_UP, FAMILY_LORA},
    {"_lora.down.weight", PIECE_DOWN, FAMILY_LORA, true},
    {"_lora.up.weight", PIECE_UP, FAMILY_LORA, true},
    {".alpha", PIECE_ALPHA, FAMILY_ANY},
    {".dora_scale", PIECE_MAGNITUDE, FAMILY_ANY},
    {".lora_magnitude_vector", PIECE_MAGNITUDE, FAMILY_ANY},
    {".lora_magnitude_vector.weight", PIECE_MAGNITUDE, FAMILY_ANY},
    {".lora_magnitude_vector.default.weight", PIECE_MAGNITUDE, FAMILY_ANY},
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

static const struct beginning {
  const char *text;
  enum part part;
  bool flat;
} beginnings[] = {
    {"lora_unet_", PART_UNET, true},     {"lora_te1_", PART_TEXT, true},
    {"lora_te2_", PART_TEXT_2, true},    {"lora_te_", PART_TEXT, true},
    {"lycoris_", PART_ANY, true},        {"unet.", PART_UNET, false},
    {"text_encoder.", PART_TEXT, false}, {"text_encoder_2.", PART_TEXT_2, false},
};

static const struct {
  const char *text;
  bool first; /* the name begins with it; else it has it anywhere */
  const char *kind;
} refused[] = {
    {"lora_transformer_", true, "an adapter of a transformer (FLUX, SD 3)"},
    {"transformer.", true, "an adapter of a transformer (FLUX, SD 3)"},
    {"lllite_", true, "a ControlNet-LLLite"},
    {"lora_controlnet", false, "a control-LoRA"},
    {"emb_params", false, "a textual inversion"},
    {"string_to_param", false, "a textual inversion"},
    {"bundle_emb.", true, "an adapter with embeddings of its own"},
    {".oft_", false, "OFT"},
    {".boft_", false, "BOFT"},
    {".on_input", false, "IA3"},
    {".ia3_l", false, "IA3"},
    {".a1.weight", false, "GLoRA"},
    {".a2.weight", false, "GLoRA"},
    {".b1.weight", false, "GLoRA"},
    {".b2.weight", false, "GLoRA"},
    {".vera_lambda", false, "VeRA"},
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

static const struct ending *find_ending(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (ends(name, length, endings[i].text))
      return &endings[i];
  return NULL;
}

bool adapter_key_read(const char *name, struct adapter_key *key) {
  size_t length = strlen(name);
  const struct ending *ending = find_ending(name, length);
  if (!ending)
    return false;
  *key = (struct adapter_key){.piece = ending->piece,
                              .family = ending->family,
                              .part = PART_ANY,
                              .processor = ending->processor,
                              .path = name,
                              .length = length - strlen(ending->text),
                              .module = length - strlen(ending->text)};
  static const char peft[] = "base_model.model.";
  if (starts(key->path, peft) && key->length > strlen(peft)) {
    key->path += strlen(peft);
    key->length -= strlen(peft);
  }
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
    size_t size = strlen(beginnings[i].text);
    if (key->length <= size || !starts(key->path, beginnings[i].text))
      continue;
    key->path += size;
    key->length -= size;
    key->part = beginnings[i].part;
    key->flat = beginnings[i].flat;
    break;
  }
  return true;
}
