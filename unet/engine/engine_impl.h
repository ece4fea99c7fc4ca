/* The inside of the engine: what the files of unet/engine/ share.
 *
 *   engine.c            opens and closes engines; information; changes of weights
 *   prepared.c          handles: frame plans prepared for a size and a step count
 *   prompts.c           prompts: from text to tokens to encodings in slots on the device
 *   text_keys.c         attention keys and values of the prompts that frames use
 *   sampling.c          the choice of sampler and schedule; time projections
 *   noise.c             noise of a seed, and noise between two seeds
 *   adapters.c          which weights adapters change, and the change of these weights
 *   background.c        background work: texts, keys and adapters, one slice after each frame
 *   shown.c             which prompts and adapters a frame shows while others are made in the background
 *   style_slots.c       style pictures: their memory on the device, and when they are shown
 *   style_picture.c     converts a frame to the image encoder's input
 *   control_networks.c  opens the networks of controls; how much each control adds in each step
 *   mask.c              the region that inpainting models repaint
 *   geometry.c          which rectangle of a frame the picture shows
 *   guidance.c          which prompts a run reads, and the factors with which predictions are summed
 *   bank.c              the bank (keys and values of earlier frames): shape, memory, parameters
 *   carry.c             noise that moves with the picture, and feedback of the last picture
 *   past.c              which options exclude the use of earlier frames, and whether a run may use them
 *   follow.c            the motion of frames whose pictures nobody needs
 *   frames.c            engine_submit and engine_collect: from controls to the parameters of a run */
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

/* All inputs from which a set of time projections was computed (each residual block's bias from the time embedding).
 * The projections on the device are up to date if these inputs are unchanged. So the struct must list everything that a
 * U-Net adds to its time embedding. */
struct conditioning {
  float timestep[CALLS_MAX];
  struct {
    uint64_t serial[PROMPTS_MAX]; /* prompt_slot.serial of each text that is blended; 0 if its weight is 0 */
    float weight[PROMPTS_MAX];
    /* the texts that each guidance row (prompt, negative prompt) blends; zeros: the network reads no pooled texts */
  } text[GUIDANCE_ROWS_MAX];
  float guidance; /* guidance scale; 0 if guidance is no input of the network */
  /* version (plan_weights_version) of the weights with which the time projections were computed */
  uint64_t version;
};

/* A position between the noise of two seeds, `seed` and seed + 1. */
struct noise_place {
  uint64_t seed;
  uint64_t to; /* the other seed of the interpolation: seed + 1, or any seed if controls.seed_to is blended in */
  double part; /* fraction of the way from the noise of `seed` (0) to that of `to`; below 1 */
};

/* What the device has of one seed's noise, in states (tensors that outlive a run). */
struct held_noise {
  uint64_t seed;
  bool start;  /* true: the noise that OP_START adds is in a state (tensor that outlives a run); false: not yet */
  int samples; /* number of steps, from the first one, whose noise is written to states */
  /* true: states have the additional noise for noise that moves with the picture (frame_noise.second), or the plan
   * needs none; false: not yet */
  bool second;
};

/* Noise of one seed in the host's memory, sample after sample. */
struct made_noise {
  uint64_t seed;
  size_t elements; /* number of values that are computed already, from the first of `values` */
  float *values;
};

/* A frame in a stream batch. The batch has one frame at each step of the sampler; the newest is at the first step. */
struct batched_frame {
  /* true: the stream batch has a frame at this step; false: it is not full, because frames have only begun to come, or
   * because no more come and requests without a frame (`drain`) finish the last ones */
  bool there;
  struct frame_identity identity;
  void *opaque;
  int64_t submitted_ns;
  /* true: all texts, adapters and pictures that the frame's controls asked for were ready when it was submitted */
  bool whole;
  float mix, detail;
  struct sampler_table table;
  /* factors of the controls' networks: gain[k][i] is for control k in this frame's U-Net call number i */
  float gain[CONTROLS_MAX][CALLS_MAX];
};

