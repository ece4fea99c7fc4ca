/* The engine: a checkpoint, a device and the three plans (prompt, time table, frame) behind one small interface. This
 * and unet/base/ are what a frame sees of the network.
 *
 * Threads: one thread at a time calls an engine. */
#ifndef UNET_ENGINE_H
#define UNET_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/controls.h"
#include "unet/base/error.h"
#include "unet/base/frame.h"
#include "unet/base/log.h"
#include "unet/plan/profile.h"

struct checkpoint;
struct engine;

/* How a frame of another shape (frame_aspect) becomes a picture, whose pixels are always square. */
enum fit { FIT_CROP, FIT_LETTERBOX, FIT_STRETCH };

enum engine_sampler {
  SAMPLER_AUTO /* what the checkpoint's scheduler names */,
  SAMPLER_EULER,
  SAMPLER_DDIM,
  SAMPLER_LCM
};
enum engine_grid { GRID_AUTO, GRID_TRAILING, GRID_LEADING, GRID_LCM };

struct engine_params {
  const char *model; /* diffusers folder */
  const char *vae;   /* autoencoder folder that replaces the model's own; NULL: the model's */
  int width, height; /* of the generated picture; 0: the model's native size. Multiples of
                        engine_info.size_multiple, else an error says which sizes are near */
  bool nearest_size; /* width and height are wishes: rounded to the nearest multiple instead of refused */
  int steps;         /* 1..50; 0: what suits the model (1 for turbo and mini, 4 for LCM, 20 else) */
  enum engine_sampler sampler;
  enum engine_grid grid;
  bool strength_diffusers; /* strength as diffusers' image-to-image has it, for fidelity comparisons: quantised, and on
                              every model the point to start from */
  bool snap_strength;      /* strength snapped to the trained points of adversarially distilled models */
  bool text_to_image;      /* no input frame */
  bool guidance;           /* guidance rows are computed (2, or 3 for InstructPix2Pix models): a property of the plan */
  enum fit fit;
  enum pixel_format output; /* PIXEL_RGBA for a window, PIXEL_YUV420P for an encoder */
  const char *device;       /* "auto", "cpu", "cpu:plain", "cuda[:N]"; NULL: auto */
  int threads;              /* CPU threads, 0: one a core */
  bool bf16;                /* CPU: see device.h */
  size_t memory_limit;      /* device bytes; 0: none */
  const char *cache_dir;    /* tuning results; NULL: none kept */
  bool no_graph;
  bool stamps; /* of each frame are taken: engine_stamps */
  const struct log *log;
  /* model with vae, opened already: borrowed for as long as the engine is there. NULL: the engine opens them */
  struct checkpoint *checkpoint;
};

#define ENGINE_PARAMS_DEFAULTS                                                                                         \
  { .output = PIXEL_RGBA, .fit = FIT_CROP }

struct engine_info {
  char model[128]; /* name for people */
  char device[128], device_detail[256];
  int depth, longest_side; /* as device_info has them */
  int width, height; /* as prepared */
  int native_width, native_height, size_multiple;
  int steps;
  bool image_conditioned;      /* the U-Net sees the input picture itself (InstructPix2Pix, mini) */
  bool refuses_guidance;       /* trained without: engine_params.guidance is an error (mini) */
  bool has_guidance_embedding; /* full LCM: guidance acts with no second row */
  int rows;                    /* guidance rows of one U-Net call */
  const char *sampler, *grid, *prediction;
  double flops;        /* of one frame's matrix products */
  size_t weight_bytes; /* in the checkpoint */
  size_t device_bytes, device_peak_bytes;
  double device_energy_j; /* that the device has taken since some time before; 0: unknown */
  long device_allocations, device_launches, device_waits, device_captures; /* counted since start */
};

int engine_open(struct engine **engine, const struct engine_params *params, struct error *err);
void engine_close(struct engine **engine); /* stores NULL; takes NULL */
void engine_get_info(const struct engine *engine, struct engine_info *info);

/* Another size (0: keep) or step count (0: keep). Prompt slots and weights stay. On failure the engine goes on as it
 * was. No frame may be in flight. */
int engine_configure(struct engine *engine, int width, int height, int steps, struct error *err);

/* Encodes text into a slot (controls.h). Slots never set hold the empty prompt. Frames in flight keep the old prompt.
 * If the model has a list of styles it knows (mini's styles.json) and the text names none, the model's default style
 * takes its place (see styles_prompt) and one log line says so and names the styles. */
int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err);

/* New values of rows [first, first + rows) of a weight: FP32, a convolution's row as [kh][kw][in]. Layers that read the
 * same input are one weight. */
struct engine_weight {
  const char *name; /* component/tensor: "unet/conv_in.weight" */
  size_t first, rows;
  const float *values;
};

/* Changes weights, all of them at once: frames submitted before see none of the changes, frames submitted after see
 * all, prompts and time table included, which are computed anew from what they were made of. values are copied. On
 * failure nothing has changed. */
int engine_update(struct engine *engine, const struct engine_weight *weights, int count, struct error *err);

/* Starts one frame: controls and frame are copied or consumed before this returns. frame is NULL for text to image. At
 * most two frames are in flight. */
int engine_submit(struct engine *engine, const struct controls *controls, const struct frame *frame, struct error *err);

/* Waits for the oldest frame in flight. *picture gets its planes (owned by the engine, valid until the second submit
 * after this, or engine_configure) with the input's pts, captured_ns and serial. */
int engine_collect(struct engine *engine, struct frame *picture, struct error *err);

/* Measures where the time of a frame with these controls goes. No frame may be in flight; pictures collected before are
 * overwritten. The caller frees *profile, which is empty after a failure. */
int engine_profile(struct engine *engine, const struct controls *controls, const struct frame *frame,
                   const struct profile_request *request, struct profile *profile, struct error *err);

/* Milliseconds that the frame collected last took on the device by its own clock, from planes in its memory to the
 * picture in its memory. 0: the device has no clock of its own (CPU). */
double engine_device_ms(const struct engine *engine);

/* When the frame collected last was where, for engines opened with stamps. */
void engine_stamps(const struct engine *engine, struct run_stamps *stamps);

#endif
