#include "app/source/mixer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "app/source/dissolve.h"
#include "unet/base/platform.h"

/* Interval in ns (30 times a second) at which a source's last frame is mixed again with the old source, if the source
 * fades in and gives no new frame. */
static const int64_t step_ns = 33333333;

struct mixer {
  struct mailbox *out;
  const struct log *log;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. */
  enum mixer_input shown;
  /* The frame that was passed on last: the input from which it came (last), and the number of its stretch (part without
   * a gap in time) in that input (last_stretch). */
  enum mixer_input last;
  uint64_t last_stretch;
  /* numbers that frames get from the mixer, counted over all inputs: frame.serial of the next frame, and frame.stretch
   * (number of a sequence of frames without a gap in time) of the last one */
  uint64_t serial, stretch;
  bool ending;
  /* true: a fade has begun during another one, so it starts from a still picture: the mixture that was shown last */
  bool still;
  /* `from`: the frame that fades out (no planes: there is no fade); `to`: the newest frame of the source that fades in;
   * begun_ns, length_ns: when the fade began, and how long it takes; put_ns: when a frame was last passed on. */
  struct frame from, to;
  int64_t begun_ns, length_ns, put_ns;
  struct dissolve dissolve;

  /* fade_s: seconds that a new source takes to fade in; shape: width divided by height of the engine's pictures, 0:
   * unknown. Not protected by `lock`. */
  _Atomic double fade_s, shape;
};

/* --- a fade; the caller of all these functions holds the lock --- */

static bool is_fading(const struct mixer *mixer) {
  return mixer->from.plane[0] != NULL;
}

static void end_fade(struct mixer *mixer) {
  frame_release(&mixer->from);
  frame_release(&mixer->to);
  dissolve_forget(&mixer->dissolve);
}

/* Begins a fade from the frame that was passed on last, if a fade is wanted. */
static void begin_fade(struct mixer *mixer) {
  struct frame from;
  double seconds = mixer->fade_s;
  mixer->still = is_fading(mixer);
  end_fade(mixer);
  if (seconds <= 0 || !mailbox_look(mixer->out, &from))
    return;
  mixer->from = from;
  mixer->begun_ns = platform_now_ns();
  mixer->length_ns = (int64_t)(seconds * 1e9);
  pthread_cond_signal(&mixer->changed);
}

/* Returns the weight of the new source in the mixed picture at now_ns: 0 at the beginning of the fade, 1 at its
 * end. */
static float share_now(const struct mixer *mixer, int64_t now_ns) {
  return (float)fmin(1, (double)(now_ns - mixer->begun_ns) / (double)mixer->length_ns);
}

/* Replaces a frame of the new source by its mixture with the previous source; ends the fade if it is over, or if
 * mixing fails. */
static void mix(struct mixer *mixer, struct frame *frame, int64_t now_ns) {
  struct frame mixed;
  struct error err;
  float share = share_now(mixer, now_ns);
  if (share >= 1) {
    end_fade(mixer);
    return;
  }
  if (dissolve_mix(&mixer->dissolve, &mixer->from, frame, mixer->shape, share, &mixed, &err)) {
    log_line(mixer->log, LOG_WARNING, "source-fade: %s", err.message);
    end_fade(mixer);
    return;
  }
  frame_release(&mixer->to);
  mixer->to = *frame;
  *frame = mixed;
}

static void pass_on(struct mixer *mixer, struct frame *frame) {
  int64_t now_ns = platform_now_ns();
  if (is_fading(mixer))
    mix(mixer, frame, now_ns);
  frame->stretch = mixer->stretch;
  frame->serial = mixer->serial++;
  mixer->put_ns = now_ns;
  mailbox_put(mixer->out, &(struct mail){.frame = *frame});
}

/* --- a thread that mixes the last frame again during a fade to a source that is slow or a single picture --- */

static void mix_again(struct mixer *mixer) {
  struct frame frame = frame_hold(&mixer->to);
  frame.captured_ns = platform_now_ns();
  frame.late_ns = 0;
  pass_on(mixer, &frame);
}

