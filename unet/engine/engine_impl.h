/* The inside of the engine: what the files of unet/engine/ share.
 *
 * engine.c            opens and closes engines; information; changes of weights
 * prepared.c          handles: frame plans prepared for a size and a step count
 * prompts.c           prompt slots: from text to tokens to encodings on the device
 * text_keys.c         keys and values of the slots that frames use
 * sampling.c          the choice of sampler and schedule; time projections
 * noise.c             noise of a seed, and noise between two seeds
 * adapters.c          which weights adapters change, and the change of these weights
 * background.c        background work: texts, keys and adapters, one slice after each frame
 * shown.c             which prompts and adapters a frame shows while others are made in the background
 * style_slots.c       style pictures: their places on the device, and when they are shown
 * style_picture.c     converts a frame to the image encoder's input
 * control_networks.c  opens the networks of controls; how much each control adds in each step
 * mask.c              the region that inpainting models repaint
 * geometry.c          which part of a frame the picture shows
 * guidance.c          which prompts a run reads, and the weights of its guidance rows
 * frames.c            engine_submit and engine_collect: from controls to the parameters of a run */
#ifndef UNET_ENGINE_ENGINE_IMPL_H
#define UNET_ENGINE_ENGINE_IMPL_H

#include <pthread.h>

#include "unet/engine.h"
#include "unet/engine/adapters.h"
#include "unet/engine/recent.h"
#include "unet/model/plans.h"
#include "unet/plan/device.h"
#include "unet/sample/sampler.h"

enum { IN_FLIGHT_MAX = 2 };

/* The inputs from which the time projections on the device were computed. Everything that a U-Net adds to its time
 * embedding must be listed here. */
struct conditioning {
  float timestep[CALLS_MAX];
  struct {
    uint64_t serial[PROMPTS_MAX]; /* prompt_slot.serial of the texts that are blended; 0 where the weight is 0 */
    float weight[PROMPTS_MAX];
  } text[GUIDANCE_ROWS_MAX]; /* for each guidance row, if the network reads pooled texts */
  float guidance;            /* 0 if the network does not embed guidance */
  uint64_t version;          /* version of the weights */
};

/* A position between two seeds: at `part` of the way from the noise of `seed` to that of seed + 1. */
struct noise_place {
  uint64_t seed;
  double part; /* 0 to below 1 */
};

/* The noise of one seed on the device. */
struct held_noise {
  uint64_t seed;
  bool start;  /* the noise of OP_START is there */
  int samples; /* number of the steps' samples that are there */
};

/* The noise of one seed in the host's memory: its samples, one after the other. */
struct made_noise {
  uint64_t seed;
  size_t elements; /* number of values that are made so far */
  float *values;
};

/* A frame in a stream batch. */
struct batched_frame {
  bool there; /* false: the place is empty, at first or because of a request with `drain` */
  struct frame_identity identity;
  void *opaque;
  int64_t submitted_ns;
  bool whole; /* at its submission everything that its controls asked for was ready */
  float mix;
  struct sampler_table table;
  float gain[CONTROLS_MAX][CALLS_MAX]; /* gain of its controls at its steps */
};

/* The noise of one picture of a run. */
struct picture_noise {
  struct held_noise whole;  /* noise in the frame plan's states, if it is that of a single seed */
  struct held_noise end[2]; /* noise in prepared.ends: of an even seed, and of an odd one */
  struct noise_place place; /* the place of the noise in the frame plan's states, if `between` is set */
  bool between;             /* the frame plan's states hold noise between two seeds */
  int samples;              /* number of the steps' samples that are there between the two seeds */
};

/* A handle: a frame plan that is ready to run, and its sampling state. */
struct prepared {
  /* Set by engine_prepare. */
  struct prepared *next; /* next handle in engine.handles */
  struct frame_shape shape;
  struct engine_shape wish; /* the shape as it was asked for */
  struct plan plan, times_plan, noise_plan;
  struct program *program, *times_program, *noise_program;
  struct frame_noise noise;