/* Which noise the device has for one picture of a run. */
struct picture_noise {
  struct held_noise whole; /* if `between` is false: the seed whose noise the device has for the frame's plan */
  /* for interpolation between the noise of two seeds: which noise the device has in prepared.ends. The seed at which
   * the interpolation begins uses end[seed % 2], the other seed the other element */
  struct held_noise end[2];
  /* if `between` is true: position, between two seeds, of the interpolated noise that the device has for the plan */
  struct noise_place place;
  /* true: the device has noise between two seeds for the frame's plan, interpolated by noise_program; false: that of
   * one seed */
  bool between;
  int samples; /* if `between` is true: number of steps, from the first one, for which the device has the noise */
};

/* A handle: the plan of a frame, prepared for one size, sampler and step count, with what was computed for it so
 * far. */
struct prepared {
  /* The following fields, except `next`, are set by engine_prepare and constant afterwards. */
  struct prepared *next; /* next entry in engine.handles, the list of handles */
  /* number of the handle (prepared engine), from 1, in the order in which the engine has prepared them */
  uint64_t number;
  struct frame_shape shape;
  struct engine_shape wish; /* the request with which engine_prepare was called */
  struct plan plan, times_plan, noise_plan;
  /* plan and program that compute only the motion of a frame, for frames whose pictures are not made (engine_follow);
   * empty until the first such frame */
  struct plan follow_plan;
  struct program *follow_program;
  struct program *program, *times_program, *noise_program;
  struct frame_noise noise;
  size_t bank_bytes; /* bytes that the bank (earlier frames' keys and values) takes */

  /* The following fields are used only by the thread that submits frames. */
  /* the frames of the stream batch, newest first, one for each step; each run completes the last of them */
  struct batched_frame *batched_frames;
  /* tensors on the device for the noise of two seeds, between which noise_program interpolates; set by
   * engine_prepare */
  struct noise_ends ends;
  /* noise of one seed in host memory, to be copied to the device: the noise of OP_START, followed by the noise of each
   * step. A part of it may be computed before it is needed */
  struct made_noise made;
  /* one seed's additional noise for noise that moves with the picture (frame_noise.second), in host memory */
  struct made_noise second;
  struct sampling sampling;
  /* coefficients of the sampler's steps, computed from `sampling`; computed again when strength or eta changes */
  struct sampler_table table;
  bool table_known;
  int runs_in_flight;
  struct picture_noise noises[BATCH_MAX];
  struct noise_place place; /* position between two seeds of the last frame's noise */
  double step;              /* distance, in seeds, that the seed position has moved between the last two frames */
  /* the mask, resized to the picture, in host memory: [height][width], 1 where the picture stays; NULL: the plan has no
   * mask */
  float *kept;
  uint64_t mask_version; /* mask.version of the mask on the device; 0: there is none, so everything is repainted */
  /* inputs from which the time projections on the device were computed; valid if times_known is true */
  struct conditioning times;
  bool times_known;
  struct bank_params bank; /* run.bank (use of earlier frames' keys and values) of the last run */
  bool has_motion;         /* true: the last run computed motion (run.motion) */
  /* for each control: number of runs since its depth map was made; 0: the next run that reads the map makes it */
  int map_age[CONTROLS_MAX];
  /* times_weights: version (plan_weights_version) of the weights that times_plan reads. weights_version: what
   * resources.version was when times_weights was looked up; if resources.version differs by now, times_weights is
   * looked up again. */
  uint64_t times_weights, weights_version;
};

/* A run of frames, from engine_submit until the caller has got its last picture. */
struct run_in_flight {
  struct prepared *prepared;
  bool pending; /* true: the run gives no picture: the stream batch (frames at different steps) is not full */
  /* count: number of pictures of the run that the caller gets; given: how many of them it has got so far */
  int count, given;
  struct {
    struct frame_identity identity;
    void *opaque;
  } of[BATCH_MAX];
  int64_t submitted_ns;
  bool whole, restarted, early; /* early: engine_request.early, with which `pictures` are set by engine_submit */