static void *mixer_main(void *opaque) {
  struct mixer *mixer = opaque;
  pthread_mutex_lock(&mixer->lock);
  while (!mixer->ending) {
    struct timespec deadline = wait_deadline(mixer->put_ns + step_ns);
    if (!is_fading(mixer))
      pthread_cond_wait(&mixer->changed, &mixer->lock);
    else if (platform_now_ns() < mixer->put_ns + step_ns || !mixer->to.plane[0])
      pthread_cond_timedwait(&mixer->changed, &mixer->lock, &deadline);
    else
      mix_again(mixer);
  }
  pthread_mutex_unlock(&mixer->lock);
  return NULL;
}

int mixer_open(struct mixer **out, struct mailbox *mailbox, const struct gpu *gpu, const struct log *log,
               struct error *err) {
  struct mixer *mixer = calloc(1, sizeof *mixer);
  if (!mixer)
    return error_set(err, STATUS_FAILED, "no memory for sources");
  mixer->out = mailbox;
  mixer->log = log;
  dissolve_init(&mixer->dissolve, gpu);
  platform_lock_init(&mixer->lock);
  wait_init(&mixer->changed);
  int code = pthread_create(&mixer->thread, NULL, mixer_main, mixer);
  if (!code) {
    *out = mixer;
    return 0;
  }
  pthread_cond_destroy(&mixer->changed);
  pthread_mutex_destroy(&mixer->lock);
  free(mixer);
  return error_set(err, STATUS_FAILED, "cannot start the thread that mixes sources: %s", strerror(code));
}

void mixer_close(struct mixer **pointer) {
  struct mixer *mixer = *pointer;
  if (!mixer)
    return;
  pthread_mutex_lock(&mixer->lock);
  mixer->ending = true;
  pthread_cond_signal(&mixer->changed);
  pthread_mutex_unlock(&mixer->lock);
  pthread_join(mixer->thread, NULL);
  end_fade(mixer);
  dissolve_free(&mixer->dissolve);
  pthread_cond_destroy(&mixer->changed);
  pthread_mutex_destroy(&mixer->lock);
  free(mixer);
  *pointer = NULL;
}

/* Increments mixer->stretch (number of a sequence of frames without a gap in time) if the frame does not continue the
 * one before: another source comes without a fade, or the time within a source jumps. A source that fades in does
 * continue the former one, because the first mixed picture is still the former source's. */
static void follow_stretch(struct mixer *mixer, enum mixer_input input, const struct frame *frame, bool fades_in) {
  bool other = !mixer->serial || input != mixer->last || frame->stretch != mixer->last_stretch;
  mixer->stretch += other && !fades_in;
  mixer->last = input;
  mixer->last_stretch = frame->stretch;
}

/* Takes the next frame of the source that fades out, in place of the one before, to be mixed with the new source's
 * frames. If the fade began during another fade, it continues from the mixture shown at that moment, and the frame is
 * only released. */
static void take_leaving(struct mixer *mixer, struct frame *frame) {
  if (is_fading(mixer) && !mixer->still) {
    struct frame before = mixer->from;
    mixer->from = *frame;
    *frame = before;
  }
  frame_release(frame);
}

void mixer_put(struct mixer *mixer, enum mixer_input input, struct frame *frame, bool begins) {
  pthread_mutex_lock(&mixer->lock);
  if (input == MIXER_LIST)
    mixer->shown = MIXER_LIST;
  if (input == mixer->shown) {
    bool anew = begins || input != mixer->last;
    if (anew && mixer->serial)
      begin_fade(mixer);
    follow_stretch(mixer, input, frame, anew && is_fading(mixer));
    pass_on(mixer, frame);
  } else if (input == MIXER_LEAVING) {
    take_leaving(mixer, frame);
  } else {
    frame_release(frame);
  }
  pthread_mutex_unlock(&mixer->lock);
}

void mixer_stand_in(struct mixer *mixer) {
  pthread_mutex_lock(&mixer->lock);
  mixer->shown = MIXER_STAND_IN;
  pthread_mutex_unlock(&mixer->lock);
}

void mixer_end(struct mixer *mixer, enum mixer_input input) {
  if (input == MIXER_LIST)
    mailbox_close(mixer->out);
}

void mixer_set_fade(struct mixer *mixer, double seconds, double shape) {
  mixer->fade_s = seconds;
  mixer->shape = shape;
}

bool mixer_wants_fade(const struct mixer *mixer) {
  return mixer->fade_s > 0;
}

bool mixer_fades(struct mixer *mixer) {
  pthread_mutex_lock(&mixer->lock);
  bool fades = is_fading(mixer);
  pthread_mutex_unlock(&mixer->lock);
  return fades;
}