  /* Used only by the thread that submits. */
  struct batched_frame *batched_frames; /* frames in the stream batch, newest first; the last one is done */
  struct noise_ends ends;               /* states between which noise_program interpolates; set by engine_prepare */
  struct made_noise made;               /* noise that is copied to the device, or made ahead */
  struct sampling sampling;
  struct sampler_table table; /* table of sampling; made anew when strength or eta changes */
  bool table_known;
  int runs_in_flight;
  struct picture_noise noises[BATCH_MAX];
  struct noise_place place;  /* place of the last frame's noise */
  double step;               /* distance from the place of the frame before to that one, in seeds */
  float *kept;               /* buffer in which the mask is resized; NULL: the plan has no mask */
  uint64_t mask_version;     /* mask.version of the mask on the device; 0: none, everything is repainted */
  struct conditioning times; /* inputs of the time projections on the device, if times_known */
  bool times_known;
  int map_age[CONTROLS_MAX]; /* runs since each depth map was made; 0: the next run that reads the map makes it */
  /* times_weights is the version of the weights that times_plan reads. It is looked up again whenever weights_version
   * is not that of the resources. */
  uint64_t times_weights, weights_version;
};

/* A run between engine_submit and the collection of its last picture. */
struct run_in_flight {
  struct prepared *prepared;
  bool pending;     /* the run makes no picture that the caller gets */
  int count, given; /* pictures that the caller gets, and those that it has got */
  struct {
    struct frame_identity identity;
    void *opaque;
  } of[BATCH_MAX];
  int64_t submitted_ns;
  bool whole;

  /* Set when the first picture is collected. */
  struct frame pictures[BATCH_MAX];
  int64_t finished_ns;
  double device_ms;
  struct run_stamps stamps;
  struct submit_times submitted;
};

/* A prompt slot: the text from which its encoding on the device was made. */
struct prompt_slot {
  bool filled;                             /* false: SLOT_EMPTY is used instead */
  bool empty;                              /* the text is "" */
  int chunks;                              /* number of chunks, at least 1 */
  struct prompt tokens[TEXT_ENCODERS_MAX]; /* tokens for each text encoder */
  uint64_t version;                        /* plan_weights_version of the weights with which it was encoded */
  uint64_t serial;                         /* number of the encoding; each encoding of a text has a new one */
};

/* The keys and values of prompts with a certain number of chunks. */
struct prompt_keys {
  struct plan plan;
  struct program *program; /* NULL: no handle has needed it so far */
  struct recent recent;    /* which prompts' keys are in which place; the keys of this cache are text_keys_name */
};

/* A slot for a style picture. Pictures are numbered from 1; 0: none. */
struct style_slot {
  float *patches;                  /* input of the image encoder for picture `wanted` */
  uint64_t wanted, started, shown; /* numbers of the picture that was set, was begun, and is shown by frames */
  int place;                       /* which of the slot's two places on the device is shown: 0 or 1 */
};

struct style_pictures {
  struct ip_adapter *adapter; /* NULL: there is none */
  struct plan plan, none_plan;
  struct program *program;
  struct tensor input; /* state of `plan` that receives the patches */
  struct style_slot list[STYLES_MAX];
  uint64_t pictures; /* number of pictures that were set so far */
};

/* The keys and values for the text attention of a control's own network. They have the same places as those of the
 * model (struct prompt_keys). */
struct control_keys {
  struct plan plan;
  struct program *program;     /* NULL: no handle has needed it so far, or the network does not attend to text */
  uint64_t names[KEY_SLOTS];   /* text_keys_name of what each place holds; 0: nothing */
  uint64_t weights[KEY_SLOTS]; /* version of the network's weights with which that was computed */
};

/* The mask of an inpainting model, in its own size. */
struct mask {
  uint8_t *kept; /* [height][width]: 1 where the picture stays; NULL: everything is repainted */
  int width, height;
  float sample_aspect; /* see struct frame */
  uint64_t version;    /* increased by each change */
};

