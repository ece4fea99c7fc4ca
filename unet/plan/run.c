#include "unet/plan/run.h"

static bool gains(const struct region_when *when, const struct run_params *params, int iteration) {
  int first = when->step + iteration, latents = when->latents ? when->latents : 1;
  for (int i = first; i < first + latents; i++)
    if (params->control[when->index].gain[i] != 0)
      return true;
  return false;
}

bool region_runs(const struct region_when *when, const struct run_params *params, int iteration) {
  switch (when->kind) {
  case REGION_MAP:
    return params->control[when->index].map;
  case REGION_STYLE:
    return params->style[when->index].weight != 0;
  case REGION_MOTION:
    return params->motion;
  case REGION_BANK:
    return params->bank.frames > 0;
  default:
    return gains(when, params, iteration);
  }
}

unsigned region_idle(const struct region_when *when) {
  switch (when->kind) {
  case REGION_STYLE:
    return IDLE_STYLES;
  case REGION_MOTION:
    return IDLE_MOTION;
  case REGION_BANK:
    return IDLE_BANK;
  default:
    return (unsigned)IDLE_CONTROL << when->index;
  }
}

unsigned plan_may_idle(const struct plan *plan) {
  unsigned idle = 0;
  for (int i = 0; i < plan->region_count; i++)
    idle |= region_idle(&plan->regions[i].when);
  for (int i = 0; i < plan->told_count; i++)
    idle |= plan->ops[plan->told[i]].type == OP_STYLE ? IDLE_STYLES : 0;
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
  for (int i = 0; i < plan->told_count; i++)
    if (style_adds(&plan->ops[plan->told[i]], params))
      idle &= ~(unsigned)IDLE_STYLES;
  return idle;
}

bool run_is_exact(const struct plan *plan, const struct run_params *params) {
  unsigned idle = run_idles(plan, params);
  for (int i = 0; i < plan->region_count; i++) {
    const struct plan_region *region = &plan->regions[i];
    if (!(idle & region_idle(&region->when)) &&
        run_op_runs(plan, region->first, params) < plan_op_runs(plan, region->first))
      return false;
  }
  return true;
}

int run_op_runs(const struct plan *plan, int op, const struct run_params *params) {
  const struct plan_region *region = plan_region_of(plan, op);
  int runs = 0;
  for (int i = 0; i < plan_op_runs(plan, op); i++)
    runs += !region || region_runs(&region->when, params, i);
  return runs;
}

float inject_gain(const struct op_inject *op, const struct run_params *params, int iteration, int picture) {
  const struct guidance_rows rows = guidance_rows(op->first, op->rows, op->y.n);
  const struct control_params *control = &params->control[op->control];
  float gain = control->gain[op->step + iteration + guidance_index(rows, picture)];
  if (!control->guess)
    return gain;
  return guidance_row(rows, picture) ? 0 : gain * inject_guess(op);
}
