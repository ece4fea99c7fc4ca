/* The parameters of one run, besides its frames: struct run_params. A comment behind a field names the op that reads
 * it, and the op's header (op_steps.h, op_prompts.h, op_pixels.h, op_layers.h, op_carry.h) has the formula. The
 * functions say what follows from the parameters: which regions run, how often an op runs, and how much each control
 * and style picture adds. */
#ifndef UNET_PLAN_RUN_H
#define UNET_PLAN_RUN_H

#include "unet/plan/plan.h"

/* The rectangle of a frame that the network reads, and the rectangle of the network's picture into which it is
 * resized. */
struct geometry {
  float source_x, source_y, source_w, source_h; /* source rectangle, in luma samples */
  int dest_x, dest_y, dest_w, dest_h;           /* destination rectangle, in pixels of OP_PIXELS_IN's y */
};

struct step_params {
  float timestep; /* OP_TIMESTEP */
  /* coefficients of OP_STEP: op_steps.h has the formula with x, model, noise, earlier, keep_x and keep_model */
  float x, model, noise;
  float earlier[EARLIER_MAX], keep_x, keep_model;
};

/* Coefficients of the residual in OP_GUIDE for one call of the U-Net: op_steps.h has the formula with these four. */
struct residual_params {
  float x, reference, clean_x, clean_model;
};

/* The prompts that are blended for one guidance row: slot numbers and their weights. The first weight of 0 ends the
 * list. */
enum { PROMPTS_MAX = SLOT_PRESETS };
struct prompt_params {
  int slot[PROMPTS_MAX];
  float weight[PROMPTS_MAX];
};

/* The parameters of one control, which is a map and a network that reads the map. */
struct control_params {
  /* OP_INJECT and REGION_CONTROL: factor of the network's output, indexed by calls of the U-Net */
  float gain[CALLS_MAX];
  /* OP_INJECT: guess mode: only the positive prompt's row gets the network's output, weaker in outer layers
   * (inject_guess) */
  bool guess;
  bool map;                /* REGION_MAP: true: this run computes the control's map */
  float param[MAP_PARAMS]; /* OP_MAP */
};

/* The parameters of one style picture (OP_STYLE in op_layers.h). */
struct style_params {
  float weight;            /* REGION_STYLE, OP_STYLE; 0: the picture adds nothing and is not read */
  float part[STYLE_PARTS]; /* OP_STYLE: factor of the weight in each part of the network (enum style_part) */
  int slot;                /* OP_STYLE: slot of the picture's keys and values */
};

/* The bank: keys and values of earlier frames, to which self-attention attends (op_memory.h). */
struct bank_params {
  int frames; /* most earlier frames to attend to; 0: the bank is off, and REGION_BANK is skipped */
  int every;  /* one of so many frames is kept; at least 1 */
  bool anew;  /* the bank begins empty: one of the two has changed, or the bank was off in the last run */
};

/* Everything that a run reads and that is neither a tensor nor a frame. device_submit copies it, so the caller may
 * change its own copy as soon as device_submit has returned. */
struct run_params {
  /* The frames and the steps. geometry[source * n + i] is of frame i of a source (op_pixels_in.source), with n pictures
   * in a run. step[] and residual[] have one entry for each call of the U-Net. */
  struct geometry geometry[FRAMES_MAX];
  struct step_params step[CALLS_MAX];
  /* OP_BETWEEN: for each picture of the run, the factors of the two noises that are blended */
  float between[BATCH_MAX][2];
  float start_latent, start_noise; /* OP_START: factors of the input's latent and of the noise */
  float feedback;                  /* OP_START: how much of the last picture's latent takes the input's place, 0 to 1 */
  bool carried;                    /* OP_CARRIED_NOISE: the noise moves with the picture */
  /* OP_GUIDE: factor of each guidance row's prediction. OP_GUIDE also reads the three fields behind this one;
   * op_steps.h has the formula. */
  float row_weight[GUIDANCE_ROWS_MAX];
  float virtual_weight;
  struct residual_params residual[CALLS_MAX];
  float guidance_rescale;