/* A run of a program for texts or keys that waits to be done in the background. */
struct job {
  struct program *program;
  struct run_params run;
};

/* The prompts that the last frame showed. */
struct shown {
  bool known;
  int rows, chunks;
  unsigned controls;                              /* controls whose networks' keys are there as well */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* with places of keys and values instead of slots */
  uint64_t names[KEY_SLOTS];                      /* text_keys_name of these prompts */
  int name_count;
};

struct engine;

/* The background work of a smooth engine, which is done one thing after the other. Only the thread that submits uses
 * it. */
struct background {
  bool smooth;
  bool at_once; /* runs are started now instead of appended to the jobs */
  bool behind;  /* the last frame did not show everything that it asked for */
  struct job *jobs;
  int first, count, room; /* jobs first to count - 1 are still to be done; there is memory for `room` jobs */
  enum { MERGE_NONE, MERGE_ASKED, MERGE_MAKING, MERGE_MADE } merge; /* progress of a change of the adapters' weights */
  /* starts the encoding of texts and keys with the new weights, when they are made */
  int (*after_merge)(struct engine *engine, struct error *err);
  struct controls wanted; /* controls of the frame that asked for the change, and the shape of its handle */
  struct frame_shape wanted_shape;
  struct shown shown;
  bool failed; /* a slice after a frame has failed with `err`, which the next call returns */
  struct error err;
};

struct engine {
  /* Set when the engine is opened; the device changes in engine_fall_back. */
  const struct log *log;
  char *model_path; /* for messages */
  struct checkpoint *checkpoint;
  struct checkpoint *own_checkpoint; /* the same if the engine has opened it; NULL: it is borrowed */
  size_t weight_elements;            /* number of values in all weights that the networks read */
  struct resources resources;
  struct model model;
  struct device *device;
  struct device_options options; /* options of the device; name and cache_dir are owned */
  enum fit fit;
  enum pixel_format output;

  /* Used by the thread that submits. Threads that prepare handles hold `preparing`: they change the fields that name
   * it, and read adapters and sampling. */
  struct adapters adapters;
  struct background background;

  struct plan text_plan[TEXT_ENCODERS_MAX];
  struct program *text_program[TEXT_ENCODERS_MAX];

  struct prompt_slot slots[SLOTS];
  uint64_t encodings; /* number of encodings so far */
  /* keys[i] is for prompts of i + 1 chunks; written under `preparing` until the first handle that needs it is ready */
  struct prompt_keys keys[PROMPT_CHUNKS_MAX];
  struct control_network *control_networks[CONTROLS_MAX]; /* the open networks, by control; under `preparing` */
  struct depth *depth; /* the network for all depth maps; under `preparing`. NULL: there is none */
  struct control_keys control_keys[CONTROLS_MAX][PROMPT_CHUNKS_MAX]; /* as keys */
  enum engine_prompt_syntax syntax;
  enum text_fix text_fix;
  struct sampling sampling; /* initial values for each handle */
  bool told_stand_in;       /* the log line about a replaced sampler was written; under `preparing` */
  struct mask mask;
  struct style_pictures styles;
  bool blends; /* strength blends the result with the input, and the sampler's own strength is always 1 */
  /* Versions of the weights that the plans of texts and keys read. They are looked up again whenever weights_version is
   * not that of the resources. */
  uint64_t text_weights, keys_weights, weights_version;

  struct run_in_flight runs[IN_FLIGHT_MAX]; /* oldest first */
  int in_flight;

  /* The handles. */
  pthread_mutex_t preparing; /* held while a handle is prepared or released */
  struct prepared *handles;  /* changed under `preparing` and `listing`, read under either */
  pthread_mutex_t listing;   /* held only for moments */
};

/* --- prepared.c --- */

/* Returns true if this is one of the engine's handles; a handle that was released is none. The pointer is compared, and
 * not followed. */
