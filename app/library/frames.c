/* Submits frames to the engine and collects their pictures. A program calls these functions on one thread at a time,
 * except reverie_release, which any thread may call. */
#include "app/library/library.h"

/* --- the parameters' values with which a frame's picture is made --- */

static bool same_text(const char *a, const char *b) {
  return a && b ? !strcmp(a, b) : a == b;
}

/* Copies to reverie->used the values that the caller has set. Marks prompts whose texts have changed as stale, which
 * means that they must be encoded again. *shape gets the size, step count and so on for which the engine must be
 * prepared. Returns 0, or -1 with err. */
static int take_values(struct reverie *reverie, struct engine_shape *shape, struct error *err) {
  pthread_mutex_lock(&reverie->lock);
  const struct parameters *asked = &reverie->asked.values, *used = &reverie->used.values;
  for (int slot = SLOT_PRESET_1; asked->texts != used->texts && slot < LIBRARY_SLOTS; slot++)
    if (!same_text(library_text(asked, slot), library_text(used, slot)))
      reverie->stale |= 1u << slot;
  settings_copy(&reverie->used, &reverie->asked);
  int status = library_shape(reverie, &reverie->used.values, shape, err);
  pthread_mutex_unlock(&reverie->lock);
  return status;
}

/* After a frame was submitted, copies values from reverie->used to reverie->asked, which reverie_get reads: the values
 * that the model recommends for parameters that the caller has not set. */
static void tell_model_values(struct reverie *reverie) {
  values_follow_styles(&reverie->used.values, engine_usual_detail(reverie->engine));
  pthread_mutex_lock(&reverie->lock);
  parameters_follow_model(&reverie->asked.values, &reverie->used.values);
  pthread_mutex_unlock(&reverie->lock);
}

/* Encodes the prompts whose texts have changed; a removed text is encoded as "". Called with reverie->lock held,
 * because the tokenizer must not run on two threads, and reverie_prepare counts chunks with it on another one. Returns
 * 0, or -1 with err. */
static int encode_texts(struct reverie *reverie, struct error *err) {
  for (int slot = SLOT_PRESET_1; slot < LIBRARY_SLOTS; slot++) {
    const char *text = library_text(&reverie->used.values, slot);
    unsigned bit = 1u << slot;
    if (reverie->stale & bit && (text || reverie->encoded & bit) &&
        engine_set_prompt(reverie->engine, slot, text ? text : "", err))
      return -1;
    reverie->encoded |= text ? bit : 0;
    reverie->stale &= ~bit;
  }
  return 0;
}

/* --- submitting frames --- */

/* Decreases the number of frames in flight of a handle (an engine made ready for one size), which may be released when
 * that number is 0. Called after a frame's run was seen to end, or when the frame could not be submitted. */
static void let_go(struct reverie *reverie, struct library_handle *handle) {
  pthread_mutex_lock(&reverie->lock);
  handle->in_flight--;
  pthread_mutex_unlock(&reverie->lock);
}

/* Lets go the handles of runs that the engine has seen to their end. added: number of runs that were submitted since
 * the last call, 0 or 1. */
static void follow_runs(struct reverie *reverie, int added) {
  for (int ended = reverie->unfinished + added - engine_unfinished(reverie->engine); ended > 0; ended--) {
    let_go(reverie, reverie->flying[0]);
    reverie->flying[0] = reverie->flying[1];
    reverie->unfinished--;
  }
}

static int submit(struct reverie *reverie, struct library_handle *handle, struct engine_request *request,
                  struct error *err) {
  request->prepared = handle->prepared;
  request->on_device = reverie->memory == REVERIE_CUDA;
  request->early = (reverie->flags & REVERIE_EARLY) != 0;
  int status = engine_submit(reverie->engine, request, err);
  follow_runs(reverie, status == 0);
  if (status)
    return -1;
  reverie->flying[reverie->unfinished++] = handle;
  reverie->current = handle;
  reverie->drained = handle->prepared;
  return 0;
}

/* Converts a frame of the calling program to one of the engine. needs: true: its pixels will be read. */
static int read_frame(struct reverie *reverie, const struct reverie_frame *from, bool needs, struct frame *frame,
                      struct error *err) {
  if (library_frame(frame, from, needs, err))
    return -1;
  return needs && from->memory == REVERIE_CUDA ? library_guest(reverie, from, frame, err) : 0;
}

