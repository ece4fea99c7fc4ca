/* struct run_params: the parameters of one run of a plan, besides its frames. The comment on a field names the op that
 * reads it; that op's header (op_*.h) has the formula. The functions tell what follows from the parameters: which ops
 * are skipped, how many times an op is executed, and how much each control and style picture adds. */
#ifndef UNET_PLAN_RUN_H
#define UNET_PLAN_RUN_H

#include "unet/plan/plan.h"

/* The rectangle of a frame that the network reads, and the rectangle of the network's picture into which it is
 * resized. */
struct geometry {
  float source_x, source_y, source_w, source_h; /* rectangle of the frame, in luma samples */
  int dest_x, dest_y, dest_w, dest_h;           /* destination rectangle, in pixels of OP_PIXELS_IN's y */
};

struct step_params {
  float timestep; /* OP_TIMESTEP: the timestep of this call of the U-Net */
  /* coefficients of OP_STEP's formula (op_steps.h), which has these fields' names */
  float x, model, noise;
  float earlier[EARLIER_MAX], keep_x, keep_model;
};

/* Coefficients of residual guidance in OP_GUIDE's formula (op_steps.h), for one call of the U-Net. */
struct residual_params {
  float x, reference, clean_x, clean_model;
};

/* The prompts that are blended for one guidance row (one of the predictions that a step computes for a latent): slot
 * numbers and weights of encoded prompts. The first weight of 0 ends the list. */
enum { PROMPTS_MAX = SLOT_PRESETS };
struct prompt_params {
  int slot[PROMPTS_MAX];
  float weight[PROMPTS_MAX];
};

/* What OP_PROMPT notes of the blend that is in its result (operand `note`). */
struct prompt_note {
  uint64_t slots;   /* address of the tensor `slots` in the device's memory */
  uint32_t changes; /* device_changes when the run was submitted */
  uint32_t done;    /* on a GPU: number of the kernel's thread blocks that are done; 0 between runs */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* entries that the op does not read are undefined */
};
enum { PROMPT_NOTE_VALUES = sizeof(struct prompt_note) / sizeof(int32_t) };

/* The parameters of one control: a map of the frame, and the control network that reads the map. */
struct control_params {
  /* OP_INJECT and REGION_CONTROL: factor of the control network's output in each call of the U-Net */
  float gain[CALLS_MAX];
  /* OP_INJECT: true: guess mode: the control network's output is added only to the prediction for the positive prompt,
   * with less weight in outer layers (inject_guess); false: it is added to all predictions */
  bool guess;
  /* REGION_MAP: true: this run computes the control's map; false: the map of an earlier run is used */
  bool map;
  /* OP_MAP, OP_RANGE: the map's parameters, such as thresholds; map_parameters (unet/base/maps.h) lists them for each
   * kind of map */
  float param[MAP_PARAMS];
};

/* The parameters of one style picture (OP_STYLE in op_layers.h). */
struct style_params {
  float weight; /* REGION_STYLE, OP_STYLE: weight of the style picture; 0: it adds nothing and is not read */
  /* OP_STYLE: for each group of attention layers (enum style_part), a factor by which the style picture's weight is
   * multiplied in these layers */
  float part[STYLE_PARTS];
  int slot; /* OP_STYLE: number of the slot that holds the style picture's keys and values */
};

/* The parameters of the bank: keys and values of earlier frames, to which self-attention attends (op_memory.h). */
struct bank_params {
  /* largest number of earlier frames to attend to; 0: none, and the ops of REGION_BANK are not executed */
  int frames;
  int every; /* one frame in every `every` frames is stored in the bank (earlier frames' keys and values); at least 1 */
  /* true: the bank (earlier frames' keys and values) is emptied first, because `frames` or `every` has changed, or
   * because the last run did not use the bank */
  bool anew;
};

/* All numbers that a run reads, besides tensors and frames. device_submit copies them, so the caller may change its own
 * copy as soon as device_submit has returned. */
struct run_params {
  /* The fields from `geometry` to `guidance_rescale` concern the frames and the sampler's steps. geometry has an entry
   * for each frame: geometry[source * n + i] is for frame i of source number `source` (op_pixels_in.source), in a run
   * of n pictures. step and residual have one entry for each call of the U-Net. */
  struct geometry geometry[FRAMES_MAX];
  struct step_params step[CALLS_MAX];
  /* OP_BETWEEN: factors of two seeds' noises, whose sum is a picture's noise; one pair for each picture of the run */
  float between[BATCH_MAX][2];
  float start_latent, start_noise; /* OP_START: factors of the input's latent and of the noise */
  float feedback; /* OP_START: fraction, 0 to 1, of the input's latent that is replaced by the last picture's latent */
  bool carried;   /* OP_CARRIED_NOISE: true: the noise moves with the picture; false: it stands still */
  /* OP_GUIDE: a factor for each guidance row (one of the predictions that a step computes for a latent). OP_GUIDE also
   * reads the three fields after this one; op_steps.h has the formula. */
  float row_weight[GUIDANCE_ROWS_MAX];
  float virtual_weight;
  struct residual_params residual[CALLS_MAX];
  float guidance_rescale;

