#include "app/source/deinterlacer.h"

#include <stdbool.h>
#include <stdlib.h>

#include "app/source/filter_chain.h"

/* Capacity of `held`, the times of frames that are in FFmpeg's filter bwdif; it holds at most three frames. */
enum { HELD_MAX = 8 };

struct times {
  int64_t pts, best_effort, duration;
};

struct deinterlacer {
  struct filter_chain chain;
  /* Ring of the times of the frames in the filter chain. They replace the filter's own times, which count half ticks
   * and are guessed for the last frame. */
  struct times held[HELD_MAX];
  unsigned first, count;
  /* a frame of another size or format, which waits until the frames in the filter chain have come out; NULL: none */
  AVFrame *next;
  bool ended;
};

int deinterlacer_open(struct deinterlacer **out, struct error *err) {
  static const char *const needed[] = {"bwdif", "scale", NULL};
  struct deinterlacer *deinterlacer = *out = calloc(1, sizeof *deinterlacer);
  if (!deinterlacer || !(deinterlacer->next = av_frame_alloc()))
    return error_set(err, STATUS_FAILED, "no memory to deinterlace");
  return filter_chain_open(&deinterlacer->chain, needed, err);
}

static int64_t *duration_of(AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR < 58
  return &frame->pkt_duration;
#else
  return &frame->duration;
#endif
}

static int send(struct deinterlacer *deinterlacer, AVFrame *frame) {
  if (deinterlacer->count == HELD_MAX)
    return AVERROR_BUG;
  unsigned at = (deinterlacer->first + deinterlacer->count++) % HELD_MAX;
  deinterlacer->held[at] = (struct times){frame->pts, frame->best_effort_timestamp, *duration_of(frame)};
  return filter_chain_send(&deinterlacer->chain, frame);
}

static int begin(struct deinterlacer *deinterlacer, AVFrame *frame) {
  deinterlacer->count = 0;
  int code = filter_chain_build(&deinterlacer->chain, frame, "bwdif=mode=send_frame:parity=auto:deint=interlaced");
  return code < 0 ? code : send(deinterlacer, frame);
}

int deinterlacer_send(struct deinterlacer *deinterlacer, AVFrame *frame) {
  struct filter_chain *chain = &deinterlacer->chain;
  deinterlacer->ended = !frame;
  if (!frame)
    return chain->graph ? filter_chain_send(chain, NULL) : 0;
  if (!chain->graph)
    return begin(deinterlacer, frame);
  if (filter_chain_fits(chain, frame))
    return send(deinterlacer, frame);
  av_frame_move_ref(deinterlacer->next, frame);
  return filter_chain_send(chain, NULL);
}

/* Called when a filter chain has given its last picture. Frees it, and builds another for the frame that waits in
 * `next`. Returns 0 or an FFmpeg error code. If no frame waits, returns AVERROR(EAGAIN), or AVERROR_EOF if no more
 * frames will be sent. */
static int go_on(struct deinterlacer *deinterlacer) {
  filter_chain_free(&deinterlacer->chain);
  if (deinterlacer->next->buf[0])
    return begin(deinterlacer, deinterlacer->next);
  return deinterlacer->ended ? AVERROR_EOF : AVERROR(EAGAIN);
}

int deinterlacer_receive(struct deinterlacer *deinterlacer, AVFrame *picture) {
  for (;;) {
    if (!deinterlacer->chain.graph)
      return deinterlacer->ended ? AVERROR_EOF : AVERROR(EAGAIN);
    int code = filter_chain_receive(&deinterlacer->chain, picture);
    if (code == AVERROR_EOF && (code = go_on(deinterlacer)) >= 0)
      continue;
    if (code < 0)
      return code;
    const struct times *times = &deinterlacer->held[deinterlacer->first];
    picture->pts = times->pts;
    picture->best_effort_timestamp = times->best_effort;
    *duration_of(picture) = times->duration;
    deinterlacer->first = (deinterlacer->first + 1) % HELD_MAX;
    deinterlacer->count -= deinterlacer->count > 0;
    return 0;
  }
}

void deinterlacer_reset(struct deinterlacer *deinterlacer) {
  filter_chain_free(&deinterlacer->chain);
  av_frame_unref(deinterlacer->next);
  deinterlacer->count = 0;
  deinterlacer->ended = false;
}

void deinterlacer_close(struct deinterlacer **deinterlacer) {
  if (*deinterlacer) {
    filter_chain_free(&(*deinterlacer)->chain);
    av_frame_free(&(*deinterlacer)->next);
  }
  free(*deinterlacer);
  *deinterlacer = NULL;
}
