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
 * bank.c              the bank: its shape, memory and parameters
 * carry.c             noise that moves with the picture, and feedback of the last picture
 * past.c              decides if a run has a past
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

/* All inputs from which a set of time projections was computed: the projections on the device are up to date if these
 * are equal. Everything that a U-Net adds to its time embedding must be listed here. */
struct conditioning {
  float timestep[CALLS_MAX];
  struct {
    uint64_t serial[PROMPTS_MAX]; /* prompt_slot.serial of each blended text; 0 where the weight is 0 */
    float weight[PROMPTS_MAX];
  } text[GUIDANCE_ROWS_MAX]; /* for each guidance row, if the network reads pooled texts; otherwise zeros */
  float guidance;            /* 0 if the network does not embed guidance */
  uint64_t version;          /* version of the weights (plan_weights_version of times_plan) */
};

/* A position between two seeds: the noise there is `part` of the way from the noise of `seed` to that of seed + 1. */
struct noise_place {
  uint64_t seed;
  double part; /* 0 to below 1 */
};

/* A record of the noise of one seed that states on the device hold. */
struct held_noise {
  uint64_t seed;
  bool start;  /* the states hold the noise that OP_START adds */
  int samples; /* number of the first steps whose noise the states hold */
  bool second; /* the states hold the second table of noise that moves with the picture, or the handle has none */
};

/* The noise of one seed in the host's memory: the sample of OP_START, then that of each step. */
struct made_noise {
  uint64_t seed;
  size_t elements; /* number of values that are computed so far, from the beginning */
  float *values;
};

/* A frame in a stream batch, where each frame in the pipeline is one step further than the next newer one. */
struct batched_frame {
  bool there; /* false: this position of the pipeline has no frame, at first or because of a request with `drain` */
  struct frame_identity identity;
  void *opaque;
  int64_t submitted_ns;
  bool whole; /* everything that its controls asked for was ready when it was submitted */
  float mix;
  struct sampler_table table;
  float gain[CONTROLS_MAX][CALLS_MAX]; /* factor of each control's network in each of its calls of the U-Net */
};

/* A record of the noise that the device has for one picture of a run. */
struct picture_noise {
  struct held_noise whole;  /* if `between` is false: which seed's noise the frame plan's states hold */
  struct held_noise end[2]; /* noise in the states of prepared.ends: [0] of an even seed, [1] of an odd one */
  struct noise_place place; /* `between` true: the position of the noise in the frame plan's states */
  bool between;             /* the frame plan's states were written by noise_program, from both ends */
  int samples;              /* `between` true: number of the first steps whose noise the states hold */
};

/* A handle: a frame plan that is prepared for one size, sampler and step count, and what was computed for it so far. */
struct prepared {
  /* Set by engine_prepare, and constant afterwards, but for `next`. */
  struct prepared *next; /* next handle in engine.handles */
  uint64_t number;       /* number of the handle among all that the engine has prepared, from 1 */
  struct frame_shape shape;
  struct engine_shape wish; /* the shape as the caller of engine_prepare asked for it */
  struct plan plan, times_plan, noise_plan;
  struct program *program, *times_program, *noise_program;
  struct frame_noise noise;
  size_t bank_bytes; /* memory of the bank */

  /* Used only by the thread that submits. */
  /* [steps]: frames of the stream batch, newest first; a run completes the last one */
  struct batched_frame *batched_frames;
  /* states of the two ends between which noise_program interpolates; set by engine_prepare */
  struct noise_ends ends;
  /* noise of one seed that is copied to the device, or is computed before it is needed */
  struct made_noise made;
  struct sampling sampling;
  /* coefficients of the steps for `sampling`; computed again when strength or eta changes */
  struct sampler_table table;
  bool table_known;
  int runs_in_flight;
  struct picture_noise noises[BATCH_MAX];
  struct noise_place place;  /* position of the last frame's noise */
  double step;               /* seeds from the position of the frame before the last one to that of the last one */
  float *kept;               /* [height][width]: buffer into which the mask is resized; NULL: the plan has no mask */
  uint64_t mask_version;     /* mask.version of the mask on the device; 0: none, everything is repainted */
  struct conditioning times; /* inputs of the time projections that are on the device; valid if times_known */
  bool times_known;
  struct bank_params bank; /* run.bank of the last run */
  bool has_motion;         /* the last run had run.motion */
  /* runs since each control's depth map was computed; 0: the next run that reads the map computes it */
  int map_age[CONTROLS_MAX];
  /* times_weights is plan_weights_version of times_plan, as it was when the resources had the version weights_version.
   * It is looked up again when the resources' version is another one. */
  uint64_t times_weights, weights_version;
};