  /* The fields from `prompt` to `guidance` say which prompts the network's predictions are made for, and what the
   * output picture shows. */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* OP_PROMPT: for each guidance row (one of the predictions that a
                                                   * step computes for a latent), the prompts that are blended for it */
  /* OP_PIXELS_OUT: weight of the generated picture in the output, 0 to 1; the input has the rest */
  float mix;
  float detail; /* OP_DETAIL: how much of the input's fine detail is added to the generated picture, 0 to 1 */
  /* OP_PIXELS_OUT: the output shows the picture, the map of control number show_control (from 0), or both */
  enum show show;
  int show_control;
  float guidance; /* OP_GUIDANCE_EMBED: guidance scale */

  /* The fields from `slot` to `emphasis` are for plans that encode a prompt or write a ring buffer. A ring buffer is a
   * state (a tensor that outlives a run) with slots. Each run writes the next slot; after the last one comes slot 0
   * again. */
  int slot; /* OP_STORE_SLOT whose field `ring` is false: number of the slot that is written */
  /* OP_STORE_SLOT whose field `ring` is true: number of the run; slot number turn % n is written. The caller adds 1 for
   * each run; the number may overflow to 0. */
  unsigned turn;
  int tokens[TOKENS_MAX];     /* OP_EMBED: numbers of the text's tokens in the vocabulary */
  int end;                    /* OP_END_TOKEN: position of the end token in `tokens` */
  float emphasis[TOKENS_MAX]; /* OP_EMPHASIS: weight of each token, minus 1 */

  /* The fields from `control` to `on_device` are for controls, style pictures, and where the output picture is
   * stored. */
  struct control_params control[CONTROLS_MAX];
  struct style_params style[STYLES_MAX];
  /* true: the output picture stays in device memory, and frame_wait copies it to host memory when asked to; false: the
   * run copies it */
  bool on_device;
  bool early; /* true: the output picture is given out before the run has ended, with an event (picture.fence) */

  /* The fields from `restart` to `bank` say how the run uses data that earlier frames have left. */
  /* true: nothing of earlier frames is used, as if there had been none: no flow, moved noise, feedback or bank (earlier
   * frames' keys and values) */
  bool restart;
  bool motion; /* REGION_MOTION: true: the run measures how the picture moved since the last frame */
  struct bank_params bank;
};

/* Returns true if this run executes a region (ops that a run may skip) with this condition. iteration: number, from 0,
 * of the iteration of the plan's loop; 0 for a region outside the loop. */
bool region_runs(const struct region_when *when, const struct run_params *params, int iteration);

/* A bit for each part of a plan that a run may leave out. Bit k stands for control k. Bit CONTROLS_MAX stands for all
 * style pictures together, which are left out if none of them adds anything. IDLE_BANK stands for the bank of earlier
 * frames' keys and values, IDLE_MOTION for the measurement of motion. IDLE_SETS is the number of combinations of these
 * bits. */
enum {
  IDLE_CONTROL = 1 /* the bit of control 0; shifted left by k, the bit of control k */,
  IDLE_STYLES = 1 << CONTROLS_MAX,
  IDLE_BANK = 2 << CONTROLS_MAX,
  IDLE_MOTION = 4 << CONTROLS_MAX,
  IDLE_SETS = 8 << CONTROLS_MAX
};
/* Returns the bit (IDLE_...) for a region, a group of ops that is executed only if the condition `when` holds. It is
 * the bit of the part of the plan to which the region belongs. */
unsigned region_idle(const struct region_when *when);
/* Returns the bits (IDLE_...) of the parts that this plan has and its runs may leave out. */
unsigned plan_may_idle(const struct plan *plan);
/* Returns the bits (IDLE_...) of the parts that a run with these parameters leaves out in all of its steps. */
unsigned run_idles(const struct plan *plan, const struct run_params *params);
/* Returns true if a run with these parameters skips only the parts that run_idles names: each other region is executed
 * in every iteration. */
bool run_is_exact(const struct plan *plan, const struct run_params *params);

/* style_gain returns the weight of a style picture in a group of attention layers. style_slot returns the slot with the
 * keys and values for picture number `picture` of OP_STYLE's y. For the first picture of each latent it is the style
 * picture's own slot. For the others it is the last slot, which stands for no style picture. */
static inline float style_gain(const struct style_params *style, enum style_part part) {
  return style->weight * style->part[part];
}
static inline int style_slot(const struct op_style *op, const struct style_params *style, int picture) {
  return guidance_row(guidance_rows(op->first, op->rows, op->y.n), picture) ? op->k.n - 1 : style->slot;
}

/* Returns how often a run with these parameters executes op number `op` of the plan; 0 if the run skips the op's region
 * (ops that a run may skip). */
int run_op_runs(const struct plan *plan, int op, const struct run_params *params);
/* Returns g, the factor in the formula of OP_INJECT (op_layers.h), for picture number `picture` of the op's y.
 * iteration: number, from 0, of the iteration of the plan's loop; 0 outside the loop. */
float inject_gain(const struct op_inject *op, const struct run_params *params, int iteration, int picture);

#endif
