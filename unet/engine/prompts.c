/* Prompt slots: a text is split into tokens for each text encoder, and encoded into its slot on the device. Except
 * while the engine is opened and closed, these functions are called on the thread that submits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/engine/engine_impl.h"
#include "unet/base/text.h"
#include "unet/text/named.h"

_Static_assert((int)PROMPT_LENGTH_MAX == (int)TOKENS_MAX && (int)SYNTAX_WEIGHT_MAX == (int)EMPHASIS_MAX,
               "what prompts may be is what devices take");

static int prepare_text(struct engine *engine, int encoder, struct error *err) {
  struct plan *plan = &engine->text_plan[encoder];
  return plans_text(&engine->model, encoder, plan, err) < 0 ||
                 background_prepare(engine, &engine->text_program[encoder], plan, err) < 0
             ? -1
             : 0;
}

int prompts_prepare(struct engine *engine, struct error *err) {
  for (int i = 0; i < engine->checkpoint->text_encoder_count; i++)
    if (prepare_text(engine, i, err) < 0)
      return -1;
  return 0;
}

void prompts_leave(struct engine *engine) {
  for (int i = 0; i < TEXT_ENCODERS_MAX; i++) {
    device_release(engine->device, &engine->text_program[i]);
    plan_free(&engine->text_plan[i]);
  }
}

/* If any weight has changed since the last time, looks up the versions of those that the text encoders, and the
 * programs for keys and values, read. */
static void look_up_weights(struct engine *engine) {
  if (engine->weights_version == engine->resources.version)
    return;
  engine->text_weights = 0;
  for (int i = 0; i < engine->checkpoint->text_encoder_count; i++) {
    uint64_t version = plan_weights_version(&engine->text_plan[i]);
    engine->text_weights = version > engine->text_weights ? version : engine->text_weights;
  }
  /* looking at keys[0] is enough: the plans of keys[], one for each number of chunks, read the same weights */
  engine->keys_weights = plan_weights_version(&engine->keys[0].plan);
  engine->weights_version = engine->resources.version;
}

/* Starts the encoding of one chunk (part of a long prompt) by one text encoder. place: index of the chunk in the tensor
 * with all encoded chunks. */
static int encode_chunk(struct engine *engine, int encoder, const struct prompt_chunk *chunk, int place,
                        struct error *err) {
  const struct text_encoder *e = &engine->checkpoint->text_encoders[encoder];
  struct run_params run = {.slot = place, .end = clip_end(e, chunk->ids)};
  memcpy(run.tokens, chunk->ids, sizeof run.tokens);
  for (int i = 0; i < e->config.positions; i++)
    run.emphasis[i] = chunk->weights[i] - 1;
  return background_start(engine, engine->text_program[encoder], &run, err);
}

/* Starts the encoding of the tokens of a slot (place for an encoded prompt) by all text encoders. */
static int encode_slot(struct engine *engine, int slot, const struct prompt *tokens, int chunks, struct error *err) {
  look_up_weights(engine);
  for (int c = 0; c < chunks; c++)
    for (int i = 0; i < engine->checkpoint->text_encoder_count; i++)
      if (encode_chunk(engine, i, &tokens[i].chunks[c], text_place(slot, c), err) < 0)
        return -1;
  engine->slots[slot].version = engine->text_weights;
  engine->slots[slot].serial = ++engine->encodings;
  return 0;
}

/* Encodes the prompt of a slot (place on the device) again if a weight of the text encoders has changed since it was
 * encoded. */
static int refresh_slot(struct engine *engine, int slot, struct error *err) {
  struct prompt_slot *s = &engine->slots[slot];
  return s->version == engine->text_weights ? 0 : encode_slot(engine, slot, s->tokens, s->chunks, err);
}

int prompts_used(struct run_params *run, int rows, int *used[USED_MAX]) {
  int count = 0;
  for (int row = 0; row < rows; row++)
    for (int i = 0; i < PROMPTS_MAX && run->prompt[row].weight[i] != 0; i++)
      used[count++] = &run->prompt[row].slot[i];
  return count;
}

int prompts_refresh(struct engine *engine, int rows, struct run_params *run, struct error *err) {
  int *used[USED_MAX], count = prompts_used(run, rows, used);
  bool filled_up = false;
  look_up_weights(engine);
  for (int i = 0; i < count; i++) {
    if (refresh_slot(engine, *used[i], err) < 0)
      return -1;
    /* A prompt is longer than one chunk, so shorter prompts will be filled up with the empty prompt. Therefore the
     * empty prompt must be encoded as well. */
    filled_up |= engine->slots[*used[i]].chunks > 1;
  }
  return filled_up ? refresh_slot(engine, SLOT_EMPTY, err) : 0;
}

/* --- texts to tokens --- */

/* Tokenizes a text for each text encoder. spans: the text with the weights of its words, already read from its syntax;
 * NULL: `text` is taken as it is. Returns the number of chunks of the longest result, or -1. */