  /* The following fields are set when the run's first picture is collected. */
  struct frame pictures[BATCH_MAX];
  int64_t finished_ns;
  double device_ms;
  struct run_stamps stamps;
  struct submit_times submitted;
};

/* A prompt slot: a text, and its encoding in the slot of this number on the device. */
struct prompt_slot {
  bool filled;  /* false: no text was set for this slot, and SLOT_EMPTY is used instead */
  bool empty;   /* true: the text is "" */
  float detail; /* how much of the input's fine detail suits the text's style (styles_detail) */
  int chunks;   /* number of chunks into which the text is split, at least 1 */
  struct prompt tokens[TEXT_ENCODERS_MAX]; /* tokens of the text, for each text encoder */
  uint64_t version; /* version of the text encoders' weights (plan_weights_version) at the time of the encoding */
  uint64_t serial;  /* number of this encoding; each encoding of a text gets a new one */
};

/* Attention keys and values of prompts, for all layers that attend to the text. Each struct prompt_keys is for one
 * number of chunks (parts of a long prompt), to which shorter prompts are filled up. */
struct prompt_keys {
  struct plan plan;
  /* program that computes the keys and values; NULL: no handle (prepared engine) has needed this number of chunks so
   * far */
  struct program *program;
  /* a cache: tells which prompt's keys and values each index in device memory has; prompts are named by their numbers
   * from text_keys_name */
  struct recent recent;
};

/* A slot for a style picture (argument `slot` of engine_set_style). A frame can show the pictures of all slots at the
 * same time. While a slot's new picture is being encoded, frames show its previous one. Each picture that is set gets a
 * number, from 1 on; 0 stands for no picture. */
struct style_slot {
  float *patches; /* patches of the style picture number `wanted`, as the image encoder reads them */
  /* numbers of style pictures. wanted: the one that was set last; started: the last one whose keys and values the
   * device began to compute; shown: the one that generated pictures use now */
  uint64_t wanted, started, shown;
  /* The device has memory for two sets of keys and values for each slot: frames read set number `place` (0 or 1), and
   * the next picture's are written to the other one. */
  int place;
};

struct style_pictures {
  struct ip_adapter *adapter; /* the IP-Adapter; NULL: the engine has none */
  /* has_own: the model's folder has an IP-Adapter; takes_own: the engine uses that, if there is one */
  bool has_own, takes_own;
  struct plan plan, none_plan;
  struct program *program;
  /* input of `plan`: a state (tensor that outlives runs). Before the plan runs, the style picture is written to it,
   * divided into the image encoder's square patches */
  struct tensor input;
  struct style_slot list[STYLES_MAX];
  float share; /* how far the last run's style pictures are on, 0 to 1: the largest of their weights; 0: none is */
  /* number of style pictures set so far, in all slots; the value becomes the number of the picture just set */
  uint64_t pictures;
};

/* Keys and values of prompts for one control's network, if it attends to the text. They are for prompts with one number
 * of chunks. In device memory each prompt has the same index here as in the U-Net's keys and values (prompt_keys). */
struct control_keys {
  struct plan plan;
  /* program that computes the keys and values; NULL: no handle (prepared engine) has needed it so far, or the network
   * does not attend to text */
  struct program *program;
  /* names[i]: the prompt (by its number from text_keys_name) whose keys and values are at index i; 0: there are none */
  uint64_t names[KEY_SLOTS];
  /* weights[i]: version of the weights (plan_weights_version of `plan`) with which the keys and values at index i in
   * device memory were computed */
  uint64_t weights[KEY_SLOTS];
};

/* The mask of an inpainting model, in the size in which the user gave the mask. */
struct mask {
  uint8_t *kept; /* values of the mask, [height][width]: 1 where the picture stays; NULL: everything is repainted */
  int width, height;
  float sample_aspect; /* width of a pixel divided by its height; 0: square */
  uint64_t version;    /* how often the mask was changed; 0: no mask was ever set */
};

