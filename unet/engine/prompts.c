#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/engine/engine_impl.h"
#include "unet/base/text.h"

/* Versions of the weights that the plans of texts and keys read, as they are now. */
static void look_up_weights(struct engine *engine) {
  if (engine->weights_version == engine->resources.version)
    return;
  engine->text_weights = 0;
  for (int i = 0; i < engine->checkpoint->text_encoder_count; i++) {
    uint64_t version = plan_weights_version(&engine->text_plan[i]);
    engine->text_weights = version > engine->text_weights ? version : engine->text_weights;
  }
  engine->keys_weights = plan_weights_version(&engine->keys_plan);
  engine->weights_version = engine->resources.version;
}

/* The slot's tokens through the text encoders. */
static int encode_slot(struct engine *engine, int slot, int tokens[][TOKENS_MAX], struct error *err) {
  look_up_weights(engine);
  for (int i = 0; i < engine->checkpoint->text_encoder_count; i++) {
    struct run_params run = {.slot = slot, .end = clip_end(&engine->checkpoint->text_encoders[i], tokens[i])};
    memcpy(run.tokens, tokens[i], sizeof run.tokens);
    if (device_start(engine->device, engine->text_program[i], &run, err) < 0)
      return -1;
  }
  engine->slots[slot].version = engine->text_weights;
  engine->slots[slot].serial = ++engine->encodings;
  return 0;
}

/* The text that a slot holds, encoded again where a weight has changed since. */
static int refresh_slot(struct engine *engine, int slot, struct error *err) {
  struct prompt_slot *s = &engine->slots[slot];
  return s->version == engine->text_weights ? 0 : encode_slot(engine, slot, s->tokens, err);
}

enum { USED_MAX = PROMPTS_MAX * GUIDANCE_ROWS_MAX };

/* The slots that the run's rows read, in place; the number of them. */
static int find_used(struct run_params *run, int rows, int *used[USED_MAX]) {
  int count = 0;
  for (int row = 0; row < rows; row++)
    for (int i = 0; i < PROMPTS_MAX && run->prompt[row].weight[i] != 0; i++)
      used[count++] = &run->prompt[row].slot[i];
  return count;
}

/* The text that a slot holds to keys and values. */
static int make_keys(struct engine *engine, int slot, int place, struct error *err) {
  const struct run_params run = {.prompt[0] = {{slot}, {1}}, .slot = place};
  return device_start(engine->device, engine->keys_program, &run, err);
}

/* Finds a place for each slot's keys and values, and computes those that are missing. Runs in flight may still read
 * what is in a place now; the device works in order, so they have read it before it is overwritten. */
static int place_slots(struct engine *engine, const int *slots, int count, int *places, struct error *err) {
  uint64_t serials[USED_MAX] = {0};
  if (engine->keys_version != engine->keys_weights)
    recent_forget_all(&engine->keys);
  engine->keys_version = engine->keys_weights;
  for (int i = 0; i < count; i++)
    serials[i] = engine->slots[slots[i]].serial;
  unsigned come = recent_assign(&engine->keys, serials, count, places);
  for (int i = 0; i < count; i++)
    if (come >> i & 1 && make_keys(engine, slots[i], places[i], err) < 0) {
      recent_forget_all(&engine->keys);
      return -1;
    }
  return 0;
}

int prompts_refresh(struct engine *engine, int rows, struct run_params *run, struct error *err) {
  int *used[USED_MAX], count = find_used(run, rows, used);
  look_up_weights(engine);
  for (int i = 0; i < count; i++)
    if (refresh_slot(engine, *used[i], err) < 0)
      return -1;
  return 0;
}

int prompts_place(struct engine *engine, int rows, struct run_params *run, struct error *err) {
  int *used[USED_MAX], count = find_used(run, rows, used), slots[USED_MAX], places[USED_MAX];
  for (int i = 0; i < count; i++)
    slots[i] = *used[i];
  if (place_slots(engine, slots, count, places, err) < 0)
    return -1;
  for (int i = 0; i < count; i++)
    *used[i] = places[i];
  return 0;
}

/* The text's tokens for each encoder; the most that one of them needs, or -1. */
static int tokenize(const struct engine *engine, const char *text, int tokens[][TOKENS_MAX], struct error *err) {
  int needed = 0;
  for (int i = 0; i < engine->checkpoint->text_encoder_count; i++) {
    const struct text_encoder *encoder = &engine->checkpoint->text_encoders[i];
    int count = tokenizer_encode(encoder->tokenizer, text, tokens[i], encoder->config.positions, err);
    if (count < 0)
      return -1;
    needed = count > needed ? count : needed;
  }
  return needed;
}

int prompts_begin(struct engine *engine, struct error *err) {
  engine->slots[SLOT_EMPTY].empty = true;
  return tokenize(engine, "", engine->slots[SLOT_EMPTY].tokens, err) < 0 ? -1 : 0;
}

int prompts_restore(struct engine *engine, struct error *err) {
  for (int slot = 0; slot < SLOTS; slot++)
    if ((slot == SLOT_EMPTY || engine->slots[slot].filled) &&
        encode_slot(engine, slot, engine->slots[slot].tokens, err) < 0)
      return -1;
  return 0;
}

static int encode_tokens(struct engine *engine, int slot, const char *text, struct error *err) {
  int tokens[TEXT_ENCODERS_MAX][TOKENS_MAX] = {0}, positions = engine->checkpoint->text_encoders[0].config.positions;
  int needed = tokenize(engine, text, tokens, err);
  if (needed < 0)
    return -1;
  if (needed > positions)
    log_line(engine->log, LOG_WARNING, "the prompt is cut: it needs %d tokens, the model reads %d", needed, positions);
  if (encode_slot(engine, slot, tokens, err) < 0)
    return -1;
  memcpy(engine->slots[slot].tokens, tokens, sizeof tokens);
  engine->slots[slot].empty = !*text;
  return 0;
}

/* encoded: the prompt that was encoded in place of text. */
static void name_styles(const struct engine *engine, const char *text, const char *encoded) {
  const struct styles *styles = engine->checkpoint->styles;
  if (!styles_count(styles) || (!strcmp(text, encoded) && styles_match(styles, text)))
    return;
  char names[512] = "";
  size_t used = 0;
  for (int i = 0; i < styles_count(styles) && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", styles_name(styles, i));
  const char *given = styles_default(styles);
  log_line(engine->log, LOG_WARNING, "the prompt \"%s\" names no style that this model knows%s%s: %s",
           text_quote(text).text, given ? " and gives " : "", given ? given : "", names);
}

/* Encodes what the model's list of styles makes of the text. */
static int encode_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  char *encoded = styles_prompt(engine->checkpoint->styles, text);
  if (!encoded)
    return error_set(err, STATUS_FAILED, "out of memory");
  int result = encode_tokens(engine, slot, encoded, err);
  if (result == 0)
    name_styles(engine, text, encoded);
  free(encoded);
  return result;
}

int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  if (slot < 0 || slot >= SLOT_EMPTY)
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", slot, SLOT_EMPTY - 1);
  int result = slot == SLOT_NEGATIVE ? encode_tokens(engine, slot, text, err) : encode_prompt(engine, slot, text, err);
  engine->slots[slot].filled |= result == 0;
  return result;
}

int prompts_slot(const struct engine *engine, int slot) {
  return engine->slots[slot].filled ? slot : SLOT_EMPTY;
}

bool prompts_zero_negative(const struct engine *engine) {
  return engine->checkpoint->zero_negative && engine->slots[prompts_slot(engine, SLOT_NEGATIVE)].empty;
}