/* A run from engine_submit until its last picture was given to the caller. */
struct run_in_flight {
  struct prepared *prepared;
  bool pending;     /* the run makes no picture that the caller gets (the first runs of a stream batch) */
  int count, given; /* number of pictures that the caller gets, and of those that it has got */
  struct {
    struct frame_identity identity;
    void *opaque;
  } of[BATCH_MAX];
  int64_t submitted_ns;
  bool whole, restarted;

  /* Set when the first of its pictures is collected. */
  struct frame pictures[BATCH_MAX];
  int64_t finished_ns;
  double device_ms;
  struct run_stamps stamps;
  struct submit_times submitted;
};

/* A prompt slot: the text whose encoding is in this slot on the device. */
struct prompt_slot {
  bool filled;                             /* false: no text was set, and SLOT_EMPTY is used instead */
  bool empty;                              /* the text is "" */
  int chunks;                              /* number of chunks into which the text is split, at least 1 */
  struct prompt tokens[TEXT_ENCODERS_MAX]; /* tokens of the text for each text encoder */
  uint64_t version;                        /* plan_weights_version of the text plans at the time of the encoding */
  uint64_t serial;                         /* number that every encoding gets anew, to tell the texts apart */
};

/* The keys and values of all attention to the text, for prompts that are filled up to a certain number of chunks. */
struct prompt_keys {
  struct plan plan;
  struct program *program; /* computes them; NULL: no handle has needed this number of chunks so far */
  /* The slots on the device for keys and values, and which prompt's each holds (by text_keys_name). */
  struct recent recent;
};

/* The style picture that is set as number i, and the one that frames show meanwhile. Pictures are numbered from 1; 0:
 * none. */
struct style_slot {
  float *patches; /* input of the image encoder for picture `wanted` */
  /* numbers of: the picture that was set last; the one whose keys were begun last; the one that frames show */
  uint64_t wanted, started, shown;
  /* 0 or 1: which of the slot's two places on the device has the picture that frames show */
  int place;
};

struct style_pictures {
  struct ip_adapter *adapter; /* NULL: there is none */
  struct plan plan, none_plan;
  struct program *program;
  struct tensor input; /* state of `plan` into which the picture's patches are written */
  struct style_slot list[STYLES_MAX];
  uint64_t pictures; /* number of style pictures that were set so far, in all slots */
};

/* The keys and values for the text attention of a control's own network, for one number of chunks. A prompt has the
 * same place here as among those of the model (struct prompt_keys). */
struct control_keys {
  struct plan plan;
  struct program *program; /* NULL: no handle has needed it so far, or the network does not attend to text */
  /* for each slot on the device: text_keys_name of the prompt whose keys and values it holds; 0: none */
  uint64_t names[KEY_SLOTS];
  /* for each slot on the device: plan_weights_version of `plan` when its keys and values were computed */
  uint64_t weights[KEY_SLOTS];
};

/* The mask of an inpainting model, in the size in which the user gave it. */
struct mask {
  uint8_t *kept; /* [height][width]: 1 where the picture stays; NULL: everything is repainted */
  int width, height;
  float sample_aspect; /* width of a pixel divided by its height; 0: square */
  uint64_t version;    /* increased by each change; 0: there never was a mask */
};

/* A run of a program for texts or for keys and values that is still to be started in the background. */
struct job {
  struct program *program;
  struct run_params run;
};

/* The prompts that the last frame showed, so that the next one can show them again while its own are being made. */
struct shown {
  bool known;
  int rows, chunks;
  /* bit k: the keys and values for control k's network are there as well */
  unsigned controls;
  /* the prompts with their weights, where slot numbers are those of keys and values on the device */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX];
  uint64_t names[KEY_SLOTS]; /* text_keys_name of each of these prompts, without repetition */
  int name_count;
};

struct engine;

