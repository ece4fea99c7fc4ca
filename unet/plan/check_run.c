/* What a run is told, checked once for all devices, and what follows from it: where its frames are read, which regions
 * run, and how often. */
#include "unet/plan/check_run.h"

#include <math.h>

#include "unet/base/picture.h"

/* --- frames --- */

/* 16-bit samples lie on even addresses. */
static bool is_aligned(const struct frame *frame) {
  uintptr_t any = 0;
  for (int i = 0; i < frame_planes(frame->format); i++)
    any |= (uintptr_t)frame->picture->device_plane[i] | (uintptr_t)frame->pitch[i];
  return frame->format != PIXEL_P010 || any % 2 == 0;
}

bool device_reads_in_place(const struct device *device, const struct frame *frame) {
  return frame_on_gpu(frame, &device->gpu) && is_aligned(frame);
}

bool device_reads_later(const struct device *device, const struct frame *frame) {
  return device_reads_in_place(device, frame) || (gpu_same(&device->gpu, &device->gpu) && frame_pinned(frame));
}

/* To the host's memory. */
static int bring_down(struct device *device, const struct frame *frame, struct error *err) {
  bool there = frame_ready(frame, MEMORY_HOST);
  if (frame_wait(frame, MEMORY_HOST, err) < 0)
    return -1;
  if (!there && frame->picture->memory & MEMORY_DEVICE) {
    pthread_mutex_lock(&device->memory);
    device->brought_down += frame_bytes(frame);
    pthread_mutex_unlock(&device->memory);
  }
  return 0;
}

/* --- arguments --- */

static int check_planes(struct device *device, const struct frame *frame, struct error *err) {
  if (!frame)
    return error_set(err, STATUS_FAILED, "submit: this plan needs a frame");
  if (frame->format >= PIXEL_FORMATS || frame->width < 1 || frame->height < 1)
    return error_set(err, STATUS_INPUT, "a frame of format %d and size %dx%d", (int)frame->format, frame->width,
                     frame->height);
  bool in_place = device_reads_in_place(device, frame);
  if (!in_place && bring_down(device, frame, err) < 0)
    return -1;
  for (int i = 0; i < frame_planes(frame->format); i++)
    if (!(in_place ? frame->picture->device_plane[i] : frame->plane[i]) ||
        frame->pitch[i] < frame_row_bytes(frame->format, i, frame->width))
      return error_set(err, STATUS_INPUT, "a %s frame whose plane %d is missing or has rows of %d bytes",
                       frame_format_name(frame->format), i, frame->pitch[i]);
  return 0;
}