static int tokenize(const struct engine *engine, const char *text, const struct spans *spans, struct prompt *tokens,
                    struct error *err) {
  int chunks = 1;
  for (int i = 0; i < engine->checkpoint->text_encoder_count; i++) {
    const struct text_encoder *encoder = &engine->checkpoint->text_encoders[i];
    int length = encoder->config.positions;
    if ((spans ? prompt_from_spans(&tokens[i], encoder->tokenizer, engine->text_fix, spans, length, err)
               : prompt_from_text(&tokens[i], encoder->tokenizer, engine->text_fix, text, length, err)) < 0)
      return -1;
    chunks = tokens[i].count > chunks ? tokens[i].count : chunks;
  }
  return chunks;
}

/* Tokenizes a text by the engine's prompt syntax. Returns the number of chunks, or -1. Stores in *notes what the user
 * should be warned of in the text's syntax, as bits of enum syntax_note. */
static int read_text(const struct engine *engine, const char *text, struct prompt *tokens, unsigned *notes,
                     struct error *err) {
  struct spans spans;
  *notes = 0;
  if (engine->syntax == PROMPT_SYNTAX_PLAIN)
    return tokenize(engine, text, NULL, tokens, err);
  if (spans_read(&spans, text) < 0)
    return error_set(err, STATUS_FAILED, "out of memory");
  *notes = spans.notes;
  int chunks = tokenize(engine, text, &spans, tokens, err);
  spans_free(&spans);
  return chunks;
}

int prompts_begin(struct engine *engine, struct error *err) {
  struct prompt_slot *s = &engine->slots[SLOT_EMPTY];
  unsigned notes;
  s->empty = true;
  s->detail = styles_detail(engine->checkpoint->styles, "");
  s->chunks = read_text(engine, "", s->tokens, &notes, err);
  return s->chunks < 0 ? -1 : 0;
}

int prompts_restore(struct engine *engine, struct error *err) {
  for (int slot = 0; slot < SLOTS; slot++) {
    struct prompt_slot *s = &engine->slots[slot];
    if ((slot == SLOT_EMPTY || s->filled) && encode_slot(engine, slot, s->tokens, s->chunks, err) < 0)
      return -1;
  }
  return 0;
}

/* Warns that a file (a LoRA or an embedding) which the prompt names is not loaded. A name that the tokenizer knows is
 * an ordinary word. */
static void warn_of_name(const struct engine *engine, const char *text, const struct named *named) {
  char whole[96], name[96];
  snprintf(whole, sizeof whole, "%.*s", (int)named->length, text + named->start);
  snprintf(name, sizeof name, "%.*s%s%.*s", (int)named->name_length, text + named->name,
           named->weight_length ? ":" : "", (int)named->weight_length, text + named->weight);
  if (named->kind == NAMED_LORA)
    log_line(engine->log, LOG_WARNING, "the prompt \"%s\": %s is left out of it, and loads nothing: --lora %s does",
             text_quote(text).text, whole, name);
  else if (named->kind == NAMED_OPEN)
    log_line(
        engine->log, LOG_WARNING,
        "the prompt \"%s\": %s has no closing bracket, is read as plain text and loads nothing: --lora does, and > "
        "behind it leaves it out of the prompt",
        text_quote(text).text, whole);
  else if (named->kind == NAMED_NETWORK)
    log_line(engine->log, LOG_WARNING, "the prompt \"%s\": %s is left out of it: hypernetworks are not supported",
             text_quote(text).text, whole);
  else if (!tokenizer_has_added(engine->checkpoint->text_encoders[0].tokenizer, engine->text_fix, text + named->name,
                                named->name_length))
    log_line(engine->log, LOG_WARNING,
             "the prompt \"%s\": %s is read as plain text: the model's tokenizer has no such word, and embeddings "
             "(textual inversion) are not supported",
             text_quote(text).text, whole);
}

static void warn_of_names(const struct engine *engine, const char *text) {
  struct named named;
  for (size_t at = 0; named_find(text, at, &named); at = named.start + named.length)
    if (engine->syntax != PROMPT_SYNTAX_PLAIN || named.kind == NAMED_EMBEDDING || named.kind == NAMED_TOKEN)
      warn_of_name(engine, text, &named);
}

/* Warns of parts of a prompt that have no effect, or not the one that their text suggests, such as words beyond the
 * length limit. */
static void warn_of_reading(const struct engine *engine, const char *text, const struct prompt *tokens,
                            unsigned notes) {
  int room = engine->checkpoint->text_encoders[0].config.positions - 2;
  for (int i = 0; i < NOTES; i++)
    if (notes >> i & 1)
      log_line(engine->log, LOG_WARNING, "the prompt \"%s\": %s", text_quote(text).text,
               syntax_note_text((enum syntax_note)(1 << i)));
  if (tokens->left_out && engine->syntax == PROMPT_SYNTAX_PLAIN)
    log_line(engine->log, LOG_WARNING,
             "the prompt \"%s\" is cut: it has %d tokens, and %d are read with --prompt-syntax plain",
             text_quote(text).text, tokens->words, room);
  else if (tokens->left_out)
    log_line(engine->log, LOG_WARNING,
             "the prompt \"%s\" is cut: it has %d tokens, and at most %d chunks of %d are read", text_quote(text).text,
             tokens->words, PROMPT_CHUNKS_MAX, room);
}