bool prepared_is_known(struct engine *engine, const struct prepared *prepared);
/* Releases the pictures that were not yet given to the caller. */
void run_release_pictures(struct run_in_flight *run);
/* Releases every handle, when the engine leaves its device. */
void prepared_release_all(struct engine *engine);

/* --- prompts.c --- */

/* prompts_prepare prepares the text encoders' programs on a device that was just opened. prompts_leave releases
 * them. */
int prompts_prepare(struct engine *engine, struct error *err);
void prompts_leave(struct engine *engine);
/* Stores the tokens of the empty prompt in SLOT_EMPTY; prompts_restore then encodes them. */
int prompts_begin(struct engine *engine, struct error *err);
/* Encodes the empty prompt and every slot that was set, on a device that was just opened. */
int prompts_restore(struct engine *engine, struct error *err);
/* Stores pointers to the slot numbers that the run's first `rows` guidance rows use, so that they can be replaced in
 * place. Returns the number of them. */
enum { USED_MAX = PROMPTS_MAX * GUIDANCE_ROWS_MAX };
int prompts_used(struct run_params *run, int rows, int *used[USED_MAX]);
/* Encodes the texts of those slots again, if a weight has changed since they were encoded. */
int prompts_refresh(struct engine *engine, int rows, struct run_params *run, struct error *err);
/* Returns slot, or SLOT_EMPTY if it was never set. */
int prompts_slot(const struct engine *engine, int slot);
/* Returns the largest number of chunks among the prompts in these slots; at least 1. */
int prompts_most_chunks(const struct engine *engine, const int *slots, int count);
/* Returns true if zeros stand for the negative prompt's encoding: it is empty, and the model was trained with zeros. */
bool prompts_zero_negative(const struct engine *engine);

/* --- text_keys.c --- */

/* text_keys_prepare prepares the programs that compute keys and values for handles of this shape. text_keys_leave
 * releases all of them. */
int text_keys_prepare(struct engine *engine, const struct frame_shape *shape, struct error *err);
void text_keys_leave(struct engine *engine);
/* Replaces the prompt slots in *run by the places where the slots' keys and values are, and starts the computation of
 * those that are missing. The slots' texts must be encoded (prompts_refresh). shape: that of the handle that runs. */
int text_keys_place(struct engine *engine, const struct frame_shape *shape, struct run_params *run, struct error *err);
/* Stores in background.shown which prompts a frame of such a handle shows: their names, and the places of their keys
 * and values. */
void text_keys_show(struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                    const struct run_params *placed);
/* Returns true if a job that has not run yet writes a text or keys and values that such a frame reads. */
bool text_keys_await(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                     struct run_params *places);

/* --- guidance.c --- */

/* Fills in the prompt slots of the run, and the weights of its guidance rows. */
void guidance_fill(const struct engine *engine, const struct frame_shape *shape, const struct controls *controls,
                   struct run_params *run);

/* Returns x clamped to 0..1; 0 for NaN. */
float clamp01(float x);

/* --- background.c --- */

/* Prepares a program that encodes texts or computes keys. With a smooth engine its runs can be split into parts. */
int background_prepare(struct engine *engine, struct program **program, const struct plan *plan, struct error *err);
/* Starts a run of such a program, or appends it to the jobs of a smooth engine. */
int background_start(struct engine *engine, struct program *program, const struct run_params *run, struct error *err);
/* background_after_frame does one slice of the background work, after a frame was started. If that fails,
 * background_tell_failure returns -1 with the error once, at the beginning of the next call. */
void background_after_frame(struct engine *engine);
int background_tell_failure(struct background *background, struct error *err);
/* Does all background work that is left, now. */
int background_finish(struct engine *engine, struct error *err);
void background_free(struct engine *engine);

/* Returns true if background work is left. */
bool background_are_due(const struct background *background);

/* --- shown.c --- */

/* Fills in the prompts and style pictures of the run, applies the adapters' weights, and computes time projections.
 * Returns 1 if the run shows everything that the controls ask for, 0 if it shows texts, adapters or style pictures of
 * an earlier frame while theirs are made, -1 after a failure. */