/* Converts the calling program's frame, and its frame of the second source (reverie_frame.control), to frames of the
 * engine, which the caller releases, also after a failure. */
static int read_frames(struct reverie *reverie, const struct reverie_frame *from, struct frame frames[2],
                       struct error *err) {
  struct reverie_frame second;
  if (read_frame(reverie, from, from->plane[0] || !reverie->used.values.text_to_image, &frames[0], err))
    return -1;
  if (!from->control)
    return 0;
  if (library_take_frame(&second, from->control, err) || read_frame(reverie, &second, true, &frames[1], err))
    return error_prefix(err, "the second source: ");
  return 0;
}

/* Submits a frame that was read (read_frames). shape: size, step count and so on for which the engine must be
 * prepared. */
static int submit_read(struct reverie *reverie, const struct reverie_frame *from, const struct engine_shape *shape,
                       const struct frame frames[2], struct error *err) {
  struct library_handle *handle;
  struct controls controls;
  if (library_handle_find(reverie, shape, true, &handle, err))
    return -1;
  prepared_get_info(handle->prepared, &reverie->shown);
  values_follow_engine(&reverie->used.values, &reverie->info, &reverie->shown);
  values_controls(&reverie->used.values, &controls);
  controls.seed_position = values_seed_position(&reverie->used.values, (double)from->time_ns * 1e-9);
  struct engine_request request = {.controls = &controls,
                                   .frame = &frames[0],
                                   .control_frame = from->control ? &frames[1] : NULL,
                                   .identity = {.pts = from->time_ns},
                                   .restart = from->restart != 0,
                                   .opaque = from->opaque};
  pthread_mutex_lock(&reverie->lock);
  int encoded = reverie->stale ? encode_texts(reverie, err) : 0;
  pthread_mutex_unlock(&reverie->lock);
  if (!encoded && !submit(reverie, handle, &request, err)) {
    tell_model_values(reverie);
    return 0;
  }
  let_go(reverie, handle);
  return -1;
}

static int submit_frame(struct reverie *reverie, const struct reverie_frame *from, struct error *err) {
  struct engine_shape shape;
  struct frame frames[2] = {{0}};
  int status = take_values(reverie, &shape, err) || read_frames(reverie, from, frames, err) ||
               submit_read(reverie, from, &shape, frames, err);
  for (int i = 0; i < 2; i++)
    frame_release(&frames[i]);
  return status ? -1 : 0;
}

/* Runs the network without a new frame, which advances the frames in the stream batch (frames at different denoising
 * steps that are computed in one batch) by one step. Fails if the stream batch has no frames. */
static int drain(struct reverie *reverie, struct error *err) {
  struct controls controls;
  struct library_handle *handle = reverie->current;
  pthread_mutex_lock(&reverie->lock);
  bool there = handle && handle->prepared && handle->prepared == reverie->drained;
  if (there)
    handle->in_flight++;
  pthread_mutex_unlock(&reverie->lock);
  if (!there || !engine_under_way(handle->prepared)) {
    if (there)
      let_go(reverie, handle);
    return error_set(err, STATUS_USAGE, "no frame was given, and no stream batch has frames left");
  }
  values_controls(&reverie->used.values, &controls);
  struct engine_request request = {.controls = &controls, .drain = true};
  if (!submit(reverie, handle, &request, err))
    return 0;
  let_go(reverie, handle);
  return -1;
}

int reverie_submit(struct reverie *reverie, const struct reverie_frame *frame, struct reverie_error *error) {
  struct error err;
  struct reverie_frame own;
  if (!reverie->engine)
    return library_refuse(error, "no model is open: reverie_open comes first");
  if (engine_in_flight(reverie->engine) == REVERIE_IN_FLIGHT_MOST)
    return library_refuse(error, "%d frames are in flight already: reverie_collect takes the first one's picture",
                          REVERIE_IN_FLIGHT_MOST);
  int status =
      frame ? library_take_frame(&own, frame, &err) || submit_frame(reverie, &own, &err) : drain(reverie, &err);
  return library_tell(error, status ? &err : NULL);
}

int reverie_in_flight(struct reverie *reverie) {
  return reverie->engine ? engine_in_flight(reverie->engine) : 0;
}

/* --- collecting pictures --- */