  /* The prompts of each guidance row, and how the output picture is composed. */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* OP_PROMPT */
  /* OP_PIXELS_OUT: weight of the generated picture, 0 to 1; the rest is the input */
  float mix;
  /* OP_PIXELS_OUT: the picture, the map of control number show_control (from 0), or both */
  enum show show;
  int show_control;
  float guidance; /* OP_GUIDANCE_EMBED: guidance scale */

  /* Parameters of programs that encode a prompt, or that write a ring: a state whose slots are written one after the
   * other, one in each run, and from slot 0 again after the last. */
  int slot; /* OP_STORE_SLOT: number of the slot that is written */
  /* OP_STORE_SLOT with ring: the run's number; slot turn modulo n is written. The caller adds 1 for each run; it may
   * overflow to 0. */
  unsigned turn;
  int tokens[TOKENS_MAX];     /* OP_EMBED: numbers of the tokens in the vocabulary */
  int end;                    /* OP_END_TOKEN: position of the end token */
  float emphasis[TOKENS_MAX]; /* OP_EMPHASIS: each token's weight minus 1 */

  /* The controls, the style pictures, and the place of the output picture. */
  struct control_params control[CONTROLS_MAX];
  struct style_params style[STYLES_MAX];
  bool on_device; /* the picture is not copied to host memory until frame_wait asks for it there */

  /* Memory of earlier frames. */
  bool restart; /* the run has no past: states that carry something of earlier frames begin anew */
  bool motion;  /* REGION_MOTION */
  struct bank_params bank;
};

/* True if this run enters a region. iteration: number of the iteration of the plan's loop, from 0; 0 for a region
 * outside the loop. */
bool region_runs(const struct region_when *when, const struct run_params *params, int iteration);

/* Bits for what a run may leave out of a finished plan: bit k is control k, whose regions are then not entered; bit
 * CONTROLS_MAX is all styles, none of which then adds anything in any OP_STYLE; then come the bank, which is off, and
 * the regions of REGION_MOTION. IDLE_SETS is the number of combinations of these bits. */
enum {
  IDLE_CONTROL = 1 /* bit of control 0; shifted left by k it is that of control k */,
  IDLE_STYLES = 1 << CONTROLS_MAX,
  IDLE_BANK = 2 << CONTROLS_MAX,
  IDLE_MOTION = 4 << CONTROLS_MAX,
  IDLE_SETS = 8 << CONTROLS_MAX
};
/* Returns the bit of what decides if a region runs. */
unsigned region_idle(const struct region_when *when);
unsigned plan_may_idle(const struct plan *plan); /* Returns the bits that a run of the plan may leave out. */
/* Returns the bits of what this run leaves out in all of its steps. */
unsigned run_idles(const struct plan *plan, const struct run_params *params);

/* style_gain returns the weight of a style picture in a part of the network. style_slot returns the slot whose keys and
 * values OP_STYLE uses for picture number `picture` of its y: the style's own, or the last slot (no picture) if
 * `picture` is not the first row of its latent. */
static inline float style_gain(const struct style_params *style, enum style_part part) {
  return style->weight * style->part[part];
}
static inline int style_slot(const struct op_style *op, const struct style_params *style, int picture) {
  return guidance_row(guidance_rows(op->first, op->rows, op->y.n), picture) ? op->k.n - 1 : style->slot;
}

/* Returns how often a run with these parameters executes op number `op` of the plan; 0: it is in a region that is
 * skipped. */
int run_op_runs(const struct plan *plan, int op, const struct run_params *params);
/* Returns g, the factor in the formula of OP_INJECT (op_layers.h), for picture number `picture` of the op's y. */
float inject_gain(const struct op_inject *op, const struct run_params *params, int iteration, int picture);

#endif