/* A run of a program that encodes a text or computes keys and values, waiting in the list of background work. */
struct job {
  struct program *program;
  struct run_params run;
};

/* The prompts that the last frame showed. The next frames show them again until their own prompts are ready. */
struct shown {
  bool known;
  int rows, chunks;
  float detail; /* how much of the input's fine detail suits the prompts' styles, the mean by the prompts' weights */
  /* bit k: keys and values of these prompts were also computed for the network of control k */
  unsigned controls;
  /* the prompts of each guidance row with their weights; prompts are named not by their slots, but by the indices of
   * their keys and values in device memory (prompt_keys.recent) */
  struct prompt_params prompt[GUIDANCE_ROWS_MAX];
  uint64_t names[KEY_SLOTS]; /* the prompts in `prompt`, by their numbers from text_keys_name, without repetition */
  int name_count;
};

struct engine;

/* The background work of a smooth engine (engine_params.smooth), which is done in slices between frames, in this order:
 * texts, keys and values, weights. Only the thread that submits frames uses this struct. */
struct background {
  bool smooth;
  /* true: background_start starts each run at once; false: so it does before the first frame, but once frames run, it
   * appends each run to the list `jobs`, to be run between frames */
  bool at_once;
  bool behind; /* true: the last frame did not show everything that its controls asked for */
  struct job *jobs;
  /* jobs[first] to jobs[count - 1] are the runs of background work that are still to be started; the array has memory
   * for `room` of them */
  int first, count, room;
  /* State of the change of the weights for adapters. MERGE_NONE: there is none; MERGE_ASKED: a frame has asked for it;
   * MERGE_MAKING: it is being computed; MERGE_MADE: it is computed, but frames do not read it yet. */
  enum { MERGE_NONE, MERGE_ASKED, MERGE_MAKING, MERGE_MADE } merge;
  /* called once the new weights are computed: starts to encode texts, and to compute keys, with these weights */
  int (*after_merge)(struct engine *engine, struct error *err);
  /* wanted: controls of the frame that asked for the change of weights; wanted_shape: shape of this frame's handle */
  struct controls wanted;
  struct frame_shape wanted_shape;
  /* shown_next: what `shown` becomes when frames read the new weights: this frame's prompts, encoded with these */
  struct shown shown, shown_next;
  /* true: a slice of background work has failed; the next call of the engine returns its error `err`, once */
  bool failed;
  struct error err;
};

struct engine {
  /* The following fields are set by engine_open. engine_fall_back may replace `device`. */
  const struct log *log;
  char *model_path; /* path of the model, for messages */
  struct checkpoint *checkpoint;
  /* the checkpoint, if the engine has opened it itself and therefore closes it; NULL: it is the caller's */
  struct checkpoint *own_checkpoint;
  size_t weight_elements; /* number of values in all weights that the networks read */
  struct resources resources;
  struct model model;
  struct device *device;
  /* options with which the device was opened; their texts `name` and `cache_dir` belong to the engine */
  struct device_options options;
  enum fit fit;
  enum pixel_format output;

  /* The fields from `adapters` to `ended_ns` are used by the thread that submits frames. Threads that prepare handles
   * also change those marked "lock `preparing`", while they hold that lock, and they read `adapters` and `sampling`. */
  struct adapters adapters;
  struct background background;

  struct plan text_plan[TEXT_ENCODERS_MAX];
  struct program *text_program[TEXT_ENCODERS_MAX];