static void fill_picture(struct reverie_picture *own, const struct engine_result *result, int memory) {
  const struct frame *from = &result->picture;
  const struct picture *picture = from->picture;
  own->format = library_format_tell(from->format);
  own->matrix = (int)from->matrix;
  own->range = (int)from->range;
  own->width = from->width;
  own->height = from->height;
  for (int i = 0; i < 3; i++) {
    bool there = i < frame_planes(from->format);
    own->plane[i] = memory == REVERIE_CUDA && there ? picture->device_plane[i] : from->plane[i];
    own->pitch[i] = from->pitch[i];
  }
  own->time_ns = from->pts;
  own->device_ms = result->device_ms;
  own->hold = from->picture;
  own->memory = memory;
  own->device = memory == REVERIE_CUDA ? picture->gpu.ordinal : 0;
  own->ready = memory == REVERIE_CUDA ? picture->fence : NULL;
  own->number = picture->number;
}

int reverie_collect(struct reverie *reverie, struct reverie_picture *picture, struct reverie_error *error) {
  struct error err;
  struct engine_result result;
  struct reverie_picture own = {0};
  if (!reverie_in_flight(reverie))
    return library_refuse(error, "no frame is in flight");
  if (library_check_size(picture, LIBRARY_PICTURE_LEAST, "reverie_picture", &err))
    return library_tell(error, &err);
  int status = engine_collect(reverie->engine, &result, &err);
  follow_runs(reverie, 0);
  own.opaque = result.opaque;
  if (!status && !result.pending) {
    status = reverie->memory == REVERIE_CUDA ? 0 : frame_wait(&result.picture, MEMORY_HOST, &err);
    if (status)
      frame_release(&result.picture);
    else
      fill_picture(&own, &result, reverie->memory);
  }
  own.whole = !status && result.whole;
  own.restarted = !status && result.restarted;
  library_write(picture, &own, sizeof own);
  return library_tell(error, status ? &err : NULL);
}

void reverie_release(struct reverie_picture *picture) {
  struct reverie_picture own;
  library_read(&own, picture, sizeof own);
  struct frame frame = {.picture = own.hold};
  frame_release(&frame);
  own.hold = NULL;
  own.plane[0] = own.plane[1] = own.plane[2] = NULL;
  library_write(picture, &own, sizeof own);
}

/* --- setting the mask and the style pictures --- */

/* Converts a mask or a style picture to a frame of the engine. from NULL: *frame is zeroed. Returns 0, or -1 with
 * err. */
static int read_picture(const struct reverie_frame *from, struct frame *frame, struct error *err) {
  struct reverie_frame own;
  *frame = (struct frame){0};
  if (!from)
    return 0;
  if (library_take_frame(&own, from, err) || library_frame(frame, &own, true, err))
    return -1;
  return own.memory == REVERIE_HOST
             ? 0
             : error_set(err, STATUS_INPUT,
                         "masks and style pictures are read from the host's memory, not from CUDA's");
}

int reverie_set_mask(struct reverie *reverie, const struct reverie_frame *frame, int transparent,
                     struct reverie_error *error) {
  struct error err;
  struct frame own;
  if (!reverie->engine)
    return library_refuse(error, "no model is open: reverie_open comes first");
  int status = read_picture(frame, &own, &err) ||
               engine_set_mask(reverie->engine, frame ? &own : NULL, transparent ? MASK_TRANSPARENT : MASK_WHITE, &err);
  return library_tell(error, status ? &err : NULL);
}

int reverie_set_style(struct reverie *reverie, int number, const struct reverie_frame *frame,
                      struct reverie_error *error) {
  struct error err;
  struct frame own;
  struct engine_style *style = NULL;
  if (!reverie->engine)
    return library_refuse(error, "no model is open: reverie_open comes first");
  if (number < 1 || number > STYLES_MAX)
    return library_refuse(error, "style picture %d: there are 1 to %d", number, STYLES_MAX);
  if (!reverie->info.style.size)
    return library_refuse(error, "a style picture needs an IP-Adapter, which the parameter ip-adapter names%s",
                          reverie->info.own_adapter ? ": \"own\" for this model's, set before reverie_open" : "");
  int status = read_picture(frame, &own, &err) ||
               (frame && engine_read_style(&reverie->info.style, &own, &style, &err)) ||
               engine_set_style(reverie->engine, number - 1, style, &err);
  engine_free_style(&style);
  return library_tell(error, status ? &err : NULL);
}
