/* Writes packets of video to the file, each after the packets of other tracks that come before it. Lists in the
 * manifest the segments (series of pictures that can be decoded without the others) that are complete, so that an
 * interrupted render can keep them. */
#include "app/sink/sink_ffmpeg_impl.h"

#include <errno.h>

#include "app/job/mark.h"
#include "app/sink/picture_mark.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/protocols.h"

const char *ffmpeg_sink_path(const struct ffmpeg_sink *to) {
  return to->part.path ? to->part.name : file_path(to->target.url);
}

int ffmpeg_sink_failed(struct ffmpeg_sink *to, int code, struct error *err) {
  char reason[128];
  to->failed = true;
  /* should_abort has aborted the write, because *stop was set */
  if (code == AVERROR_EXIT && to->stopped_ns)
    return error_set(err, STATUS_INTERRUPTED, "interrupted: not all was sent to %s", to->target.name);
  return error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", to->target.name,
                   to->unanswered ? "nobody answers" : ffmpeg_reason_of(to->target.url, code, reason));
}

int ffmpeg_sink_tell_segments(struct ffmpeg_sink *to, bool whole) {
  errno = 0;
  if (recorder_flush(&to->recorder, whole, NULL))
    return AVERROR(errno ? errno : ENOMEM);
  if (*to->left.name && to->recorder.told >= to->kept) {
    part_replace(&to->part, &to->left);
    *to->left.name = 0;
  }
  return 0;
}

/* Calls muxer_flush if it is due before this video packet, and lists the segments that are then complete in the
 * manifest (a segment: pictures that can be decoded without the others). If a sound track begins late, its first packet
 * is written before this one, so that MP4's index lists the track. Returns 0 or an FFmpeg error code. */
static int flush_when_due(struct ffmpeg_sink *to, const AVPacket *packet) {
  if (!muxer_is_due(&to->muxer, packet))
    return 0;
  int code = side_tracks_send_ahead(to->side, &to->muxer);
  if (code >= 0)
    code = muxer_flush(&to->muxer, packet, to->live_sound || side_tracks_have_more(to->side));
  return code > 0 ? ffmpeg_sink_tell_segments(to, false) : code;
}

/* Writes a packet of video, after the packets of other tracks that come before it. Returns 0 or an FFmpeg error
 * code. */
static int write_packet(struct ffmpeg_sink *to, AVPacket *packet) {
  av_packet_rescale_ts(packet, to->encoder.context->time_base, to->stream->time_base);
  int code = side_tracks_write_until(to->side, &to->muxer, (double)packet->dts * av_q2d(to->stream->time_base));
  if (code >= 0 && to->mark)
    code = picture_mark_add(packet, JOB_MARK_KEY, to->mark);
  if (code >= 0)
    code = flush_when_due(to, packet);
  if (code >= 0)
    code = muxer_write(&to->muxer, packet);
  if (code >= 0)
    code = whole_files_failure(to->whole_files);
  to->written += code >= 0;
  return code;
}

/* Sets a packet's duration so that the file ends when the last picture does. This concerns the packet that is shown
 * last and, in containers that add up durations, also the one that is decoded last. */
static void settle_durations(const struct ffmpeg_sink *to, AVPacket *packet, bool last) {
  packet->duration = to->step;
  if (!to->end)
    return;
  if (packet->pts == to->last_pts)
    packet->duration = to->end - packet->pts;
  else if (last && packet->dts != AV_NOPTS_VALUE)
    packet->duration = to->end - to->delay - packet->dts;
  if (packet->duration < 1)
    packet->duration = 1;
}

int ffmpeg_sink_write_held(struct ffmpeg_sink *to, bool last) {
  if (!to->held->data)
    return 0;
  settle_durations(to, to->held, last);
  int code = write_packet(to, to->held);
  av_packet_unref(to->held);
  return code;
}

int ffmpeg_sink_take(struct ffmpeg_sink *to, AVPacket *packet) {
  int code = ffmpeg_sink_write_held(to, false);
  packet->stream_index = to->stream->index;
  recorder_receive(&to->recorder, to->stream->codecpar, packet);
  if (to->delay == AV_NOPTS_VALUE)
    to->delay = packet->dts != AV_NOPTS_VALUE && packet->pts != AV_NOPTS_VALUE ? packet->pts - packet->dts : 0;
  av_packet_move_ref(to->held, packet);
  return code >= 0 && (to->realtime || to->target.live) ? ffmpeg_sink_write_held(to, false) : code;
}