/* The background work of an engine that was opened with `smooth` (unet/engine.h), one thing after another: texts, keys
 * and values, weights. Only the thread that submits frames uses it. */
struct background {
  bool smooth;
  bool at_once; /* runs are started when they are asked for, instead of being appended to the jobs */
  bool behind;  /* the last frame did not show everything that its controls asked for */
  struct job *jobs;
  int first, count, room; /* jobs[first] to jobs[count - 1] are still to be done; there is memory for `room` jobs */
  /* change of the adapters' weights: none; asked for by a frame; being computed; computed but not read by frames yet */
  enum { MERGE_NONE, MERGE_ASKED, MERGE_MAKING, MERGE_MADE } merge;
  /* called once the new weights are computed: starts to encode texts and keys with them */
  int (*after_merge)(struct engine *engine, struct error *err);
  struct controls wanted; /* the frame that asked for the change of weights: its controls and the shape of its handle */
  struct frame_shape wanted_shape;
  struct shown shown;
  /* a slice of background work has failed with `err`; the next call of the engine returns that error, once */
  bool failed;
  struct error err;
};

struct engine {
  /* Set by engine_open; engine_fall_back may replace the device. */
  const struct log *log;
  char *model_path; /* for messages */
  struct checkpoint *checkpoint;
  /* equals checkpoint if the engine has opened and so closes it; NULL: the caller owns it */
  struct checkpoint *own_checkpoint;
  size_t weight_elements; /* number of values in all weights that the networks read */
  struct resources resources;
  struct model model;
  struct device *device;
  struct device_options options; /* options of the device; name and cache_dir are owned */
  enum fit fit;
  enum pixel_format output;

  /* Used by the thread that submits. Fields with "under `preparing`" are also changed by threads that prepare handles,
   * which hold that lock, and which read adapters and sampling. */
  struct adapters adapters;
  struct background background;

  struct plan text_plan[TEXT_ENCODERS_MAX];
  struct program *text_program[TEXT_ENCODERS_MAX];

  struct prompt_slot slots[SLOTS];
  uint64_t encodings; /* number of encodings of texts so far, from which prompt_slot.serial is taken */
  /* keys[i] is for i + 1 chunks; an entry is written under `preparing` until the first handle that needs it is ready */
  struct prompt_keys keys[PROMPT_CHUNKS_MAX];
  /* the network of each control, NULL if it has none; under `preparing` */
  struct control_network *control_networks[CONTROLS_MAX];
  struct depth *depth; /* the network that makes all depth maps; under `preparing`. NULL: there is none */
  /* keys and values for each control's own network: [k][i] is control k's for i + 1 chunks */
  struct control_keys control_keys[CONTROLS_MAX][PROMPT_CHUNKS_MAX];
  enum engine_prompt_syntax syntax;
  enum text_fix text_fix;
  struct sampling sampling; /* fields that are the same for all handles, each of which begins with a copy */
  size_t told_bank;         /* most bytes of a bank that a warning has told; under `preparing` */
  bool told_feedback;       /* the log line about feedback without effect was written, and still holds */
  bool told_stand_in;       /* the log line about a sampler that is not built in was written; under `preparing` */
  struct mask mask;
  struct style_pictures styles;
  /* the model samples from pure noise only: strength blends the result with the input, and the sampler's is always 1 */
  bool blends;
  /* plan_weights_version of the text plans and of the plans of keys, as they were when the resources had the version
   * weights_version. They are looked up again when the resources' version is another one. */
  uint64_t text_weights, keys_weights, weights_version;

  struct run_in_flight runs[IN_FLIGHT_MAX]; /* runs whose pictures are not all collected, oldest first */
  int in_flight;

  bool paced;           /* engine_params.paced */
  uint64_t last_handle; /* prepared.number of the last run's handle; 0: the next run has no past */
  int64_t ended_ns;     /* when the last run was collected, by platform_now_ns */

  /* The handles. */
  pthread_mutex_t preparing; /* held while a handle is prepared or released */
  uint64_t prepared_count;   /* number of handles prepared so far; under `preparing` */
  struct prepared *handles;  /* changed under `preparing` and `listing`, read under either */
  pthread_mutex_t listing;   /* held only for the moments in which the list is changed or searched */
};

/* --- prepared.c --- */

/* Returns true if `prepared` is a handle of the engine that was not released. The pointer is compared only, so it may
 * point to memory that was freed. */