  struct prompt_slot slots[SLOTS];
  uint64_t encodings; /* number of encodings of texts so far, from which prompt_slot.serial is taken */
  /* keys[i] has the program that computes attention keys and values of prompts of i + 1 chunks. It is prepared, under
   * `preparing`, with the first handle whose prompts have so many chunks */
  struct prompt_keys keys[PROMPT_CHUNKS_MAX];
  /* the network of each control; NULL: the control has none; protected by the lock `preparing` */
  struct control_network *control_networks[CONTROLS_MAX];
  /* the network that makes the depth maps of all controls; NULL: none; protected by the lock `preparing` */
  struct depth *depth;
  /* keys and values of prompts for the controls' networks: [k][i] is for control k and prompts of i + 1 chunks */
  struct control_keys control_keys[CONTROLS_MAX][PROMPT_CHUNKS_MAX];
  enum engine_prompt_syntax syntax;
  enum text_fix text_fix;
  /* the fields of `sampling` that are the same for all handles; each handle begins with a copy of these fields */
  struct sampling sampling;
  /* size in bytes of the largest bank (earlier frames' keys and values) that was logged so far; protected by the lock
   * `preparing` */
  size_t told_bank;
  /* levels of the U-Net, as bits, for which the log already says that the model cannot have a bank (earlier frames'
   * keys and values) there; protected by the lock `preparing` */
  unsigned told_layers;
  /* true: it was logged that a frame asks for more earlier frames than its handle's bank of them can store */
  bool told_room;
  bool told_feedback; /* true: it was logged that feedback has no effect, and it still has none */
  /* true: it was logged that the scheduler's file names a sampler that is not built in; protected by the lock
   * `preparing` */
  bool told_stand_in;
  struct mask mask;
  struct style_pictures styles;
  /* true: the model can start only from pure noise (mini): the sampler always gets strength 1, and controls.strength
   * blends the picture with the input instead; false: strength decides where sampling starts */
  bool blends;
  /* Versions of weights (plan_weights_version). text_weights: of those that the text encoders read; keys_weights: of
   * those from which keys and values are computed. weights_version: resources.version at the time when these two were
   * looked up; if it has changed since, they are looked up again. */
  uint64_t text_weights, keys_weights, weights_version;

  struct run_in_flight runs[IN_FLIGHT_MAX]; /* runs that were not seen to end, oldest first */
  int unfinished, given_early; /* number of these runs, and of those at the front whose pictures were given out early */

  /* engine_params.paced: true: frames come in real time; after a pause between two of them (pause_ns in past.c)
   * nothing that earlier frames left is used */
  bool paced;
  /* prepared.number of the last run's handle; 0: the next run must not use data that earlier frames left on the
   * device */
  uint64_t last_handle;
  int64_t ended_ns; /* time of platform_now_ns at which the last run was collected */

  /* The following fields are the list of handles (struct prepared) and its locks. */
  pthread_mutex_t preparing; /* lock that is held while a handle is prepared or released */
  uint64_t prepared_count;   /* number of handles prepared so far; protected by the lock `preparing` */
  /* the list of handles; changed while both `preparing` and `listing` are held, read while one of them is held */
  struct prepared *handles;
  /* second lock of the list of handles, held only for the moments in which the list is changed or searched */
  pthread_mutex_t listing;
};

/* --- prepared.c: handles, that is, engines made ready for one size, sampler and step count --- */

/* Returns true if `prepared` is a handle of the engine and was not released. The pointer is only compared, so it may
 * point to freed memory. */
bool prepared_is_known(struct engine *engine, const struct prepared *prepared);
/* Releases those pictures of the run that were not given to the caller. */
void run_release_pictures(struct run_in_flight *run);
/* Releases the programs and the memory of every handle (prepared engine), before the engine closes its device. */
void prepared_release_all(struct engine *engine);

/* --- prompts.c: encoded prompts in slots on the device --- */

/* prompts_prepare prepares the text encoders' programs on a device that was just opened; prompts_leave releases these
 * programs before the device is closed. */
int prompts_prepare(struct engine *engine, struct error *err);
void prompts_leave(struct engine *engine);
/* Stores the tokens of the empty prompt in SLOT_EMPTY. Afterwards the caller must call prompts_restore, which encodes
 * them. */
int prompts_begin(struct engine *engine, struct error *err);
/* Encodes the texts of all slots that were set, and the empty prompt, on a device that was just opened. */
int prompts_restore(struct engine *engine, struct error *err);
/* Finds all prompts that the run uses: the slot numbers in *run that have a weight in its first `rows` guidance rows
 * (one row for each prediction of a step). used[] gets the addresses of these numbers, so that the caller can replace
 * them. Returns how many there are. */
