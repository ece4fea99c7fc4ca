/* The engine from the inside: what the files of unet/engine/ share.
 *
 * engine.c            opening, closing, information, weights that change
 * prepared.c          handles: a frame plan prepared for a size and a step count
 * prompts.c           slots: text to tokens to the device
 * text_keys.c         keys and values of the slots in use
 * sampling.c          what is sampled: schedule, time projections
 * noise.c             noise of seeds and between them
 * adapters.c          adapters: what they change, and when
 * background.c        runs of texts and keys, changes of adapters: a slice of them behind each frame
 * shown.c             which prompts and adapters a frame shows while others are made in the background
 * style_slots.c       style pictures: their places, when they come
 * style_picture.c     a frame to what the image encoder reads
 * control_networks.c  controls: their networks, and how much each adds in which step
 * mask.c              what inpainting models are to repaint
 * geometry.c          which part of an input a picture shows
 * guidance.c          which prompts a run reads, and how its rows are weighed
 * frames.c            submit, collect: controls to the arguments of a run */
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

/* What the time projections on the device were computed from. Whatever a U-Net adds to its time embedding belongs here.
 */
struct conditioning {
  float timestep[CALLS_MAX];
  struct {
    uint64_t serial[PROMPTS_MAX]; /* of the encodings that are blended; 0 where the weight is */
    float weight[PROMPTS_MAX];
  } text[GUIDANCE_ROWS_MAX]; /* of each time row, where pooled text is an input */
  float guidance;            /* 0 where it is no input of theirs */
  uint64_t version;          /* of the weights */
};

/* Between which seeds noise lies: this much of the way from that of seed to that of the next. */
struct noise_place {
  uint64_t seed;
  double part; /* 0 to below 1 */
};

/* A seed's noise on the device. */
struct held_noise {
  uint64_t seed;
  bool start;  /* that of the start is there */
  int samples; /* of the steps, that are there */
};

/* A seed's noise as the host has made it: its samples, one after the other. */
struct made_noise {
  uint64_t seed;
  size_t elements; /* that are there */
  float *values;
};

/* A frame on its way through a stream batch. */
struct passenger {
  bool there; /* else a place that drains left empty */
  struct frame_identity identity;
  void *opaque;
  int64_t submitted_ns;
  bool whole; /* when it came on board */
  float mix;
  struct sampler_table table;
  float gain[CONTROLS_MAX][CALLS_MAX]; /* of its controls at its steps */
};

/* The noise of one picture of a run. */
struct picture_noise {
  struct held_noise whole;  /* the frame plan's, where it is a seed's */
  struct held_noise end[2]; /* of ends */
  struct noise_place place; /* of the last frame */
  bool between;             /* the frame plan's noise is of that place between two seeds, so many samples of it */
  int samples;
};

/* A frame plan ready to run, and what it samples. */
struct prepared {
  struct prepared *next; /* of the engine's */
  struct frame_shape shape;
  struct engine_shape wish;
  struct plan plan, times_plan, noise_plan;
  struct program *program, *times_program, *noise_program;
  struct frame_noise noise;
  struct passenger *passengers; /* of a stream batch, newest first: after a run the one at the end has left */
  struct noise_ends ends;
  struct made_noise made; /* on its way to the device, or made ahead */
  struct sampling sampling;
  struct sampler_table table; /* of sampling: made anew when strength or eta changes */
  bool table_known;
  int flights; /* in flight */
  struct picture_noise noises[BATCH_MAX];
  struct noise_place place; /* of the last frame */
  double step;              /* to there from that of the frame before, in seeds */
  float *kept;              /* the mask on its way to the device; NULL: the plan has none */
  uint64_t mask_version;    /* of the mask on the device: engine.mask's; 0: all is repainted */
  struct conditioning times;
  bool times_known;
  int map_age[CONTROLS_MAX]; /* runs until a map of depth is made again; 0: the next that reads it makes it */
  /* Version of the weights that the plan of times reads; looked up again when weights_version is behind. */
  uint64_t times_weights, weights_version;
};

