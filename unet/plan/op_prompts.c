#include "unet/plan/op_checks.h"
#include "unet/plan/run.h"

const char *op_check_embed(const struct op *op, int runs, struct op_result *y) {
  const struct op_embed *o = &op->embed;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = 1, .w = o->position.n, .c = o->position.c};
  if (o->position.n > TOKENS_MAX)
    return "more text positions than are supported";
  return o->token.c == o->position.c ? NULL : "token and position embeddings differ in width";
}

const char *op_check_timestep(const struct op *op, int runs, struct op_result *y) {
  const struct op_timestep *o = &op->timestep;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, 1);
  int n = o->y.n, c = o->y.c, values = o->values ? o->values : 1;
  (void)runs;
  *y = (struct op_result){.n = n, .h = 1, .w = 1, .c = c};
  if (!has_rows(rows, n) || (!o->values && guidance_index(rows, n - 1) >= CALLS_MAX))
    return "no such number of steps";
  if (values < 1 || values > SIZES)
    return "no such number of values";
  return c > 0 && c % (2 * values) == 0 ? NULL : "the embedding's width is odd";
}

const char *op_check_guidance_embed(const struct op *op, int runs, struct op_result *y) {
  int c = op->guidance_embed.y.c;
  (void)runs;
  *y = (struct op_result){.n = op->guidance_embed.y.n, .h = 1, .w = 1, .c = c};
  return c > 2 && c % 2 == 0 ? NULL : "the embedding's width is odd";
}

const char *op_check_time_row(const struct op *op, int runs, struct op_result *y) {
  const struct op_time_row *o = &op->time_row;
  int rows = o->y.n ? o->y.n : 1;
  *y = (struct op_result){.n = rows, .h = 1, .w = 1, .c = o->table.c};
  return rows > 0 && o->step >= 0 && o->step + runs <= o->table.n / rows ? NULL : "the table has no such row";
}

const char *op_check_store_slot(const struct op *op, int runs, struct op_result *y) {
  const struct op_store_slot *o = &op->store_slot;
  (void)runs, (void)y;
  bool fits = o->x.n == 1 && o->x.h == o->slots.h && o->x.w == o->slots.w && o->x.c == o->slots.c;
  return fits ? NULL : "the shape differs from the slots'";
}

const char *op_check_shift(const struct op *op, int runs, struct op_result *y) {
  const struct op_shift *o = &op->shift;
  struct tensor rows = o->rows;
  (void)runs, (void)y;
  rows.n = o->by ? o->by : 1;
  if (o->by < 0 || o->rows.n % rows.n)
    return "the rows do not go on by so many";
  return fits_latents(o->x, rows) ? NULL : "the shape differs from the rows'";
}

const char *op_check_prompt(const struct op *op, int runs, struct op_result *y) {
  const struct op_prompt *o = &op->prompt;
  (void)runs;
  *y = (struct op_result){.n = o->y.n, .h = 1, .w = o->slots.w, .c = o->slots.c};
  if (tensor_exists(o->note) && (o->y.space != TENSOR_STATE || tensor_elements(o->note) != PROMPT_NOTE_VALUES))
    return "what is noted is not of a state, or has another shape";
  return has_rows(guidance_rows(o->first, o->rows, o->y.n), o->y.n) ? NULL : "the guidance rows are not all there";
}

const char *op_check_end_token(const struct op *op, int runs, struct op_result *y) {
  const struct op_end_token *o = &op->end_token;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = 1, .w = 1, .c = o->x.c};
  return o->x.n == 1 && o->x.h == 1 ? NULL : "the text is not one row of tokens";
}

const char *op_check_emphasis(const struct op *op, int runs, struct op_result *y) {
  const struct op_emphasis *o = &op->emphasis;
  (void)runs;
  *y = shape_of(o->x);
  return o->x.n == 1 && o->x.h == 1 && o->x.w <= TOKENS_MAX ? NULL : "the text is not one row of tokens";
}