enum { USED_MAX = PROMPTS_MAX * GUIDANCE_ROWS_MAX };
int prompts_used(struct run_params *run, int rows, int *used[USED_MAX]);
/* Encodes a prompt again if a weight of a text encoder has changed since it was encoded. Does so for the slots that the
 * run uses in its first `rows` guidance rows (predictions of a step). */
int prompts_refresh(struct engine *engine, int rows, struct run_params *run, struct error *err);
/* Returns the number of the slot that is read for `slot`: slot itself, or SLOT_EMPTY if no text was set for it. */
int prompts_slot(const struct engine *engine, int slot);
/* Returns the number of chunks of the longest prompt in these slots; at least 1. */
int prompts_most_chunks(const struct engine *engine, const int *slots, int count);
/* Returns true if the negative prompt is empty and the model was trained with zeros for that: zeros are then used
 * instead of its encoding. */
bool prompts_zero_negative(const struct engine *engine);

/* --- text_keys.c: attention keys and values of prompts on the device --- */

/* text_keys_prepare prepares the programs that compute prompts' keys and values, for this shape's number of chunks,
 * unless they exist already. text_keys_leave releases all such programs before the device is closed. */
int text_keys_prepare(struct engine *engine, const struct frame_shape *shape, struct error *err);
void text_keys_leave(struct engine *engine);
/* Replaces the slot number of each prompt in *run by an index in device memory: that of the prompt's keys and values.
 * If these are missing, chooses an index and starts to compute them. prompts_refresh must have been called for the same
 * run. shape: the shape of the run's handle (prepared engine). */
int text_keys_place(struct engine *engine, const struct frame_shape *shape, struct run_params *run, struct error *err);
/* Returns the record (background.shown) of which prompts a frame shows. shape: the shape of the frame's handle; slots,
 * placed: the frame's run parameters before text_keys_place, with prompts by their slots, and after it. */
struct shown text_keys_shown(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                             const struct run_params *placed);
/* Returns true if a frame must wait for background work, because its encoded texts, or its keys and values, are not
 * computed yet. slots: the frame's run parameters, in which prompts are given by their slots; places: the same after
 * text_keys_place, in which they are given by the indices of their keys and values in device memory; shape: that of the
 * frame's handle (prepared engine). */
bool text_keys_await(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                     struct run_params *places);

/* --- guidance.c: prompts of a run, and factors of their predictions --- */

/* Fills in run->prompt (with numbers of prompt slots) and run->row_weight for these controls. */
void guidance_fill(const struct engine *engine, const struct frame_shape *shape, const struct controls *controls,
                   struct run_params *run);

/* Returns x clamped to 0..1; 0 if x is NaN. */
float clamp01(float x);

/* --- background.c: work on texts and adapters between frames --- */

/* Prepares a program that encodes texts or computes keys and values. In a smooth engine (one that works in the
 * background) its runs are divided into parts, so that frames can run between them. */
int background_prepare(struct engine *engine, struct program **program, const struct plan *plan, struct error *err);
/* Starts a run of a program that background_prepare has made, after all background work was completed. Exception: a
 * smooth engine that has shown a frame only appends the run to its list of background work, unless background.at_once
 * is true. */
int background_start(struct engine *engine, struct program *program, const struct run_params *run, struct error *err);
/* background_after_frame does a short part of the background work (encoding texts, changing weights for adapters); the
 * engine calls it after it has started a frame. background_tell_failure returns -1, once, with the error if such a
 * part has failed; functions of engine.h call it first. */
void background_after_frame(struct engine *engine);
int background_tell_failure(struct background *background, struct error *err);
/* Does all background work that is left, such as encoding prompts. Its last work on the device is started, but may not
 * be complete, when this returns. Returns -1 if some of it fails, or has failed earlier, between two frames
 * (background_tell_failure). */