static int encode_tokens(struct engine *engine, int slot, const char *text, struct error *err) {
  struct prompt tokens[TEXT_ENCODERS_MAX] = {0};
  unsigned notes;
  int chunks = read_text(engine, text, tokens, &notes, err);
  if (chunks < 0)
    return -1;
  warn_of_reading(engine, text, &tokens[0], notes);
  if (encode_slot(engine, slot, tokens, chunks, err) < 0)
    return -1;
  memcpy(engine->slots[slot].tokens, tokens, sizeof tokens);
  engine->slots[slot].chunks = chunks;
  engine->slots[slot].empty = !*text;
  engine->slots[slot].detail = styles_detail(engine->checkpoint->styles, text);
  return 0;
}

/* Warns if a prompt names none of the model's styles (words that stand for prompts). encoded: the prompt that was
 * encoded instead of `text`. */
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

/* Returns a copy of the text without the names of files in it, such as <lora:...>; with PROMPT_SYNTAX_PLAIN these stay.
 * The caller frees the copy. NULL: out of memory. */
static char *words_of(const struct engine *engine, const char *text) {
  return engine->syntax == PROMPT_SYNTAX_PLAIN ? strdup(text) : named_take_out(text);
}

/* Returns the text that is encoded for a prompt. A negative prompt is unchanged; others may be changed by the model's
 * list of styles. The caller frees the text. NULL: out of memory. */
static char *encoded_words(const struct engine *engine, int slot, const char *words) {
  return slot == SLOT_NEGATIVE ? strdup(words) : styles_prompt(engine->checkpoint->styles, words);
}

static char *encoded_text(const struct engine *engine, int slot, const char *text, struct error *err) {
  char *words = words_of(engine, text), *encoded = words ? encoded_words(engine, slot, words) : NULL;
  free(words);
  if (!encoded)
    error_set(err, STATUS_FAILED, "out of memory");
  return encoded;
}

int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  if (slot < 0 || slot >= SLOT_EMPTY)
    return error_set(err, STATUS_USAGE, "prompt slot %d: there are slots 0 to %d", slot, SLOT_EMPTY - 1);
  char *words = words_of(engine, text), *encoded = words ? encoded_words(engine, slot, words) : NULL;
  int result = encoded ? encode_tokens(engine, slot, encoded, err) : error_set(err, STATUS_FAILED, "out of memory");
  if (result == 0)
    warn_of_names(engine, text);
  if (result == 0 && slot != SLOT_NEGATIVE)
    name_styles(engine, words, encoded);
  free(encoded);
  free(words);
  engine->slots[slot].filled |= result == 0;
  return result;
}

/* --- the number of prompt chunks for which a handle (prepared engine) is to be prepared --- */

int engine_count_chunks(const struct engine *engine, int slot, const char *text, struct error *err) {
  struct prompt tokens[TEXT_ENCODERS_MAX];
  unsigned notes;
  char *encoded = encoded_text(engine, slot, text, err);
  int chunks = encoded ? read_text(engine, encoded, tokens, &notes, err) : -1;
  free(encoded);
  return chunks;
}

int engine_choose_chunks(int most, int now) {
  return most % now ? now : most;
}

int prompts_most_chunks(const struct engine *engine, const int *slots, int count) {
  int most = 1;
  for (int i = 0; i < count; i++)
    most = engine->slots[slots[i]].chunks > most ? engine->slots[slots[i]].chunks : most;
  return most;
}

int engine_chunks(const struct engine *engine, const struct controls *controls) {
  int slots[PROMPTS_MAX + 1], count = 0, most = 1;
  for (int i = 0; i < SLOTS; i++)
    most = engine->slots[i].filled && engine->slots[i].chunks > most ? engine->slots[i].chunks : most;
  slots[count++] = prompts_slot(engine, SLOT_NEGATIVE);
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (controls->blend[i] > 0)
      slots[count++] = prompts_slot(engine, SLOT_PRESET_1 + i);
  /* If slots[] has only the negative prompt's slot so far, no prompt of the blend has a weight above 0. The frame then
   * shows the prompt in slot controls->prompt. */
  if (count == 1)
    slots[count++] = prompts_slot(engine, controls->prompt);
  return engine_choose_chunks(most, prompts_most_chunks(engine, slots, count));
}

int prompts_slot(const struct engine *engine, int slot) {
  return engine->slots[slot].filled ? slot : SLOT_EMPTY;
}

bool prompts_zero_negative(const struct engine *engine) {
  return engine->checkpoint->zero_negative && engine->slots[prompts_slot(engine, SLOT_NEGATIVE)].empty;
}
