/* Checks a run's parameters against the plan's ops. All devices rely on this check and check nothing themselves. */
#include "unet/plan/check_run.h"

#include <math.h>

static int check_rectangles(const struct geometry *g, const struct op_pixels_in *op, struct error *err) {
  bool finite = g->source_x - g->source_x == 0 && g->source_y - g->source_y == 0 && g->source_w - g->source_w == 0 &&
                g->source_h - g->source_h == 0;
  if (!finite || !(g->source_w > 0 && g->source_h > 0))
    return error_set(err, STATUS_FAILED, "submit: the source rectangle is %gx%g", (double)g->source_w,
                     (double)g->source_h);
  if (g->dest_x < 0 || g->dest_y < 0 || g->dest_w < 1 || g->dest_h < 1 || g->dest_w > op->y.w - g->dest_x ||
      g->dest_h > op->y.h - g->dest_y)
    return error_set(err, STATUS_FAILED, "submit: the destination %dx%d at %d,%d leaves the %dx%d picture", g->dest_w,
                     g->dest_h, g->dest_x, g->dest_y, op->y.w, op->y.h);
  return 0;
}

static bool valid_slot(int slot, struct tensor slots) {
  return slot >= 0 && slot < slots.n;
}

/* The parameters of the run that is checked, and how many times the run executes the op that is being checked. */
struct submission {
  const struct run_params *params;
  int runs; /* number of times that the run executes the op; above 1 in a loop */
};

static int check_nothing(const struct op *op, const struct submission *s, struct error *err) {
  (void)op, (void)s, (void)err;
  return 0;
}

static int check_geometry(const struct op *op, const struct submission *s, struct error *err) {
  int source = op->pixels_in.source, count = op->pixels_in.y.n;
  for (int i = source * count; i < (source + 1) * count; i++)
    if (check_rectangles(&s->params->geometry[i], &op->pixels_in, err) < 0)
      return -1;
  return 0;
}

/* Fails if a parameter of a map is out of its range. Only the first `read` parameters are checked, because OP_MAP reads
 * only these. */
static int check_parameters(enum map_kind kind, int read, const struct control_params *control, struct error *err) {
  const struct map_parameter *list;
  int count = map_parameters(kind, &list);
  for (int i = 0; i < count && i < read; i++) {
    float value = control->param[i];
    if (!(value >= list[i].least && value <= list[i].most))
      return error_set(err, STATUS_FAILED, "submit: the map %s has the %s %g, outside %g to %g", map_word(kind),
                       map_value_name(list[i].value), (double)value, (double)list[i].least, (double)list[i].most);
  }
  return 0;
}

static int check_shown(const struct op *op, const struct submission *s, struct error *err) {
  const struct run_params *run = s->params;
  (void)op;
  if (run->show >= SHOW_PICTURE && run->show <= SHOW_BOTH && run->show_control >= 0 && run->show_control < CONTROLS_MAX)
    return 0;
  return error_set(err, STATUS_FAILED, "submit: there is no way %d to show control %d", (int)run->show,
                   run->show_control);
}

static int check_detail(const struct op *op, const struct submission *s, struct error *err) {
  (void)op;
  if (s->params->detail >= 0 && s->params->detail <= 1)
    return 0;
  return error_set(err, STATUS_FAILED, "submit: the detail %g is outside 0 to 1", (double)s->params->detail);
}

static int check_map(const struct op *op, const struct submission *s, struct error *err) {
  return check_parameters(op->map.kind, MAP_PARAMS, &s->params->control[op->map.control], err);
}

static int check_speed(const struct op *op, const struct submission *s, struct error *err) {
  return check_parameters(MAP_DEPTH, 1, &s->params->control[op->range.control], err);
}

static int check_prompts(const struct op *op, const struct submission *s, struct error *err) {
  const struct op_prompt *o = &op->prompt;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->y.n);
  for (int r = 0; r < (rows.first > rows.each ? rows.first : rows.each) && r < o->y.n; r++) {
    const struct prompt_params *p = &s->params->prompt[r];
    for (int i = 0; i < PROMPTS_MAX && p->weight[i] != 0; i++)
      if (!valid_slot(p->slot[i], o->slots))
        return error_set(err, STATUS_FAILED, "submit: there is no prompt slot %d", p->slot[i]);
  }
  return 0;
}

static int check_styles(const struct op *op, const struct submission *s, struct error *err) {
  const struct op_style *o = &op->style;
  for (int i = 0; i < STYLES_MAX; i++) {
    const struct style_params *style = &s->params->style[i];
    float gain = style_gain(style, o->part);
    if (!isfinite(gain))
      return error_set(err, STATUS_FAILED, "submit: style %d has a weight of %g", i + 1, (double)gain);
    if (gain != 0 && !valid_slot(style->slot, o->k))
      return error_set(err, STATUS_FAILED, "submit: there is no style slot %d", style->slot);
  }
  return 0;
}

static int check_bank(const struct op *op, const struct submission *s, struct error *err) {
  const struct bank_params *bank = &s->params->bank;
  if (bank->frames < 0 || bank->frames > op->recall.room)
    return error_set(err, STATUS_FAILED, "submit: a bank of %d frames, with room for %d", bank->frames,
                     op->recall.room);
  if (bank->frames && bank->every < 1)
    return error_set(err, STATUS_FAILED, "submit: the bank keeps one of %d frames", bank->every);
  return 0;
}

