/* bench --steadiness: runs the engine on drawn clips whose motion is known and on real clips, and measures how steady
 * the outputs are. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/bench/steadiness.h"
#include "app/control/cover_pixels.h"
#include "app/platform/app_platform.h"
#include "app/platform/paths.h"
#include "app/run/setup.h"

/* CLIP_FRAMES: how many frames of a real clip are used by default. CLIP_FRAMES_MAX: the largest value of --frames,
 * because all frames are kept in memory. */
enum { CLIP_FRAMES = 24, CLIP_FRAMES_MAX = 1000 };

/* --- the inputs and outputs of a clip: making, copying and freeing frames --- */

/* The frames of one clip, which this struct owns: inputs, outputs of the engine, and what the engine makes of each
 * input alone, without earlier frames. Each array has `count` elements. */
struct sequence {
  int count;
  /* arrays of `count` elements: input pictures, the engine's outputs for them in order, and its outputs for each input
   * alone */
  struct raster *input, *output, *alone;
};

static void free_rasters(struct raster **rasters, int count) {
  for (int i = 0; *rasters && i < count; i++)
    raster_free(&(*rasters)[i]);
  free(*rasters);
  *rasters = NULL;
}

static void sequence_free(struct sequence *sequence) {
  free_rasters(&sequence->input, sequence->count);
  free_rasters(&sequence->output, sequence->count);
  free_rasters(&sequence->alone, sequence->count);
  *sequence = (struct sequence){0};
}

/* Allocates the sequence's arrays, with room for `most` frames; the sequence has no frames yet (count 0). The caller
 * frees the sequence, also after a failure. Returns 0, or -1 with err. */
static int sequence_open(struct sequence *sequence, int most, struct error *err) {
  *sequence = (struct sequence){.input = calloc((size_t)most, sizeof(struct raster)),
                                .output = calloc((size_t)most, sizeof(struct raster)),
                                .alone = calloc((size_t)most, sizeof(struct raster))};
  if (sequence->input && sequence->output && sequence->alone)
    return 0;
  return error_set(err, STATUS_FAILED, "no memory for %d frames", most);
}

/* Appends a frame to the sequence; its pictures (input, output, alone) are black. The arrays must have room for the
 * frame. Returns 0, or -1 with err. */
static int sequence_add(struct sequence *sequence, const struct engine_shape *shape, struct error *err) {
  int at = sequence->count++;
  return raster_make(&sequence->input[at], shape->width, shape->height, err) ||
                 raster_make(&sequence->output[at], shape->width, shape->height, err) ||
                 raster_make(&sequence->alone[at], shape->width, shape->height, err)
             ? -1
             : 0;
}

/* Makes a sequence of black frames. The caller frees it, also after a failure. Returns 0, or -1 with err. */
static int sequence_make(struct sequence *sequence, int count, const struct engine_shape *shape, struct error *err) {
  int status = sequence_open(sequence, count, err);
  for (int i = 0; i < count && !status; i++)
    status = sequence_add(sequence, shape, err);
  return status;
}

static struct steadiness_frames frames_of(const struct sequence *sequence) {
  return (struct steadiness_frames){sequence->input, sequence->output, sequence->alone, sequence->count};
}

/* --- running the engine on frames: in order, and each alone --- */

/* What all measurements of the outputs' steadiness use: the pictures' width and height, and a buffer for the engine's
 * input. */
struct trial {
  struct bench *bench;
  struct engine_shape shape;
  uint8_t *pixels; /* buffer for one input frame as RGBA, which the engine reads */
};