/* A run in flight. */
struct flight {
  struct prepared *prepared;
  bool pending;     /* it makes no picture that anyone waits for */
  int count, given; /* pictures that are waited for; those that were collected */
  struct {
    struct frame_identity identity;
    void *opaque;
  } of[BATCH_MAX];
  int64_t submitted_ns;
  bool whole;
  /* From when the first one is collected on */
  struct frame pictures[BATCH_MAX];
  int64_t finished_ns;
  double device_ms;
  struct run_stamps stamps;
  struct submit_times submitted;
};

/* What a prompt slot on the device was encoded from. */
struct prompt_slot {
  bool filled;                             /* else SLOT_EMPTY stands in */
  bool empty;                              /* of the text "" */
  int chunks;                              /* at least 1 */
  struct prompt tokens[TEXT_ENCODERS_MAX]; /* for each text encoder */
  uint64_t version;                        /* of the weights then: plan_weights_version */
  uint64_t serial;                         /* number of the encoding: a new one for every text */
};

/* Keys and values of prompts, so many chunks of each. */
struct prompt_keys {
  struct plan plan;
  struct program *program; /* NULL: no handle has needed it so far */
  struct recent recent;    /* those that are on the device: text_keys_name */
};

/* A style picture. Pictures are numbered; 0: none. */
struct style_slot {
  float *patches; /* of the wanted one */
  uint64_t wanted, started, shown;
  int place; /* which of its two is shown */
};

struct style_pictures {
  struct ip_adapter *adapter; /* NULL: there is none */
  struct plan plan, none_plan;
  struct program *program;
  struct tensor input; /* of plan */
  struct style_slot list[STYLES_MAX];
  uint64_t pictures; /* so far */
};

/* The same for a control's own attention, in the places that keys and values have for the model's. */
struct control_keys {
  struct plan plan;
  struct program *program;     /* NULL: as above, or its network attends to no text */
  uint64_t names[KEY_SLOTS];   /* what is there: text_keys_name; 0: nothing */
  uint64_t weights[KEY_SLOTS]; /* version of the network's weights then */
};

/* What inpainting models leave of a picture. */
struct mask {
  uint8_t *kept; /* [height][width]: 1 where it stays; NULL: nowhere */
  int width, height;
  float sample_aspect; /* as a frame's */
  uint64_t version;    /* raised by each change */
};

/* A run of a program of texts or keys that waits for its turn. */
struct job {
  struct program *program;
  struct run_params run;
};

/* What a frame shows of its prompts. */
struct shown {
  bool known;
  int rows, chunks;
  unsigned controls;                              /* whose keys and values are there, too */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX]; /* places of keys and values */
  uint64_t names[KEY_SLOTS];                      /* of what is there */
  int name_count;
};

struct engine;

/* The work of a smooth engine in the background: one thing after the other. */
struct background {
  bool smooth;
  bool at_once; /* what is started now is not put off */
  bool behind;  /* the last frame lacks something */
  struct job *jobs;
  int first, count, room; /* of jobs: those from first on are left */
  enum { MERGE_NONE, MERGE_ASKED, MERGE_MAKING, MERGE_MADE } merge;
  int (*after_merge)(struct engine *engine, struct error *err); /* starts the texts and keys with the new weights */
  struct controls wanted; /* of the frame that has asked for a merge, and its handle's shape */
  struct frame_shape wanted_shape;
  struct shown shown;
  bool failed; /* a slice behind a frame has: the next call says so */
  struct error err;
};

struct engine {
  const struct log *log;
  char *model_path; /* for messages */
  struct checkpoint *checkpoint;
  struct checkpoint *own_checkpoint; /* the same, or NULL: borrowed */
  size_t weight_elements;            /* of all weights that its networks read */
  struct resources resources;
  struct model model;
  struct device *device;
  struct device_options options; /* the device's; name and cache_dir are owned */
  enum fit fit;
  enum pixel_format output;

  struct adapters adapters;
  struct background background;

  struct plan text_plan[TEXT_ENCODERS_MAX];
  struct program *text_program[TEXT_ENCODERS_MAX];