int shown_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
               struct run_params *run, struct error *err);

/* --- style_slots.c --- */

/* Opens the IP-Adapter of the parameters, if there is one. Called after model_init. */
int style_pictures_open(struct engine *engine, const struct engine_params *params, struct error *err);
/* style_pictures_begin prepares the programs on a device that was just opened. style_pictures_leave releases them.
 * style_pictures_close frees the adapter and the pictures. */
int style_pictures_begin(struct engine *engine, struct error *err);
void style_pictures_leave(struct engine *engine);
void style_pictures_close(struct engine *engine);
/* Returns the input size of the adapter's image encoder; zeros if there is no adapter. */
struct style_format style_pictures_format(const struct engine *engine);
/* Fills in the styles of the run. Returns 1 if it shows all pictures that were set, 0 if some are still being made.
 * at_once: makes them now instead of in the background. */
int style_pictures_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                        bool at_once, struct run_params *run, struct error *err);

/* --- control_networks.c --- */

/* Opens the controls of the parameters. */
int controls_open(struct engine *engine, const struct engine_params *params, struct error *err);
void controls_close(struct engine *engine);
/* Refuses a handle with controls that were not opened. */
int controls_check(const struct engine *engine, unsigned controls, struct error *err);
/* Returns true if a control with these values adds anything in one of the run's steps. */
bool controls_acts(const struct prepared *prepared, const struct control_values *values, const struct run_params *run);
/* Fills in the values of the handle's controls. The timesteps of the run's steps must be set already. */
void controls_fill(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                   struct run_params *run);

/* --- mask.c --- */

/* Resizes the engine's mask for this handle and writes it to the device, if it has changed since it was last
 * written. */
int mask_write(struct engine *engine, struct prepared *prepared, struct error *err);

/* --- geometry.c --- */

/* Returns the part of a frame that the picture shows, and where it lies in the picture. */
struct geometry geometry_fit(enum fit fit, const struct frame *frame, const struct frame_shape *shape);

/* --- sampling.c --- */

/* Sets the fields of sampling that are the same for all handles. */
void sampling_begin(struct sampling *sampling, const struct engine_params *params, const struct checkpoint *checkpoint);
/* Sets the fields that depend on the handle's shape; refuses steps and spacings that are not supported. */
int sampling_choose(struct sampling *sampling, const struct engine_shape *wish, const struct checkpoint *checkpoint,
                    struct error *err);
/* Writes a log line, once for each engine, if the scheduler's file asks for a sampler, or for steps of one, that are
 * not built in, and the user has chosen no other sampler. The caller holds `preparing`. */
void sampling_tell(struct engine *engine, const struct engine_shape *wish, const struct sampling *sampling);
/* sampling_table fills the handle's table for this strength and eta. sampling_times computes the time projections of
 * the run's steps. Each does nothing if its result is up to date. */
void sampling_table(const struct engine *engine, struct prepared *prepared, double strength, double eta);
int sampling_times(struct engine *engine, struct prepared *prepared, const struct run_params *run, struct error *err);
/* True if a frame of this run can go on showing the texts of the frame before: the time projections that it needs are
 * on the device, or are made without pooled texts. */
bool sampling_keeps_texts(const struct engine *engine, struct prepared *prepared, const struct run_params *run);
/* Computes the time projections of a run that shows the texts of the frame before. sampling_keeps_texts must hold. */
int sampling_times_of_former_texts(struct engine *engine, struct prepared *prepared, const struct run_params *run,
                                   struct error *err);

/* --- noise.c --- */

/* Writes to the device the noise that the controls of the run's frames ask for, as many samples as the handle's table
 * uses. */
int noise_bring(struct engine *engine, struct prepared *prepared, const struct controls *const *controls, int count,
                struct error *err);
/* Makes a slice of the noise of the next seed after a frame was started, while the seed position moves steadily. */
void noise_make_ahead(struct prepared *prepared);

#endif
