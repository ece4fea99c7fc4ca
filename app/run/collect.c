/* Part of the loop (loop.h) that takes finished pictures from the engine and puts them into the window's mailbox. It
 * measures the pictures' times and counts dropped frames. Runs on the loop's thread. */
#include "app/platform/app_platform.h"
#include "app/run/loop_impl.h"
#include "unet/base/platform.h"

void loop_count_dropped(struct loop *loop, int count) {
  pthread_mutex_lock(&loop->lock);
  loop->status.dropped += count;
  pthread_mutex_unlock(&loop->lock);
}

/* Sets mail->missed if the time budget was exceeded, and tells the governor, which keeps the budget, the frame's time.
 * Does nothing without a budget. The governor is not told if handles or engines are being prepared, opened or released
 * in the background, which makes frames slower, or if its list of settings has changed since the frame was
 * submitted. */
static void measure(struct loop *loop, const struct companion *companion, struct mail *mail) {
  double budget_ms = loop->params.budget_ms, since_ms = (double)(mail->finished_ns - companion->put_ns) * 1e-6;
  bool disturbed = loop->handles.preparer.errand.busy || loop->opener.errand.busy;
  if (budget_ms <= 0)
    return;
  if (!disturbed && companion->rung >= 0 && companion->ladder == loop->ladders)
    governor_measure(&loop->governor, companion->rung, mail->frame_ms);
  mail->missed = (mail->again || !companion->put_ns ? mail->frame_ms : since_ms) > budget_ms;
}

int loop_collect(struct loop *loop) {
  struct engine_result made;
  loop->busy_ns = platform_now_ns();
  int status = engine_collect(loop->engine, &made, &loop->err);
  loop->busy_ns = 0;
  if (status)
    return -1;
  loop->collected++;
  if (made.pending)
    return 0;
  struct companion *companion = made.opaque;
  struct mail mail = {.frame = made.picture,
                      .submitted_ns = made.submitted_ns,
                      .finished_ns = made.finished_ns,
                      .device_ms = made.device_ms,
                      .again = companion->again,
                      .applied = companion->applied,
                      .whole = made.whole && companion->has_texts};
  /* If two frames were in flight, the second had to wait for the first, so its own time begins when the first was
   * finished. */
  int64_t began = mail.submitted_ns > loop->last_finished_ns ? mail.submitted_ns : loop->last_finished_ns;
  mail.frame_ms = (double)(mail.finished_ns - began) / 1e6;
  measure(loop, companion, &mail);
  if (companion->handle == loop->handles_used)
    patience_note(&loop->pace, mail.frame_ms);
  mail.input = companion->input;
  companion->input = (struct frame){0};
  loop->last_finished_ns = mail.finished_ns;
  loop->pictures++;
  size_t copied = loop->copied_before + engine_copied(loop->engine);
  pthread_mutex_lock(&loop->lock);
  loop->status.frames = loop->pictures;
  loop->status.copied = copied;
  loop->status.first = loop->pace.frame_ms <= 0;
  loop->status.tell_ms = patience_to_tell_ms(&loop->pace);
  loop->status.leave_ms = patience_to_leave_ms(&loop->pace);
  loop->status.cpu_ms = (double)platform_thread_cpu_ns() * 1e-6;
  pthread_mutex_unlock(&loop->lock);
  mailbox_put(loop->out, &mail);
  return 0;
}