static int check_geometry(const struct geometry *g, const struct op_pixels_in *op, struct error *err) {
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

/* What an op is checked against. */
struct submission {
  struct device *device;
  const struct run_params *params;
  const struct frame *frames;
  int runs; /* how often the op runs */
};

static int check_nothing(const struct op *op, const struct submission *s, struct error *err) {
  (void)op, (void)s, (void)err;
  return 0;
}

static int check_frame(const struct op *op, const struct submission *s, struct error *err) {
  int source = op->pixels_in.source, count = op->pixels_in.y.n;
  for (int i = source * count; i < (source + 1) * count; i++) {
    if (check_planes(s->device, s->frames ? &s->frames[i] : NULL, err) < 0)
      return source ? error_prefix(err, "the control source: ") : -1;
    if (check_geometry(&s->params->geometry[i], &op->pixels_in, err) < 0)
      return -1;
  }
  return 0;
}

/* Of a map's parameters the first ones, which its op reads. */
static int check_parameters(enum map_kind kind, int read, const struct control_params *control, struct error *err) {
  const struct map_parameter *list;
  int count = map_parameters(kind, &list);
  for (int i = 0; i < count && i < read; i++) {
    float value = control->param[i];
    if (!(value >= list[i].least && value <= list[i].most))
      return error_set(err, STATUS_FAILED, "submit: the map %s has the %s %g, outside %g to %g", map_word(kind),
                       list[i].name, (double)value, (double)list[i].least, (double)list[i].most);
  }
  return 0;
}

static int check_shown(const struct op *op, const struct submission *s, struct error *err) {
  const struct run_params *run = s->params;
  (void)op;
  if (run->show >= SHOW_PICTURE && run->show <= SHOW_BESIDE && run->show_control >= 0 &&
      run->show_control < CONTROLS_MAX)
    return 0;
  return error_set(err, STATUS_FAILED, "submit: there is no way %d to show control %d", (int)run->show,
                   run->show_control);
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

bool region_runs(const struct region_when *when, const struct run_params *params, int iteration) {
  if (when->kind == REGION_MAP)
    return params->control[when->index].map;
  if (when->kind == REGION_STYLE)
    return params->style[when->index].weight != 0;
  int first = when->step + iteration, latents = when->latents ? when->latents : 1;
  for (int i = first; i < first + latents; i++)
    if (params->control[when->index].gain[i] != 0)
      return true;
  return false;
}

unsigned region_idle(const struct region_when *when) {
  return when->kind == REGION_STYLE ? IDLE_STYLES : (unsigned)IDLE_CONTROL << when->index;
}

unsigned plan_may_idle(const struct plan *plan) {
  unsigned idle = 0;
  for (int i = 0; i < plan->region_count; i++)
    idle |= region_idle(&plan->regions[i].when);
  for (int i = 0; i < plan->op_count; i++)
    idle |= plan->ops[i].type == OP_STYLE ? IDLE_STYLES : 0;
  return idle;
}

static bool style_adds(const struct op *op, const struct run_params *params) {
  bool adds = false;
  for (int i = 0; op->type == OP_STYLE && i < STYLES_MAX; i++)
    adds |= style_gain(&params->style[i], op->style.part) != 0;
  return adds;
}

unsigned run_idles(const struct plan *plan, const struct run_params *params) {
  unsigned idle = plan_may_idle(plan);
  for (int i = 0; i < plan->region_count; i++)
    if (run_op_runs(plan, plan->regions[i].first, params))
      idle &= ~region_idle(&plan->regions[i].when);
  for (int i = 0; i < plan->op_count; i++)
    if (style_adds(&plan->ops[i], params))
      idle &= ~(unsigned)IDLE_STYLES;
  return idle;
}

int run_op_runs(const struct plan *plan, int op, const struct run_params *params) {
  const struct plan_region *region = plan_region_of(plan, op);
  int runs = 0;
  for (int i = 0; i < plan_op_runs(plan, op); i++)
    runs += !region || region_runs(&region->when, params, i);
  return runs;
}

/* Values that regions go by. */
static int check_region(const struct plan *plan, const struct plan_region *region, const struct run_params *params,
                        struct error *err) {
  const struct region_when *when = &region->when;
  int end = when->step + plan_op_runs(plan, region->first) + (when->latents ? when->latents : 1) - 1;
  if (when->kind == REGION_STYLE && !isfinite(params->style[when->index].weight))
    return error_set(err, STATUS_FAILED, "submit: style %d has a weight of %g", when->index,
                     (double)params->style[when->index].weight);
  return when->kind == REGION_CONTROL ? check_control(params, when->index, when->step, end, err) : 0;
}

float inject_gain(const struct op_inject *op, const struct run_params *params, int iteration, int picture) {
  const struct guidance_rows rows = guidance_rows(op->first, op->rows, op->y.n);
  const struct control_params *control = &params->control[op->control];
  float gain = control->gain[op->step + iteration + guidance_index(rows, picture)];
  if (!control->guess)
    return gain;
  return guidance_row(rows, picture) ? 0 : gain * inject_guess(op);
}

int check_run(struct device *device, const struct program *program, const struct run_params *params,
              const struct frame *frames, struct error *err) {
  for (int i = 0; i < program->plan->op_count; i++) {
    const struct submission submission = {device, params, frames, plan_op_runs(program->plan, i)};
    if (check_op(&program->plan->ops[i], &submission, err) < 0)
      return -1;
  }
  for (int i = 0; i < program->plan->region_count; i++)
    if (check_region(program->plan, &program->plan->regions[i], params, err) < 0)
      return -1;
  return 0;
}