/* Runs the engine on one frame. `at`: the frame's number in the clip, from 0. Returns 0, or -1 with err. */
static int run_frame(struct trial *trial, struct prepared *prepared, const struct raster *input, int at,
                     struct raster *output, struct error *err) {
  const struct frame frame = {.format = PIXEL_RGBA,
                              .range = RANGE_FULL,
                              .width = input->width,
                              .height = input->height,
                              .plane = {trial->pixels},
                              .pitch = {4 * input->width},
                              .pts = at,
                              .serial = (uint64_t)at};
  const struct engine_request request = {
      .prepared = prepared, .controls = &trial->bench->controls, .frame = &frame, .identity = frame_identity(&frame)};
  struct engine_result result;
  if (atomic_load(&setup_stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted: no figures");
  raster_write(input, trial->pixels, frame.pitch[0]);
  if (engine_submit(trial->bench->engine, &request, err) || engine_collect(trial->bench->engine, &result, err))
    return -1;
  int status = frame_wait(&result.picture, MEMORY_HOST, err) < 0 ? -1 : 0;
  if (!status)
    raster_read(output, &result.picture);
  frame_release(&result.picture);
  return status;
}

/* Runs the engine on frames in order, with a newly prepared handle (struct prepared: size and step count). All that the
 * engine keeps from frame to frame belongs to the handle, so earlier clips have no influence. Returns 0, or -1 with
 * err. */
static int run_frames(struct trial *trial, const struct raster *input, struct raster *output, int count,
                      struct error *err) {
  struct prepared *prepared;
  if (engine_prepare(trial->bench->engine, &trial->shape, &prepared, err))
    return -1;
  int status = 0;
  for (int i = 0; i < count && !status; i++)
    status = run_frame(trial, prepared, &input[i], i, &output[i], err);
  engine_release(trial->bench->engine, &prepared);
  return status;
}

static bool same_pixels(const struct raster *a, const struct raster *b) {
  return !memcmp(a->rgb, b->rgb, (size_t)a->width * a->height * 3 * sizeof *a->rgb);
}

/* Runs the engine on each frame with a newly prepared handle (struct prepared), so that no earlier frame has an
 * influence. If a frame equals the one before, the earlier frame's output is copied instead. Returns 0, or -1 with
 * err. */
static int run_alone(struct trial *trial, struct sequence *sequence, struct error *err) {
  for (int i = 0; i < sequence->count; i++) {
    struct raster *alone = &sequence->alone[i];
    if (i && same_pixels(&sequence->input[i], &sequence->input[i - 1]))
      memcpy(alone->rgb, alone[-1].rgb, (size_t)alone->width * alone->height * 3 * sizeof *alone->rgb);
    else if (run_frames(trial, &sequence->input[i], alone, 1, err))
      return -1;
  }
  return 0;
}

/* Draws the frames of a clip with known motion from the still picture, and runs the engine on them in order. alone: the
 * engine is also run on each frame alone, without earlier frames. The caller frees the sequence, also after a failure.
 * Returns 0, or -1 with err. */
static int run_motion(struct trial *trial, enum motion motion, const struct raster *still, bool alone,
                      struct sequence *sequence, struct error *err) {
  log_line(&trial->bench->log, LOG_INFO, "--steadiness: %s", motion_name(motion));
  if (sequence_make(sequence, MOTION_FRAMES, &trial->shape, err))
    return -1;
  for (int i = 0; i < sequence->count; i++)
    motion_draw(motion, still, i, &sequence->input[i]);
  return run_frames(trial, sequence->input, sequence->output, sequence->count, err) ||
                 (alone && run_alone(trial, sequence, err))
             ? -1
             : 0;
}

/* --- clips that are drawn with known motion --- */

static int measure_motion(struct trial *trial, enum motion motion, const struct raster *still,
                          struct steadiness_clip *clip, struct error *err) {
  struct sequence sequence;
  int status = run_motion(trial, motion, still, true, &sequence, err);
  struct steadiness_frames frames = frames_of(&sequence);
  if (!status)
    status = steadiness_of_motion(&clip->motion[motion], motion, &frames, err);
  sequence_free(&sequence);
  return status;
}

static int measure_noise(struct trial *trial, const struct raster *still, struct steadiness_clip *clip,
                         struct error *err) {
  struct sequence sequence;
  struct steadiness_motion figures;
  int status = run_motion(trial, MOTION_NOISE, still, false, &sequence, err);
  struct steadiness_frames frames = frames_of(&sequence);
  if (!status)
    status = steadiness_of_motion(&figures, MOTION_NOISE, &frames, err);
  if (!status)
    clip->noise = figures.step;
  sequence_free(&sequence);
  return status;
}

static int measure_cut(struct trial *trial, const struct raster *still, struct steadiness_clip *clip,
                       struct error *err) {
  struct sequence sequence, fresh = {0};
  int status = run_motion(trial, MOTION_CUT, still, false, &sequence, err);
  if (!status)
    status = sequence_make(&fresh, MOTION_FRAMES - MOTION_CUT_AT, &trial->shape, err);
  if (!status)
    status = run_frames(trial, sequence.input + MOTION_CUT_AT, fresh.output, fresh.count, err);
  if (!status)
    steadiness_after_cut(&clip->cut, sequence.output, fresh.output);
  sequence_free(&sequence);
  sequence_free(&fresh);
  return status;
}

/* Measures the outputs for the clip MOTION_CUT_OUT, in which a part of the picture moves over the rest. Computes how
 * much the outputs change along the motion, and for how long they still show the moving part where it no longer is.
 * Returns 0, or -1 with err. */
static int measure_cut_out(struct trial *trial, const struct raster *still, struct steadiness_clip *clip,
                           struct error *err) {
  struct sequence cut_out, ground = {0};
  int status = run_motion(trial, MOTION_CUT_OUT, still, true, &cut_out, err);
  if (!status)
    status = run_motion(trial, MOTION_GROUND, still, true, &ground, err);
  struct steadiness_frames frames = frames_of(&cut_out), ground_frames = frames_of(&ground);
  if (!status)
    status = steadiness_of_motion(&clip->motion[MOTION_CUT_OUT], MOTION_CUT_OUT, &frames, err);
  if (!status)
    status = steadiness_behind_edge(&clip->edge, &frames, &ground_frames, err);
  sequence_free(&cut_out);
  sequence_free(&ground);
  return status;
}

/* --- reading the user's clip --- */

/* A raster is a picture of floating-point values. Scales a frame so that it covers the raster's area, and copies the
 * middle of the result into the raster. Returns 0, or -1 with err. */
static int fit(struct cover_pixels *scaler, const struct frame *frame, struct raster *to, struct error *err) {
  struct frame fitted;
  uint8_t *black = calloc((size_t)to->width * to->height, 4);
  if (!black)
    return error_set(err, STATUS_FAILED, "no memory for a picture of %dx%d", to->width, to->height);
  const struct covered covered = {.picture = {.format = PIXEL_RGBA,
                                              .range = RANGE_FULL,
                                              .width = to->width,
                                              .height = to->height,
                                              .plane = {black},
                                              .pitch = {4 * to->width}},
                                  .source = *frame,
                                  .fit = FIT_AS_CROP,
                                  .cover = {.bypass = 1}};
  int status = cover_pixels_apply(scaler, &covered, &fitted, err);
  if (!status) {
    raster_read(to, &fitted);
    frame_release(&fitted);
  }
  free(black);
  return status;
}

/* Stores the clip's first frame as the still picture from which clips with known motion are drawn. Returns 0, or -1
 * with err. */
static int take_still(struct trial *trial, struct cover_pixels *scaler, const struct frame *frame, struct raster *still,
                      struct error *err) {
  int margin = motion_margin(trial->shape.width, trial->shape.height);
  if (raster_make(still, trial->shape.width + 2 * margin, trial->shape.height + 2 * margin, err))
    return -1;
  return fit(scaler, frame, still, err);
}

/* Reads the source's next frame and appends it to the sequence. The first frame is also stored in *still, the picture
 * from which clips with known motion are drawn. Returns 1, 0 at the end of the source, or -1 with err set. */
static int read_frame(struct trial *trial, struct source *source, struct cover_pixels *scaler,
                      struct sequence *sequence, struct raster *still, struct error *err) {
  struct frame frame;
  int got = source_read(source, &frame, err), at = sequence->count;
  if (got != 1)
    return got;
  if ((!at && take_still(trial, scaler, &frame, still, err)) || sequence_add(sequence, &trial->shape, err) ||
      fit(scaler, &frame, &sequence->input[at], err))
    got = -1;
  frame_release(&frame);
  return got;
}

/* Reads frames from the source into *sequence until the source ends, at most `most` frames. Returns 0, or -1 with err,
 * also if there is no frame. */
static int read_frames(struct trial *trial, struct source *source, int most, struct sequence *sequence,
                       struct raster *still, struct error *err) {
  struct cover_pixels scaler = {0};
  int got = 1;
  while (sequence->count < most && got == 1)
    got = read_frame(trial, source, &scaler, sequence, still, err);
  cover_pixels_free(&scaler);
  return got < 0 ? -1 : sequence->count ? 0 : error_set(err, STATUS_INPUT, "the clip has no frame");
}

/* Reads the frames of the clip at path into *sequence, and its first frame into *still. The caller frees both, also
 * after a failure. Returns 0, or -1 with err. */
static int read_clip(struct trial *trial, const char *path, struct sequence *sequence, struct raster *still,
                     struct steadiness_clip *clip, struct error *err) {
  struct source *source;
  struct source_info info;
  const struct bench *bench = trial->bench;
  int most = bench->options->frames ? (int)bench->options->frames : CLIP_FRAMES;
  *sequence = (struct sequence){0};
  *still = (struct raster){0};
  if (source_open(&source, path, &bench->source_options, err))
    return -1;
  source_get_info(source, &info);
  snprintf(clip->name, sizeof clip->name, "%s", info.description);
  int status = sequence_open(sequence, most, err);
  if (!status)
    status = read_frames(trial, source, most, sequence, still, err);
  clip->frames = sequence->count;
  source_close(&source);
  return status;
}

/* Measures the outputs' changes along the motion that FFmpeg estimates. If the motion cannot be estimated, clip->warp
 * stays NAN and a warning is logged. Returns 0, or -1 with err. */
static int measure_warp(struct trial *trial, const struct steadiness_frames *frames, struct steadiness_clip *clip,
                        struct error *err) {
  struct estimated_flow flow;
  struct error why;
  clip->warp = (struct steadiness_change){NAN, NAN, 0};
  if (frames->count < 2)
    return 0;
  if (estimated_flow_find(&flow, frames->input, frames->count, &why)) {
    log_line(&trial->bench->log, LOG_WARNING, "--steadiness: the warp error is not measured: %s", why.message);
    return 0;
  }
  int status = steadiness_along_flow(&clip->warp, frames, &flow, err);
  estimated_flow_free(&flow);
  return status;
}

static int measure_real(struct trial *trial, struct sequence *sequence, struct steadiness_clip *clip,
                        struct error *err) {
  log_line(&trial->bench->log, LOG_INFO, "--steadiness: %s: %d frames", clip->name, sequence->count);
  if (run_frames(trial, sequence->input, sequence->output, sequence->count, err) || run_alone(trial, sequence, err))
    return -1;
  struct steadiness_frames frames = frames_of(sequence);
  clip->detail = steadiness_detail(&frames);
  return steadiness_where_still(&clip->still, &frames, err) || measure_warp(trial, &frames, clip, err) ? -1 : 0;
}

static int measure_known(struct trial *trial, const struct raster *still, struct steadiness_clip *clip,
                         struct error *err) {
  for (enum motion motion = 0; motion < MOTION_CUT_OUT; motion++)
    if (measure_motion(trial, motion, still, clip, err))
      return -1;
  return measure_cut_out(trial, still, clip, err) || measure_noise(trial, still, clip, err) ||
                 measure_cut(trial, still, clip, err)
             ? -1
             : 0;
}

static int measure_clip(struct trial *trial, const char *path, struct steadiness_clip *clip, struct error *err) {
  struct sequence sequence;
  struct raster still;
  int status = read_clip(trial, path, &sequence, &still, clip, err);
  if (!status)
    status = measure_real(trial, &sequence, clip, err);
  if (!status)
    status = measure_known(trial, &still, clip, err);
  sequence_free(&sequence);
  raster_free(&still);
  return status;
}

/* --- measuring all clips: the function that the command bench --steadiness calls --- */

/* Returns the path of clip `number` of the command line, from 0. If no clip is given, writes the path of the sample
 * clip to `path` and returns that. NULL with err set: the sample clip is not installed. */
static const char *clip_path(const struct options *options, int number, char path[PATHS_MAX], struct error *err) {
  if (options->input)
    return number ? options->files[number - 1] : options->input;
  return paths_data(path, "sample.mp4", STATUS_INPUT, err) ? NULL : path;
}

int bench_steadiness(struct bench *bench, struct error *err) {
  struct steadiness *steadiness = &bench->report.steadiness;
  struct prepared_info prepared;
  prepared_get_info(bench->prepared, &prepared);
  struct trial trial = {.bench = bench, .shape = prepared.shape};
  int count = 1 + (bench->options->input ? bench->options->file_count : 0), status = 0;
  trial.pixels = malloc((size_t)trial.shape.width * trial.shape.height * 4);
  steadiness->clips = calloc((size_t)count, sizeof *steadiness->clips);
  if (!trial.pixels || !steadiness->clips)
    status = error_set(err, STATUS_FAILED, "no memory for the figures of %d clips", count);
  for (int i = 0; i < count && !status; i++) {
    char sample[PATHS_MAX];
    const char *path = clip_path(bench->options, i, sample, err);
    status = path ? measure_clip(&trial, path, &steadiness->clips[i], err) : -1;
    steadiness->count += !status;
  }
  free(trial.pixels);
  snprintf(bench->source, sizeof bench->source, "%d clip%s, and clips of known motion made of them", count,
           count == 1 ? "" : "s");
  return status;
}

int bench_check_steadiness(const struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  if (!options->steadiness)
    return 0;
  const struct {
    bool given;
    const char *name;
  } without[] = {{options->live, "live"},
                 {options->profile, "profile"},
                 {options->sweep, "sweep"},
                 {options->trace != NULL, "trace"},
                 {options->compare != NULL, "compare"},
                 {options->batch > 1, "batch"},
                 {options->values.stream_batch, "stream-batch"},
                 {options->control_source != NULL, "control-source"}};
  for (size_t i = 0; i < sizeof without / sizeof *without; i++)
    if (without[i].given)
      return error_set(err, STATUS_USAGE, "--steadiness compares frames made one after the other: --%s goes without it",
                       without[i].name);
  if (options->frames > CLIP_FRAMES_MAX)
    return error_set(err, STATUS_USAGE, "--frames %ld: --steadiness takes at most %d of each clip", options->frames,
                     CLIP_FRAMES_MAX);
  if (!setup_needs_input(options))
    return error_set(err, STATUS_USAGE, "--steadiness compares frames with their input: --text-to-image has none");
  return 0;
}