static int check_slot(const struct op *op, const struct submission *s, struct error *err) {
  if (op->store_slot.ring || valid_slot(s->params->slot, op->store_slot.slots))
    return 0;
  return error_set(err, STATUS_FAILED, "submit: there is no prompt slot %d", s->params->slot);
}

static int check_tokens(const struct op *op, const struct submission *s, struct error *err) {
  const struct op_embed *o = &op->embed;
  for (int i = 0; i < o->position.n; i++)
    if (s->params->tokens[i] < 0 || s->params->tokens[i] >= o->token.n)
      return error_set(err, STATUS_FAILED, "submit: token %d at %d is outside the vocabulary of %d",
                       s->params->tokens[i], i, o->token.n);
  return 0;
}

static int check_end(const struct op *op, const struct submission *s, struct error *err) {
  int end = s->params->end, tokens = op->end_token.x.w;
  return end >= 0 && end < tokens ? 0
                                  : error_set(err, STATUS_FAILED, "submit: there is no token %d of %d", end, tokens);
}

static int check_emphasis(const struct op *op, const struct submission *s, struct error *err) {
  for (int i = 0; i < op->emphasis.x.w; i++)
    if (!(fabsf(1 + s->params->emphasis[i]) <= EMPHASIS_MAX))
      return error_set(err, STATUS_FAILED, "submit: token %d has a weight of %g, outside -%d to %d", i,
                       1 + (double)s->params->emphasis[i], EMPHASIS_MAX, EMPHASIS_MAX);
  return 0;
}

static int check_timesteps(const struct op *op, const struct submission *s, struct error *err) {
  const struct op_timestep *o = &op->timestep;
  int steps = o->values ? 0 : 1 + guidance_index(guidance_rows(o->first, o->rows, 1), o->y.n - 1);
  for (int i = 0; i < steps; i++)
    if (!(s->params->step[i].timestep >= 0 && s->params->step[i].timestep <= TIMESTEPS - 1))
      return error_set(err, STATUS_FAILED, "submit: there is no timestep %g", (double)s->params->step[i].timestep);
  return 0;
}

static int check_coefficients(const struct op *op, const struct submission *s, struct error *err) {
  const struct op_step *o = &op->step;
  int each = o->together ? o->together : 1, samples = o->noise.n / each;
  int end = o->step + s->runs + o->x.n / each - 1, kept = o->earlier.n / o->x.n;
  for (int i = samples; tensor_exists(o->noise) && i < end; i++)
    if (s->params->step[i].noise != 0)
      return error_set(err, STATUS_FAILED, "submit: step %d adds noise and there are %d noise samples", i, samples);
  for (int i = o->step; i < end; i++)
    for (int j = kept; j < EARLIER_MAX; j++)
      if (s->params->step[i].earlier[j] != 0)
        return error_set(err, STATUS_FAILED, "submit: step %d looks back on prediction %d and %d are kept", i, j + 1,
                         kept);
  return 0;
}

static int check_control(const struct run_params *params, int control, int first, int end, struct error *err) {
  for (int i = first; i < end; i++)
    if (!isfinite(params->control[control].gain[i]))
      return error_set(err, STATUS_FAILED, "submit: control %d has a gain of %g at step %d", control,
                       (double)params->control[control].gain[i], i);
  return 0;
}

static int check_gains(const struct op *op, const struct submission *s, struct error *err) {
  const struct op_inject *o = &op->inject;
  int last = guidance_index(guidance_rows(o->first, o->rows, o->y.n), o->y.n - 1);
  return check_control(s->params, o->control, o->step, o->step + s->runs + last, err);
}

static int check_op(const struct op *op, const struct submission *submission, struct error *err) {
#define CHECK(TYPE, field, name, parameters, ...) [OP_##TYPE] = check_##parameters,
  static int (*const check[OP_TYPES])(const struct op *, const struct submission *, struct error *) = {OP_TABLE(CHECK)};
  return check[op->type](op, submission, err);
}

/* Checks the parameters that decide whether a region (ops that a run may skip) is executed. */
static int check_region(const struct plan *plan, const struct plan_region *region, const struct run_params *params,
                        struct error *err) {
  const struct region_when *when = &region->when;
  int end = when->step + plan_op_runs(plan, region->first) + (when->latents ? when->latents : 1) - 1;
  if (when->kind == REGION_STYLE && !isfinite(params->style[when->index].weight))
    return error_set(err, STATUS_FAILED, "submit: style %d has a weight of %g", when->index,
                     (double)params->style[when->index].weight);
  return when->kind == REGION_CONTROL ? check_control(params, when->index, when->step, end, err) : 0;
}

int check_run(const struct plan *plan, const struct run_params *params, struct error *err) {
  for (int i = 0; i < plan->told_count; i++) {
    const struct submission submission = {params, plan_op_runs(plan, plan->told[i])};
    if (check_op(&plan->ops[plan->told[i]], &submission, err) < 0)
      return -1;
  }
  for (int i = 0; i < plan->region_count; i++)
    if (check_region(plan, &plan->regions[i], params, err) < 0)
      return -1;
  return 0;
}
