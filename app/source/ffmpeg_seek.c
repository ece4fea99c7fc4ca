#include "app/source/ffmpeg_source.h"

#include <math.h>

/* If pictures are not decoded in the order of showing, a seek may find a key frame that is decoded before the wanted
 * time but shown up to this many seconds after it. */
static const double reordered_seconds = 1;

void seek_landed(struct ffmpeg_source *from, bool unsure) {
  decoder_flush(from->decoder);
  if (from->deinterlacer)
    deinterlacer_reset(from->deinterlacer);
  completeness_restart(&from->completeness);
  rounds_reset(&from->rounds);
  from->draining = false;
  from->unsure = unsure;
}

static int go_to_beginning(struct ffmpeg_source *from) {
  joins_restart(&from->joins);
  return av_seek_frame(from->input, -1, 0, AVSEEK_FLAG_BYTE);
}

int seek_beginning(struct ffmpeg_source *from) {
  int code = go_to_beginning(from);
  if (code >= 0)
    seek_landed(from, false);
  return code;
}

/* Seeks to a position in seconds, counted from options.start. *unsure is set if the packets read next may belong to a
 * later position. Returns an FFmpeg code. */
static int go_to(struct ffmpeg_source *from, double seconds, bool *unsure) {
  bool whole = from->options.start + seconds <= 0;
  double before = !whole && from->seeks_early ? reordered_seconds : 0;
  int64_t place = from->origin + llrint(seconds / av_q2d(from->stream->time_base));
  *unsure = false;
  if (from->pictures) {
    pictures_seek(from->pictures, place);
    return 0;
  }
  if (from->pipe) /* a pipe cannot seek, but FFmpeg would try it within the data that it has buffered */
    return AVERROR(ESPIPE);
  if (from->options.reads_up)
    return go_to_beginning(from);
  joins_restart(&from->joins);
  if (ffmpeg_seeks_blindly(from->input))
    return ffmpeg_seek_blindly(from->input, from->stream, place, from->options.start + seconds, unsure);
  int64_t early = llrint(before / av_q2d(from->stream->time_base));
  int code = av_seek_frame(from->input, from->stream->index, place - early, AVSEEK_FLAG_BACKWARD);
  return code < 0 && whole ? go_to_beginning(from) : code;
}

int seek_to_start(struct ffmpeg_source *from, bool *unsure) {
  return go_to(from, 0, unsure);
}

int seek_resume(struct ffmpeg_source *from) {
  bool unsure;
  int code = go_to(from, from->options.resume, &unsure);
  if (code >= 0)
    seek_landed(from, unsure || (from->stream->codecpar->video_delay > 0 && !from->seeks_early));
  return code;
}

bool seek_landed_late(struct ffmpeg_source *from, const AVFrame *frame) {
  int64_t time = about_time(from, frame);
  int64_t place = from->loop_shift;
  if (!place)
    place = llrint(from->options.resume / av_q2d(from->stream->time_base));
  bool late = from->unsure && time != FRAME_TIME_NONE && time - place >= from->clock.step;
  from->unsure = false;
  if (!late || ffmpeg_seeks_blindly(from->input))
    return late && seek_beginning(from) >= 0;
  from->seeks_early = true;
  return seek_resume(from) >= 0;
}