  struct prompt_slot slots[SLOTS];
  uint64_t encodings;                         /* done so far */
  struct prompt_keys keys[PROMPT_CHUNKS_MAX]; /* of as many chunks as the index and 1; under preparing until a handle
                                                 has come that needs them */
  struct control_network *control_networks[CONTROLS_MAX]; /* those that were opened; under preparing */
  struct depth *depth; /* of all maps of depth; under preparing. NULL: there is none */
  struct control_keys control_keys[CONTROLS_MAX][PROMPT_CHUNKS_MAX];
  enum engine_prompt_syntax syntax;
  enum text_fix text_fix;
  struct sampling sampling; /* what each handle begins with */
  bool told_stand_in;       /* that a sampler is not the file's own; under preparing */
  struct mask mask;
  struct style_pictures styles;
  bool blends; /* strength is the picture's share beside the input; the sampler's is always 1 */
  /* Versions of the weights that the plans read; looked up again when weights_version is behind. */
  uint64_t text_weights, keys_weights, weights_version;

  struct flight flights[IN_FLIGHT_MAX]; /* oldest first */
  int in_flight;

  pthread_mutex_t preparing; /* held while a handle is prepared or released */
  struct prepared *handles;  /* changed under preparing and listing, read under either */
  pthread_mutex_t listing;   /* held for moments */
};

/* --- prepared.c --- */

/* Whether it is a handle of the engine's: one that was released is none. It is not looked into. */
bool prepared_is_known(struct engine *engine, const struct prepared *prepared);
/* Of a run that is not collected to the end: the pictures that are left. */
void flight_release(struct flight *flight);
/* Releases every handle, when the engine is closed. */
void prepared_release_all(struct engine *engine);

/* --- prompts.c --- */

/* The text encoders' programs, on a device that was just opened; and their end. */
int prompts_prepare(struct engine *engine, struct error *err);
void prompts_leave(struct engine *engine);
/* Puts the empty prompt's tokens into its slot; prompts_restore encodes them. */
int prompts_begin(struct engine *engine, struct error *err);
/* Encodes every slot that is filled, on a device that was just opened. */
int prompts_restore(struct engine *engine, struct error *err);
/* The slots that the run's rows read, in place; the number of them. */
enum { USED_MAX = PROMPTS_MAX * GUIDANCE_ROWS_MAX };
int prompts_used(struct run_params *run, int rows, int *used[USED_MAX]);
/* Encodes the texts of the run's prompt slots, of so many guidance rows, again where a weight has changed. */
int prompts_refresh(struct engine *engine, int rows, struct run_params *run, struct error *err);
/* The slot, or the empty prompt's where it was never set. */
int prompts_slot(const struct engine *engine, int slot);
/* Of the one of these slots that has most; at least 1. */
int prompts_most_chunks(const struct engine *engine, const int *slots, int count);
/* Whether the negative prompt is zeros: it says nothing, and the model wants that so. */
bool prompts_zero_negative(const struct engine *engine);

/* --- text_keys.c --- */

/* Makes ready what such handles need. */
int text_keys_prepare(struct engine *engine, const struct frame_shape *shape, struct error *err);
void text_keys_leave(struct engine *engine);
/* Replaces the prompt slots in *run, which are fresh, by the slots of their keys and values, which are computed where
 * they are missing. shape: of the handle that runs. */
int text_keys_place(struct engine *engine, const struct frame_shape *shape, struct run_params *run, struct error *err);
/* Notes what a frame of such a handle shows: its slots, and their places. */
void text_keys_show(struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                    const struct run_params *placed);
/* Whether a job writes what a run of such a handle, of these slots in these places, reads. */
bool text_keys_await(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                     struct run_params *places);

/* --- guidance.c --- */

/* The run's prompt slots and the weights of guidance rows. */
void guidance_fill(const struct engine *engine, const struct frame_shape *shape, const struct controls *controls,
                   struct run_params *run);

/* x held between 0 and 1; of a NaN 0. */
float clamp01(float x);

/* --- background.c --- */

