/* The functions by which other threads send values to the loop, read its status, and end it. */
#include "app/run/loop_impl.h"
#include "unet/base/platform.h"

/* time in ms between two looks at whether the loop's thread has ended */
enum { LOOK_AGAIN_MS = 10 };

/* True if a change needs no work before the frame that it comes to. */
static bool is_for_frames(const struct parameters *changes) {
  for (int id = 0; id < PARAMETERS; id++) {
    enum parameter_need need = parameter_row(id)->need;
    if (changes->marks[id] && ((need != NEED_FRAME && need != NEED_NOTHING) || id == PARAMETER_PAUSE))
      return false;
  }
  return true;
}

/* A fader gives a hundred values a second. While frames come whose values are copied anew in any case, the loop's
 * thread is not woken between two frames for values that the next frame uses without other work. */
long loop_send(struct loop *loop, const struct parameters *changes) {
  if (!parameters_any_marked(changes))
    return loop->sent;
  pthread_mutex_lock(&loop->lock);
  settings_apply(&loop->settings, changes, platform_now_ns());
  long sent = ++loop->sent;
  pthread_mutex_unlock(&loop->lock);
  if (!loop->ever_new || loop_waits_long(loop) || !is_for_frames(changes))
    mailbox_wake(loop_waited_at(loop));
  return sent;
}

void loop_glide(struct loop *loop, struct parameters *changes, int64_t begin_ns, double seconds) {
  pthread_mutex_lock(&loop->lock);
  glide_set(&loop->glide, changes, begin_ns, seconds);
  ++loop->sent;
  pthread_mutex_unlock(&loop->lock);
  mailbox_wake(loop_waited_at(loop));
}

bool loop_get_settings(struct loop *loop, struct settings *settings) {
  pthread_mutex_lock(&loop->lock);
  bool ready = loop->status.ready;
  if (ready)
    settings_copy(settings, &loop->settings);
  pthread_mutex_unlock(&loop->lock);
  if (ready)
    parameters_clear_marks(&settings->values);
  return ready;
}

bool loop_get_marked(struct loop *loop, struct parameters *values) {
  pthread_mutex_lock(&loop->lock);
  bool ready = loop->status.ready;
  if (ready)
    *values = loop->settings.values;
  pthread_mutex_unlock(&loop->lock);
  return ready;
}

void loop_get_status(struct loop *loop, struct loop_status *status) {
  pthread_mutex_lock(&loop->lock);
  *status = loop->status;
  pthread_mutex_unlock(&loop->lock);
  long long busy_ns = loop->busy_ns;
  status->busy_ms = busy_ns ? (double)(platform_now_ns() - busy_ns) * 1e-6 : 0;
}

void loop_set_on_device(struct loop *loop, bool on_device) {
  loop->on_device = on_device;
}

void loop_set_drawn_there(struct loop *loop, bool drawn_there) {
  loop->drawn_there = drawn_there;
}

void loop_end(struct loop *loop) {
  if (!loop)
    return;
  loop->stop = true;
  mailbox_wake(loop_waited_at(loop));
}

bool loop_wait_end(const struct loop *loop, int wait_ms) {
  for (int64_t until = platform_now_ns() + wait_ms * INT64_C(1000000); loop && !loop->through;) {
    if (platform_now_ns() > until)
      return false;
    platform_sleep_ns(LOOK_AGAIN_MS * INT64_C(1000000));
  }
  return true;
}