bool prepared_is_known(struct engine *engine, const struct prepared *prepared);
/* Ends the holds on those of the run's pictures that were not given to the caller. */
void run_release_pictures(struct run_in_flight *run);
/* Releases every handle's programs and memory, before the engine closes its device. */
void prepared_release_all(struct engine *engine);

/* --- prompts.c --- */

/* prompts_prepare prepares the text encoders' programs on a device that was just opened. prompts_leave releases
 * them. */
int prompts_prepare(struct engine *engine, struct error *err);
void prompts_leave(struct engine *engine);
/* Stores the tokens of the empty prompt in SLOT_EMPTY. prompts_restore must follow: it encodes them. */
int prompts_begin(struct engine *engine, struct error *err);
/* Encodes the empty prompt and every slot that was set, on a device that was just opened. */
int prompts_restore(struct engine *engine, struct error *err);
/* Stores in used[] the addresses of the slot numbers, within *run, of all prompts with a weight in the run's first
 * `rows` guidance rows, so that the caller can replace the numbers in place. Returns how many there are. */
enum { USED_MAX = PROMPTS_MAX * GUIDANCE_ROWS_MAX };
int prompts_used(struct run_params *run, int rows, int *used[USED_MAX]);
/* Encodes the texts in the slots that the run's first `rows` guidance rows use again, if a weight of a text encoder has
 * changed since they were encoded. */
int prompts_refresh(struct engine *engine, int rows, struct run_params *run, struct error *err);
/* Returns the slot whose encoding stands for this one: slot itself, or SLOT_EMPTY if no text was set. */
int prompts_slot(const struct engine *engine, int slot);
/* Returns the largest number of chunks among the prompts in these slots; at least 1. */
int prompts_most_chunks(const struct engine *engine, const int *slots, int count);
/* Returns true if the negative prompt's encoding is all zeros: its text is empty, and the model was trained like
 * that. */
bool prompts_zero_negative(const struct engine *engine);

/* --- text_keys.c --- */

/* text_keys_prepare prepares the programs that compute keys and values for as many chunks as this shape has, unless
 * they exist; text_keys_leave releases all such programs, before the device is closed. */
int text_keys_prepare(struct engine *engine, const struct frame_shape *shape, struct error *err);
void text_keys_leave(struct engine *engine);
/* Replaces the prompt slots in *run by the places where the slots' keys and values are, and starts the computation of
 * those that are missing. prompts_refresh must have been called for the same run. shape: that of the run's handle. */
int text_keys_place(struct engine *engine, const struct frame_shape *shape, struct run_params *run, struct error *err);
/* Records in background.shown which prompts a frame of such a handle shows. slots: the run with slot numbers; placed:
 * the same run after text_keys_place. */
void text_keys_show(struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                    const struct run_params *placed);
/* Returns true if a job that has not run yet writes a text, or keys and values, that a run with these slots in a handle
 * of this shape reads. */
bool text_keys_await(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                     struct run_params *places);

/* --- guidance.c --- */

/* Fills in run->prompt (with slot numbers) and run->row_weight from the controls. */
void guidance_fill(const struct engine *engine, const struct frame_shape *shape, const struct controls *controls,
                   struct run_params *run);

/* Returns x clamped to 0..1; 0 if x is NaN. */
float clamp01(float x);

/* --- background.c --- */

/* Prepares a program that encodes texts or computes keys; for a smooth engine in parts, so that frames can run between
 * them. */
int background_prepare(struct engine *engine, struct program **program, const struct plan *plan, struct error *err);
/* Starts a run of a program that background_prepare has made, or appends it to the jobs of a smooth engine. */
int background_start(struct engine *engine, struct program *program, const struct run_params *run, struct error *err);
/* background_after_frame does one slice of the background work; it is called after each frame was started. If a slice
 * has failed, background_tell_failure returns -1 with its error, once; the engine's calls begin with it. */
void background_after_frame(struct engine *engine);
int background_tell_failure(struct background *background, struct error *err);
/* Does all background work that is left, and returns when it was started on the device. */
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

