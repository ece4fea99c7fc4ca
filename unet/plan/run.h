/* What a run of a plan is told beside its frames, and what follows from it: which regions run, how often, and what adds
 * how much. */
#ifndef UNET_PLAN_RUN_H
#define UNET_PLAN_RUN_H

#include "unet/plan/plan.h"

/* How a frame maps to the picture the network sees. */
struct geometry {
  float source_x, source_y, source_w, source_h; /* source rectangle, in luma samples */
  int dest_x, dest_y, dest_w, dest_h;           /* destination rectangle, in pixels of OP_PIXELS_IN's y */
};

struct step_params {
  float timestep;        /* OP_TIMESTEP */
  float x, model, noise; /* coefficients of OP_STEP */
  float earlier[EARLIER_MAX], keep_x, keep_model;
};

/* Coefficients of OP_GUIDE at a step. */
struct residual_params {
  float x, reference, clean_x, clean_model;
};

/* Of one row: the first weight of 0 ends the list. */
enum { PROMPTS_MAX = SLOT_PRESETS };
struct prompt_params {
  int slot[PROMPTS_MAX];
  float weight[PROMPTS_MAX];
};

/* Of a map and the network that reads it. */
struct control_params {
  float gain[CALLS_MAX];   /* OP_INJECT, and what REGION_CONTROL goes by, at each step */
  bool guess;              /* OP_INJECT */
  bool map;                /* REGION_MAP: it is made in this run */
  float param[MAP_PARAMS]; /* OP_MAP */
};

/* Of a style picture. */
struct style_params {
  float weight;            /* REGION_STYLE, OP_STYLE; 0: it does not count */
  float part[STYLE_PARTS]; /* OP_STYLE: of the weight, in each part */
  int slot;                /* OP_STYLE: where its keys and values are */
};

/* Everything a run reads that is not a tensor: copied at submit, so the caller may change its copy at once. */
struct run_params {
  struct geometry geometry[FRAMES_MAX];
  struct step_params step[CALLS_MAX];
  float between[BATCH_MAX][2];         /* OP_BETWEEN */
  float start_latent, start_noise;     /* OP_START */
  float row_weight[GUIDANCE_ROWS_MAX]; /* OP_GUIDE, to guidance_rescale */
  float virtual_weight;
  struct residual_params residual[CALLS_MAX];
  float guidance_rescale;
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* OP_PROMPT */
  float mix;                                      /* OP_PIXELS_OUT */
  enum show show;                                 /* OP_PIXELS_OUT; of control number show_control */
  int show_control;
  float guidance;             /* OP_GUIDANCE_EMBED */
  int slot;                   /* OP_STORE_SLOT */
  unsigned turn;              /* its place in rings: one more in each run */
  int tokens[TOKENS_MAX];     /* OP_EMBED */
  int end;                    /* OP_END_TOKEN */
  float emphasis[TOKENS_MAX]; /* OP_EMPHASIS: what each token's weight exceeds 1 by */
  struct control_params control[CONTROLS_MAX];
  struct style_params style[STYLES_MAX];
  bool on_device; /* the picture is to stay in the device's memory until somebody waits for it in the host's */
};

/* Whether a region runs in an iteration of the plan's loop; 0 outside it. */
bool region_runs(const struct region_when *when, const struct run_params *params, int iteration);

/* What of a finished plan a run may do without: a bit for each control, whose regions are not entered then, and one for
 * styles, where no OP_STYLE adds anything either. */
enum { IDLE_CONTROL = 1 /* << its index */, IDLE_STYLES = 1 << CONTROLS_MAX, IDLE_SETS = 2 << CONTROLS_MAX };
unsigned region_idle(const struct region_when *when);                         /* the bit that a region belongs to */
unsigned plan_may_idle(const struct plan *plan);                              /* those that the plan has */
unsigned run_idles(const struct plan *plan, const struct run_params *params); /* of these, from beginning to end */

/* How much a style counts in a part, and the slot that a picture of OP_STYLE's y sees of a style. */
static inline float style_gain(const struct style_params *style, enum style_part part) {
  return style->weight * style->part[part];
}
static inline int style_slot(const struct op_style *op, const struct style_params *style, int picture) {
  return guidance_row(guidance_rows(op->first, op->rows, op->y.n), picture) ? op->k.n - 1 : style->slot;
}

/* How often a run with these parameters runs an op. */
int run_op_runs(const struct plan *plan, int op, const struct run_params *params);
/* What OP_INJECT multiplies by for a picture of its y. */
float inject_gain(const struct op_inject *op, const struct run_params *params, int iteration, int picture);

#endif
