/* The parameters of a run, besides its frames, and what follows from them: which regions run, how often an op runs, and
 * how much each control and style adds. */
#ifndef UNET_PLAN_RUN_H
#define UNET_PLAN_RUN_H

#include "unet/plan/plan.h"

/* The part of a frame that the network reads, and where it lies in the network's picture. */
struct geometry {
  float source_x, source_y, source_w, source_h; /* source rectangle, in luma samples */
  int dest_x, dest_y, dest_w, dest_h;           /* destination rectangle, in pixels of OP_PIXELS_IN's y */
};

struct step_params {
  float timestep; /* OP_TIMESTEP */
  /* coefficients of OP_STEP, with those in the next line */
  float x, model, noise;
  float earlier[EARLIER_MAX], keep_x, keep_model;
};

/* Coefficients of OP_GUIDE at a step. */
struct residual_params {
  float x, reference, clean_x, clean_model;
};

/* The prompts of one guidance row. The first weight of 0 ends the list. */
enum { PROMPTS_MAX = SLOT_PRESETS };
struct prompt_params {
  int slot[PROMPTS_MAX];
  float weight[PROMPTS_MAX];
};

/* The parameters of one control: its map and the network that reads the map. */
struct control_params {
  float gain[CALLS_MAX];   /* OP_INJECT and REGION_CONTROL: the value at each step */
  bool guess;              /* OP_INJECT */
  bool map;                /* REGION_MAP: this run makes the map */
  float param[MAP_PARAMS]; /* OP_MAP */
};

/* The parameters of one style picture. */
struct style_params {
  float weight;            /* REGION_STYLE, OP_STYLE; 0: the picture adds nothing */
  float part[STYLE_PARTS]; /* OP_STYLE: factor of the weight in each part of the network */
  int slot;                /* OP_STYLE: slot of its keys and values */
};

/* Everything that a run reads and that is not a tensor. device_submit copies it, so the caller may change its own copy
 * at once. */
struct run_params {
  /* The frames and the steps. */
  struct geometry geometry[FRAMES_MAX];
  struct step_params step[CALLS_MAX];
  float between[BATCH_MAX][2];         /* OP_BETWEEN */
  float start_latent, start_noise;     /* OP_START */
  float row_weight[GUIDANCE_ROWS_MAX]; /* OP_GUIDE, as all fields up to guidance_rescale */
  float virtual_weight;
  struct residual_params residual[CALLS_MAX];
  float guidance_rescale;

  /* The prompts, and the output. */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* OP_PROMPT */
  float mix;                                      /* OP_PIXELS_OUT */
  enum show show;                                 /* OP_PIXELS_OUT; the map is that of control number show_control */
  int show_control;
  float guidance; /* OP_GUIDANCE_EMBED */

  /* Parameters of programs that encode a prompt or fill a ring. */
  int slot;                   /* OP_STORE_SLOT */
  unsigned turn;              /* OP_STORE_SLOT with ring: number of the run, one more in each */
  int tokens[TOKENS_MAX];     /* OP_EMBED */
  int end;                    /* OP_END_TOKEN */
  float emphasis[TOKENS_MAX]; /* OP_EMPHASIS: each token's weight minus 1 */

  /* The controls and style pictures, and the place of the output. */
  struct control_params control[CONTROLS_MAX];
  struct style_params style[STYLES_MAX];
  bool on_device; /* The picture stays in the device's memory until somebody waits for it in the host's. */
};

/* True if a region runs in an iteration of the plan's loop; iteration is 0 outside the loop. */
bool region_runs(const struct region_when *when, const struct run_params *params, int iteration);

/* Parts of a finished plan that a run may leave out, as bits: one for each control, whose regions are then not entered,
 * and one for the styles, which then add nothing in any OP_STYLE. */
enum {
  IDLE_CONTROL = 1 /* shifted left by the control's index */,
  IDLE_STYLES = 1 << CONTROLS_MAX,
  IDLE_SETS = 2 << CONTROLS_MAX
};
/* Returns the bit of the control or of the styles to which a region belongs. */
unsigned region_idle(const struct region_when *when);
unsigned plan_may_idle(const struct plan *plan); /* Returns the bits of the controls and styles that the plan has. */
/* Returns the bits of those that this run leaves out from beginning to end. */
unsigned run_idles(const struct plan *plan, const struct run_params *params);

/* style_gain returns the factor of a style in a part of the network. style_slot returns the slot of keys and values
 * that a picture of OP_STYLE's y uses for a style. */
static inline float style_gain(const struct style_params *style, enum style_part part) {
  return style->weight * style->part[part];
}
static inline int style_slot(const struct op_style *op, const struct style_params *style, int picture) {
  return guidance_row(guidance_rows(op->first, op->rows, op->y.n), picture) ? op->k.n - 1 : style->slot;
}

/* Returns the number of times that a run with these parameters runs an op. */
int run_op_runs(const struct plan *plan, int op, const struct run_params *params);
/* Returns the factor of OP_INJECT for a picture of its y. */
float inject_gain(const struct op_inject *op, const struct run_params *params, int iteration, int picture);

#endif