/* Opens the IP-Adapter that params name, if they name one. The engine's model must be initialised (model_init). */
int style_pictures_open(struct engine *engine, const struct engine_params *params, struct error *err);
/* style_pictures_begin prepares the programs on a device that was just opened. style_pictures_leave releases the
 * programs. style_pictures_close frees the adapter and the pictures. */
int style_pictures_begin(struct engine *engine, struct error *err);
void style_pictures_leave(struct engine *engine);
void style_pictures_close(struct engine *engine);
/* Returns the input size of the adapter's image encoder; zeros if there is no adapter. */
struct style_format style_pictures_format(const struct engine *engine);
/* Fills in run->style. Returns 1 if the run shows all pictures that were set, 0 if some are still being made, -1 on
 * failure. at_once: makes those now instead of in the background. */
int style_pictures_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                        bool at_once, struct run_params *run, struct error *err);

/* --- control_networks.c --- */

/* Opens the controls of the parameters. */
int controls_open(struct engine *engine, const struct engine_params *params, struct error *err);
void controls_close(struct engine *engine);
/* Fails if bit k of `controls` is set and control k was not opened. */
int controls_check(const struct engine *engine, unsigned controls, struct error *err);
/* Returns true if a control's network with these values adds anything in one of the run's calls of the U-Net. */
bool controls_acts(const struct prepared *prepared, const struct control_values *values, const struct run_params *run);
/* Fills in run->control, run->show and run->show_control. run->step must be filled already. */
void controls_fill(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                   struct run_params *run);

/* --- mask.c --- */

/* Resizes the engine's mask for this handle and writes it to the device, if the handle's copy there is not up to
 * date. */
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
/* sampling_table computes the handle's table of coefficients for this strength and eta. sampling_times computes the
 * time projections of the run's calls of the U-Net on the device. Each does nothing if its result is up to date. */
void sampling_table(const struct engine *engine, struct prepared *prepared, double strength, double eta);
int sampling_times(struct engine *engine, struct prepared *prepared, const struct run_params *run, struct error *err);
/* True if a frame of this run can be made with the prompts of the frame before: the time projections for these steps
 * and those prompts are on the device, or do not depend on prompts. */
bool sampling_keeps_texts(const struct engine *engine, struct prepared *prepared, const struct run_params *run);
/* Computes the time projections of a run that still uses the prompts of the frame before, because those that its
 * controls ask for are not ready. It may be called only if sampling_keeps_texts has returned true. */
int sampling_times_of_former_texts(struct engine *engine, struct prepared *prepared, const struct run_params *run,
                                   struct error *err);

/* --- bank.c --- */

/* bank_check refuses a bank that the model or other properties of the handle exclude. bank_choose sets the fields of
 * the frame's shape, whose steps are known; it refuses a bank with too many. */
int bank_check(const struct engine *engine, const struct engine_shape *wish, struct error *err);
int bank_choose(const struct engine *engine, const struct engine_shape *wish, struct frame_shape *shape,
                struct error *err);
/* bank_bytes returns the memory of a handle's bank, whose plan is finished; bank_tell logs it, before it is taken. */
size_t bank_bytes(const struct engine *engine, const struct prepared *prepared);
void bank_tell(struct engine *engine, const struct prepared *prepared);
/* Fills in run->bank. */
void bank_fill(const struct prepared *prepared, const struct controls *controls, struct run_params *run);
/* --- carry.c --- */

/* Refuses noise that moves with the picture, and feedback, together with features that exclude them. */
int carry_check(const struct engine *engine, const struct engine_shape *wish, struct error *err);
/* Fills in the run parameters of both. */
void carry_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                struct run_params *run);

/* --- past.c --- */

/* True if the request's run has no past: engine_request.restart says when. */
bool past_ends(const struct engine *engine, const struct engine_request *request);
/* Notes that a run of this request was started. */
void past_follow(struct engine *engine, const struct engine_request *request, const struct run_params *run);

/* --- noise.c --- */

/* Writes to the device the noise that the run's frames ask for (seed and seed position of controls[0] to controls[count
 * - 1]), for as many steps as the handle's table adds noise. */
int noise_bring(struct engine *engine, struct prepared *prepared, const struct controls *const *controls, int count,
                struct error *err);
/* Computes some of the noise of the seed that comes next, on the host, while the seed position moves by less than one
 * seed a frame. Called after a frame was started. */
void noise_make_ahead(struct prepared *prepared);

#endif
