#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/engine/engine_impl.h"
#include "unet/base/text.h"

/* The slot's tokens through the text encoder. */
static int encode_slot(struct engine *engine, int slot, const int *tokens, struct error *err) {
  struct run_params run = {.slot = slot};
  memcpy(run.tokens, tokens, sizeof run.tokens);
  engine_look_up_weights(engine);
  if (device_run(engine->device, engine->prompt_program, &run, err) < 0)
    return -1;
  engine->slots[slot].version = engine->prompt_weights;
  return 0;
}

/* Encodes the slots that a run reads again where a weight has changed since. */
int prompts_refresh(struct engine *engine, const struct run_params *run, struct error *err) {
  for (int row = 0; row < engine->frame->shape.rows; row++)
    for (int i = 0; i < 2; i++) {
      int slot = run->prompt[row].slot[i];
      if (engine->slots[slot].version != engine->prompt_weights &&
          encode_slot(engine, slot, engine->slots[slot].tokens, err) < 0)
        return -1;
    }
  return 0;
}

int prompts_encode(struct engine *engine, int slot, const char *text, struct error *err) {
  const struct text_encoder *encoder = &engine->checkpoint->text_encoders[0];
  int tokens[TOKENS_MAX] = {0}, positions = encoder->config.positions;
  int needed = tokenizer_encode(encoder->tokenizer, text, tokens, positions, err);
  if (needed < 0)
    return -1;
  if (needed > positions)
    log_line(engine->log, LOG_WARNING, "the prompt is cut: it needs %d tokens, the model reads %d", needed, positions);
  if (encode_slot(engine, slot, tokens, err) < 0)
    return -1;
  memcpy(engine->slots[slot].tokens, tokens, sizeof tokens);
  return 0;
}

/* encoded: what stands for text. */
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

/* The model's list of styles has its say. */
static int encode_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  char *encoded = styles_prompt(engine->checkpoint->styles, text);
  if (!encoded)
    return error_set(err, STATUS_FAILED, "out of memory");
  int result = prompts_encode(engine, slot, encoded, err);
  if (result == 0)
    name_styles(engine, text, encoded);
  free(encoded);
  return result;
}

int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  if (slot < 0 || slot >= SLOT_EMPTY)
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", slot, SLOT_EMPTY - 1);
  int result = slot == SLOT_NEGATIVE ? prompts_encode(engine, slot, text, err) : encode_prompt(engine, slot, text, err);
  engine->slots[slot].filled |= result == 0;
  return result;
}

int prompts_slot(const struct engine *engine, int slot) {
  return engine->slots[slot].filled ? slot : SLOT_EMPTY;
}