/* Prepares a program of texts or keys. */
int background_prepare(struct engine *engine, struct program **program, const struct plan *plan, struct error *err);
/* Starts a run of one, or puts it off. */
int background_start(struct engine *engine, struct program *program, const struct run_params *run, struct error *err);
/* A slice of what was put off, behind a frame. A failure is told by what is called next. */
void background_after_frame(struct engine *engine);
int background_tell_failure(struct background *background, struct error *err);
/* All of it, now. */
int background_finish(struct engine *engine, struct error *err);
void background_free(struct engine *engine);

bool background_are_due(const struct background *background);

/* --- shown.c --- */

/* Prompts and adapters of a frame, and its time projections: as the controls have them where all is there, which
 * returns 1, else as the frame before had them (0). -1: failed. */
int shown_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
               struct run_params *run, struct error *err);

/* --- style_slots.c --- */

/* Opens what the parameters name; behind model_init. */
int style_pictures_open(struct engine *engine, const struct engine_params *params, struct error *err);
/* Prepares its programs on a device that was just opened, and gives them back. */
int style_pictures_begin(struct engine *engine, struct error *err);
void style_pictures_leave(struct engine *engine);
void style_pictures_close(struct engine *engine);
/* Zeros where there is no adapter. */
struct style_format style_pictures_format(const struct engine *engine);
/* The run's styles: 1 where all that is wanted is shown, else 0. */
int style_pictures_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                        bool at_once, struct run_params *run, struct error *err);

/* --- control_networks.c --- */

/* Opens those of the parameters. */
int controls_open(struct engine *engine, const struct engine_params *params, struct error *err);
void controls_close(struct engine *engine);
/* Refuses a handle with controls that were not opened. */
int controls_check(const struct engine *engine, unsigned controls, struct error *err);
/* Whether these values of a control add to any step of the run. */
bool controls_acts(const struct prepared *prepared, const struct control_values *values, const struct run_params *run);
/* The run's values of the handle's controls, whose steps' timesteps are there. */
void controls_fill(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                   struct run_params *run);

/* --- mask.c --- */

/* Brings the engine's mask to the handle's size and to the device, where it is not there yet. */
int mask_write(struct engine *engine, struct prepared *prepared, struct error *err);

/* --- geometry.c --- */

/* Where a frame of this shape comes to lie in a picture. */
struct geometry geometry_fit(enum fit fit, const struct frame *frame, const struct frame_shape *shape);

/* --- sampling.c --- */

/* What the engine says of all handles' sampling. */
void sampling_begin(struct sampling *sampling, const struct engine_params *params, const struct checkpoint *checkpoint);
/* What a handle's shape says. */
int sampling_choose(struct sampling *sampling, const struct engine_shape *wish, const struct checkpoint *checkpoint,
                    struct error *err);
/* Says once where the sampler is not the one that the scheduler's file names, and nothing was chosen. With preparing
 * held. */
void sampling_tell(struct engine *engine, const struct engine_shape *wish, const struct sampling *sampling);
/* sampling_table fills the handle's table for this strength and eta, and sampling_times computes the time projections
 * of this run's steps. Each does nothing where that is up to date. */
void sampling_table(const struct engine *engine, struct prepared *prepared, double strength, double eta);
int sampling_times(struct engine *engine, struct prepared *prepared, const struct run_params *run, struct error *err);
/* True if a frame of this run can go on showing the texts of the frame before: the time projections that it needs are
 * on the device, or are made without pooled texts. */
bool sampling_keeps_texts(const struct engine *engine, struct prepared *prepared, const struct run_params *run);
/* Computes the time projections of a run that shows the texts of the frame before. sampling_keeps_texts must hold. */
int sampling_times_of_former_texts(struct engine *engine, struct prepared *prepared, const struct run_params *run,
                                   struct error *err);

/* --- noise.c --- */

/* Brings the noise that the controls of a run's frames ask for to the device, as far as the handle's table adds it. */
int noise_bring(struct engine *engine, struct prepared *prepared, const struct controls *const *controls, int count,
                struct error *err);
/* A slice of the noise of the seed that a walk comes to next, behind a frame. */
void noise_make_ahead(struct prepared *prepared);

#endif