int background_finish(struct engine *engine, struct error *err);
void background_free(struct engine *engine);

/* Returns true if background work is left. */
bool background_are_due(const struct background *background);

/* --- shown.c: which prompts and adapters a frame shows --- */

/* Fills in the prompts and style pictures of the run, applies the adapters' weights, and computes time projections.
 * Returns 1 if the run shows everything that the controls ask for; 0 if some of it is not ready yet, so that texts,
 * adapters or style pictures of an earlier frame are shown; -1 after a failure. */
int shown_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
               struct run_params *run, struct error *err);

/* --- style_slots.c: style pictures of an IP-Adapter --- */

/* Opens the IP-Adapter that params name, if they name one. The engine's model must be initialised (model_init). */
int style_pictures_open(struct engine *engine, const struct engine_params *params, struct error *err);
/* style_pictures_begin prepares the programs for style pictures on a device that was just opened, style_pictures_leave
 * releases these programs, and style_pictures_close frees the IP-Adapter and the pictures. */
int style_pictures_begin(struct engine *engine, struct error *err);
void style_pictures_leave(struct engine *engine);
void style_pictures_close(struct engine *engine);
/* Returns the size of the picture that the adapter's image encoder reads; zeros if there is no adapter. */
struct style_format style_pictures_format(const struct engine *engine);
/* Fills in run->style. at_once: true: keys and values that are missing are computed now; false: in the background.
 * Returns 1 if the run shows all pictures that were set, 0 if some are not ready yet, -1 on failure. */
int style_pictures_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                        bool at_once, struct run_params *run, struct error *err);

/* --- control_networks.c: maps of frames, and the networks that read them --- */

/* Opens the controls (maps and their networks) that params list. */
int controls_open(struct engine *engine, const struct engine_params *params, struct error *err);
void controls_close(struct engine *engine);
/* Fails if `controls` names a control that was not opened (bit k stands for control k). */
int controls_check(const struct engine *engine, unsigned controls, struct error *err);
/* Returns true if a control with these values changes the picture: its network adds something in at least one of the
 * run's calls of the U-Net. */
bool controls_acts(const struct prepared *prepared, const struct control_values *values, const struct run_params *run);
/* Fills in run->control, run->show and run->show_control. run->step must be filled already. */
void controls_fill(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                   struct run_params *run);

/* --- mask.c: the region that inpainting models repaint --- */

/* Resizes the engine's mask to the handle's size and writes it to the device, unless the device has it already. */
int mask_write(struct engine *engine, struct prepared *prepared, struct error *err);

/* --- geometry.c: fitting frames into the picture --- */

/* Returns the rectangle of a frame that the picture shows, and the rectangle of the picture into which it is drawn. */
struct geometry geometry_fit(enum fit fit, const struct frame *frame, const struct frame_shape *shape);

/* --- sampling.c: sampler, schedule and time projections --- */

/* Sets those fields of *sampling that are the same for all handles (prepared sizes and step counts) of an engine. */
void sampling_begin(struct sampling *sampling, const struct engine_params *params, const struct checkpoint *checkpoint);
/* Sets those fields of the `sampling` of a handle (prepared engine) that depend on the request. Refuses step counts and
 * spacings that are not supported. */
int sampling_choose(struct sampling *sampling, const struct engine_shape *wish, const struct checkpoint *checkpoint,
                    struct error *err);
/* Logs, once for each engine, that the scheduler's file names a sampler, or a spacing of timesteps, that is not built
 * in. Logs nothing if the user has chosen another one. The caller holds the lock `preparing`. */
void sampling_tell(struct engine *engine, const struct engine_shape *wish, const struct sampling *sampling);
/* sampling_table computes the coefficients of the handle's steps for this strength and eta. sampling_times computes, on
 * the device, the time projections for the run's calls of the U-Net. Each does nothing if its result is up to date. */
