/* Replaces an OpenGL context that was lost because the GPU hung, was reset or removed. All textures, shaders and
 * buffers are created again in the new context. */
#include "app/live/live_impl.h"
#include "app/window/import_gl.h"

static const int64_t again_ns = 250000000, patience_ns = 2000000000;

struct renewal {
  struct live *live;
  struct present *present;
  struct hud *hud;
};

struct present_counts live_count_drawn(const struct live *live) {
  struct present_counts counts = present_count(live->present);
  counts.shared += live->former.shared;
  counts.uploaded += live->former.uploaded;
  counts.bytes += live->former.bytes;
  return counts;
}

static int enter(void *opaque, struct error *err) {
  struct renewal *renewal = opaque;
  if (!present_open(&renewal->present, &import_gl, NULL, &renewal->live->log, err) && !hud_open(&renewal->hud, err))
    return 0;
  present_close(&renewal->present);
  return -1;
}

static void leave(void *opaque) {
  struct renewal *renewal = opaque;
  struct live *live = renewal->live;
  live->former = live_count_drawn(live);
  hud_close(&live->hud);
  present_close(&live->present);
  live->hud = renewal->hud;
  live->present = renewal->present;
}

/* Uploads the frozen picture and the current one again, because their textures were lost with the OpenGL context. Marks
 * the input frame and the source's frame as not uploaded, so that the next pass of the loop uploads them. */
static void upload_again(struct live *live) {
  struct present *present = live->present;
  if (live->held.plane[0]) {
    present_picture(present, &live->held);
    present_hold(present);
  }
  if (live->shown) {
    present_picture(present, &live->shown->frame);
    live->input_part = 0;
  }
  live->source_serial = 0;
  test_card_close(&live->card);
}

int live_follow_context(struct live *live, int64_t now_ns, struct error *err) {
  struct renewal renewal = {.live = live};
  if (!live->context_lost_ns && !window_lost_context(live->window, now_ns))
    return 0;
  if (!live->context_lost_ns)
    live->context_lost_ns = now_ns;
  if (now_ns < live->context_tried_ns + again_ns)
    return 0;
  live->context_tried_ns = now_ns;
  struct error why;
  if (window_renew_context(live->window, enter, leave, &renewal, &why)) {
    if (live->context_lost_ns == now_ns)
      log_line(&live->log, LOG_WARNING, "the graphics driver lost the window's context, and makes no other yet");
    return now_ns - live->context_lost_ns < patience_ns
               ? 0
               : error_set(err, STATUS_OUTPUT,
                           "the window is gone: the graphics driver lost its context and makes no other: %s",
                           why.message);
  }
  upload_again(live);
  live_tell(live, LOG_WARNING, now_ns, "the graphics driver lost the window's context: it is made again");
  live->context_lost_ns = 0;
  return 1;
}