void sampling_table(const struct engine *engine, struct prepared *prepared, double strength, double eta);
int sampling_times(struct engine *engine, struct prepared *prepared, const struct run_params *run, struct error *err);
/* Returns true if this run can use the previous frame's prompts while its own are not ready: the device has these
 * prompts' time projections for the run's steps, or the time projections do not depend on prompts. */
bool sampling_keeps_texts(const struct engine *engine, struct prepared *prepared, const struct run_params *run);
/* Computes the time projections of a run that still uses the previous frame's prompts, because its own are not ready.
 * (With SDXL the projections contain the prompts' pooled texts.) To be called only if sampling_keeps_texts has returned
 * true. */
int sampling_times_of_former_texts(struct engine *engine, struct prepared *prepared, const struct run_params *run,
                                   struct error *err);

/* --- bank.c: keys and values of earlier frames --- */

/* Returns true if the model has self-attention that a bank (earlier frames' keys and values) can extend. */
bool bank_is_possible(const struct engine *engine);
/* bank_check refuses a bank (earlier frames' keys and values) that is too large, or that is requested for levels which
 * the U-Net does not have. bank_choose sets those fields of the frame's shape that describe the bank. It refuses a bank
 * if the handle (prepared engine) has too many steps. */
int bank_check(const struct engine *engine, const struct engine_shape *wish, struct error *err);
int bank_choose(const struct engine *engine, const struct engine_shape *wish, struct frame_shape *shape,
                struct error *err);
/* bank_bytes returns the size in bytes of the bank (earlier frames' keys and values) of a handle (prepared engine); the
 * handle's plan must be finished. bank_tell logs this number, before the memory is allocated, and the requested levels
 * of the U-Net that have no bank. */
size_t bank_bytes(const struct engine *engine, const struct prepared *prepared);
void bank_tell(struct engine *engine, const struct prepared *prepared);
/* Fills in run->bank for these controls: how the run uses earlier frames' keys and values. If the controls ask for more
 * frames than the handle's bank can store, the run uses as many as it stores, and a log line says so. */
void bank_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
               struct run_params *run);

/* --- carry.c: noise that moves with the picture, and feedback --- */

/* Refuses feedback of the last picture with a model that always starts from noise alone. */
int carry_check(const struct engine *engine, const struct engine_shape *wish, struct error *err);
/* Fills in the run parameters of noise that moves with the picture, and of feedback of the last picture. */
void carry_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                struct run_params *run);

/* --- past.c: whether a run may use data of earlier frames --- */

/* Refuses options that need earlier frames (such as --feedback) if the handle has features that exclude them (such as a
 * stream batch). The sizes in `shape` must be set. */
int past_check(const struct engine_shape *wish, const struct frame_shape *shape, struct error *err);
/* Returns true if the requested features allow a canvas, an endless plane that follows the camera. */
bool past_may_follow(const struct engine_shape *wish, const struct frame_shape *shape);
/* Returns true if this run must not use data that earlier frames left on the device. engine_request.restart says when
 * that is so. */
bool past_ends(const struct engine *engine, const struct engine_request *request);
/* Called when the run for this request was started. Records what past_ends needs at the next request to decide whether
 * the next run may use data of this one. */
void past_follow(struct engine *engine, const struct engine_request *request, const struct run_params *run);

/* --- noise.c: the noise of a seed, or of a position between two seeds --- */

/* Allocates the host memory in which the handle's noise is computed. The memory is freed with the handle. */
int noise_allocate(struct prepared *prepared, struct error *err);
/* Writes noise to the device: for each frame of the run, that of the seed and seed position in controls[i], i < count.
 * The noise of steps is written only up to the last step in which the handle's sampler table adds noise. */
int noise_bring(struct engine *engine, struct prepared *prepared, const struct controls *const *controls, int count,
                struct error *err);
/* Computes noise in advance, on the host, a part in each call. If the seed position moves by less than one seed a
 * frame, later frames will need the noise of the next seed in that direction. Called after a frame was started. */
void noise_make_ahead(struct prepared *prepared);

#endif
