#include "app/sink/sound_reader.h"

#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "app/source/ffmpeg_util.h"

enum { DAMAGE_IN_A_ROW_MAX = 1000, ITEMS_MAX = 1024 };

/* If sound steps forward by more than this, in microseconds, the reader looks for the reason: the video may make the
 * same step, or the next packet may undo it. */
static const int64_t gap_us = 500000;
/* When the times of the sound jump, the video is read ahead by at most this many microseconds, to see if its times jump
 * too. */
static const int64_t look_ahead_us = 2000000;

static int64_t to_us(const AVStream *stream, int64_t time) {
  return av_rescale_q(time, stream->time_base, AV_TIME_BASE_Q);
}

static int64_t stamp_of(const AVPacket *packet) {
  return packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
}

static AVStream *stream_of(const struct sound_reader *reader, const AVPacket *packet) {
  return reader->input->streams[packet->stream_index];
}

static struct sound_track *track_of(const struct sound_reader *reader, const AVPacket *packet) {
  return &reader->tracks[packet->stream_index];
}

int sound_reader_begin(struct sound_reader *reader, AVFormatContext *input) {
  int video = av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  reader->input = input;
  reader->streams = (int)input->nb_streams;
  reader->is_list = !strcmp(input->iformat->name, "concat");
  reader->packet = av_packet_alloc();
  reader->behind = av_packet_alloc();
  reader->tracks = calloc((size_t)reader->streams + 1, sizeof *reader->tracks);
  if (list_cuts_read(&reader->cuts, input) || !reader->packet || !reader->behind || !reader->tracks)
    return -1;
  for (int i = 0; i < reader->streams; i++) {
    input->streams[i]->discard = AVDISCARD_ALL;
    reader->tracks[i] = (struct sound_track){.last_us = AV_NOPTS_VALUE, .begin = AV_NOPTS_VALUE};
    if (!(reader->tracks[i].priming = av_packet_alloc()))
      return -1;
  }
  if (video < 0)
    return 0;
  reader->video = input->streams[video];
  joins_begin(&reader->joins, input, reader->video);
  if (reader->joins.watches)
    reader->video->discard = AVDISCARD_DEFAULT;
  return 0;
}

int sound_reader_seek(AVFormatContext *input, double start) {
  int64_t origin = ffmpeg_origin(input, start);
  int video = av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  const AVStream *stream = video < 0 ? NULL : input->streams[video];
  bool blind = stream && ffmpeg_seeks_blindly(input), unsure;
  int64_t place = blind ? av_rescale_q(origin, AV_TIME_BASE_Q, stream->time_base) : 0;
  if (blind && ffmpeg_seek_blindly(input, stream, place, start, &unsure) >= 0)
    return 0;
  return avformat_seek_file(input, -1, INT64_MIN, origin, origin, 0);
}

/* --- reading --- */

/* Called when a read failed with this code: ends the sound, unless it was a damaged packet and not too many have come
 * in a row. The pictures go on without sound then. */
static void note_end(struct sound_reader *reader, int code) {
  reader->damaged += code == AVERROR_INVALIDDATA;
  if (code == AVERROR_INVALIDDATA && !reader->failure && ++reader->damage_in_a_row < DAMAGE_IN_A_ROW_MAX)
    return;
  reader->ended = true;
  if (code != AVERROR_EOF && !reader->failure)
    reader->failure = code;
}

static void add_item(struct sound_reader *reader, AVPacket *packet) {
  if (reader->count == reader->room) {
    int room = reader->room ? 2 * reader->room : 16;
    struct sound_item *items = realloc(reader->items, (size_t)room * sizeof *items);
    if (!items) {
      note_end(reader, AVERROR(ENOMEM));
      return;
    }
    reader->items = items;
    reader->room = room;
  }
  int64_t video = reader->video ? joins_part(&reader->joins, reader->joins.newest)->last : AV_NOPTS_VALUE;
  struct sound_item *item = &reader->items[reader->count];
  item->packet = av_packet_alloc();
  item->part = reader->joins.newest;
  item->video_us = video == AV_NOPTS_VALUE ? video : to_us(reader->video, video);
  if (!item->packet) {
    note_end(reader, AVERROR(ENOMEM));
    return;
  }
  av_packet_move_ref(item->packet, packet);
  reader->count++;
}

static void drop_first(struct sound_reader *reader) {
  av_packet_free(&reader->items[0].packet);
  reader->count--;
  memmove(reader->items, reader->items + 1, (size_t)reader->count * sizeof *reader->items);
}

/* Takes a packet of any stream. The demuxer marks packets that are not to be heard, mostly because of an edit list, as
 * discarded. The last such packet before the first sound is kept, because the decoder needs it. */
static void take_packet(struct sound_reader *reader) {
  AVPacket *packet = reader->packet;
  bool known = packet->stream_index < reader->streams;
  if (known && stream_of(reader, packet) == reader->video)
    joins_note(&reader->joins, packet);
  if (known && track_of(reader, packet)->wanted) {
    struct sound_track *track = track_of(reader, packet);
    if (!(packet->flags & AV_PKT_FLAG_DISCARD)) {
      add_item(reader, packet);
    } else if (track->last_us == AV_NOPTS_VALUE) {
      av_packet_unref(track->priming);
      av_packet_move_ref(track->priming, packet);
    }
  }
  av_packet_unref(packet);
}

static void read_more(struct sound_reader *reader) {
  int code = av_read_frame(reader->input, reader->packet);
  int failure = ffmpeg_read_failure(reader->input, code);
  if (failure)
    reader->failure = failure;
  if (code < 0) {
    note_end(reader, code);
    return;
  }
  reader->damage_in_a_row = 0;
  list_cuts_mark(&reader->cuts, reader->input, reader->packet);
  take_packet(reader);
}

/* --- placing --- */

static int64_t item_us(const struct sound_reader *reader, const struct sound_item *item) {
  int64_t stamp = stamp_of(item->packet);
  return stamp == AV_NOPTS_VALUE ? track_of(reader, item->packet)->next_us
                                 : to_us(stream_of(reader, item->packet), stamp);
}

static bool steps_back(const struct sound_track *track, int64_t at_us) {
  return track->last_us != AV_NOPTS_VALUE && at_us < track->last_us;
}

static bool leaps(const struct sound_track *track, int64_t at_us) {
  return track->last_us != AV_NOPTS_VALUE && at_us > track->next_us + gap_us;
}

/* Returns the packet that follows the first waiting one in the same stream; NULL: it was not read yet. */
static const struct sound_item *successor(const struct sound_reader *reader) {
  for (int i = 1; i < reader->count; i++)
    if (reader->items[i].packet->stream_index == reader->items[0].packet->stream_index)
      return &reader->items[i];
  return NULL;
}

static int64_t duration_us(const struct sound_reader *reader, const AVPacket *packet) {
  return to_us(stream_of(reader, packet), packet->duration);
}

/* True if the time of the first waiting packet alone is wrong: the next packet of its stream has the time that is
 * expected for it. */
static bool is_time_wrong(const struct sound_reader *reader) {
  const struct sound_item *item = &reader->items[0], *next = successor(reader);
  const struct sound_track *track = track_of(reader, item->packet);
  int64_t duration = duration_us(reader, item->packet);
  return next && next->part == item->part && llabs(item_us(reader, next) - track->next_us - duration) <= duration;
}

/* True if the time of the first waiting packet jumps, and video that is not read yet may tell to which part of the
 * input, between two joins, the packet belongs. */
static bool has_to_wait(const struct sound_reader *reader) {
  const struct sound_item *item = &reader->items[0];
  const struct sound_track *track = track_of(reader, item->packet);
  int64_t at_us = item_us(reader, item);
  bool back = steps_back(track, at_us);
  if ((!back && !leaps(track, at_us)) || item->part != track->part || reader->joins.newest != item->part)
    return false;
  if (reader->ended || reader->count >= ITEMS_MAX || is_time_wrong(reader))
    return false;
  if (!reader->video || !reader->joins.watches || (!back && !reader->joins.leaps))
    return !successor(reader);
  int64_t video = joins_part(&reader->joins, item->part)->last;
  return item->video_us == AV_NOPTS_VALUE || to_us(reader->video, video) - item->video_us < look_ahead_us;
}

/* Returns the video's time with which a packet's time is compared if the packet belongs to this part. In the part in
 * which the packet was read, that is the video's time at that moment; in an older part its last time, in a newer one
 * its first. */
static int64_t reference_us(const struct sound_reader *reader, const struct sound_item *item, int number) {
  const struct join_part *part = joins_part(&reader->joins, number);
  if (number == item->part)
    return item->video_us;
  return to_us(reader->video, number < item->part ? part->last : part->first);
}

/* Returns the part of the input, from number first to last, that fits the first packet best: the one in which its
 * distance to the pictures is most like that of the packets before it. */
static int nearest_part(const struct sound_reader *reader, int first, int last) {
  const struct sound_item *item = &reader->items[0];
  int64_t at_video_us = item_us(reader, item) + track_of(reader, item->packet)->lag_us, least = INT64_MAX;
  int found = last;
  for (int number = first; number <= last; number++) {
    int64_t distance = llabs(at_video_us - reference_us(reader, item, number));
    if (distance < least) {
      least = distance;
      found = number;
    }
  }
  return found;
}

/* Returns the number of the part that the first packet belongs to; it is at least that of the packets before it. If the
 * times of both sound and video jump, both are in a new part. In a list, the files' packets come in order. */
static int find_part(const struct sound_reader *reader) {
  const struct sound_item *item = &reader->items[0];
  const struct sound_track *track = track_of(reader, item->packet);
  int64_t at_us = item_us(reader, item);
  bool odd = steps_back(track, at_us) || leaps(track, at_us);
  int last = item->part + (odd && reader->joins.newest > item->part);
  int oldest = reader->joins.newest - JOINS_KEPT + 1, first = track->part + (odd && last > track->part);
  if (last <= track->part)
    return track->part;
  if (item->video_us == AV_NOPTS_VALUE || reader->is_list)
    return last;
  return nearest_part(reader, first > oldest ? first : oldest, last);
}

static void move(AVPacket *packet, int64_t by) {
  packet->pts += packet->pts != AV_NOPTS_VALUE ? by : 0;
  packet->dts += packet->dts != AV_NOPTS_VALUE ? by : 0;
}

/* Returns the shorter of the durations of this packet and the one given before it. Packets of Vorbis and Opus differ
 * much in length, and a short one before a long one is no step back. */
static int64_t shorter_duration(const struct sound_track *track, const AVPacket *packet) {
  int64_t before = track->end - track->begin;
  return before < packet->duration ? before : packet->duration;
}

/* Changes the times of the first waiting packet by the shift of its part. Returns false if it is to be left out,
 * because its stream has sound at that time already. Packets of at most one tick may have equal times: TrueHD's last
 * less than a millisecond, to which Matroska rounds. */
static bool place(struct sound_reader *reader) {
  struct sound_item *item = &reader->items[0];
  AVPacket *packet = item->packet;
  const AVStream *stream = stream_of(reader, packet);
  struct sound_track *track = track_of(reader, packet);
  int64_t at_us = item_us(reader, item), duration = duration_us(reader, packet);
  bool odd = steps_back(track, at_us) || leaps(track, at_us);
  int part = find_part(reader);
  if (odd && part == track->part && is_time_wrong(reader)) {
    move(packet, av_rescale_q(track->next_us - at_us, AV_TIME_BASE_Q, stream->time_base));
    at_us = track->next_us;
  }
  track->crossed |= part != track->part || (reader->is_list && at_us < track->next_us - duration / 2);
  track->part = part;
  track->last_us = at_us;
  track->next_us = at_us + duration;
  if (part == item->part && item->video_us != AV_NOPTS_VALUE)
    track->lag_us = item->video_us - at_us;
  if (reader->video)
    move(packet, av_rescale_q(joins_part(&reader->joins, part)->shift, reader->joins.base, stream->time_base));
  int64_t begin = stamp_of(packet);
  if (begin == AV_NOPTS_VALUE || track->begin == AV_NOPTS_VALUE)
    return true;
  return begin >= track->begin + shorter_duration(track, packet) / 4 &&
         !(track->crossed && begin < track->end - packet->duration / 2);
}

static void note_given(struct sound_track *track, const AVPacket *packet) {
  track->begin = stamp_of(packet);
  track->end = track->begin + packet->duration;
  track->crossed = false;
}

/* Gives the caller a packet whose time is final. Before the first one of a stream, gives the stream's priming packet
 * instead, and keeps this one in `behind`. */
static void give(struct sound_reader *reader, AVPacket *packet) {
  struct sound_item *item = &reader->items[0];
  struct sound_track *track = track_of(reader, item->packet);
  note_given(track, item->packet);
  if (track->priming->data) {
    av_packet_move_ref(packet, track->priming);
    av_packet_move_ref(reader->behind, item->packet);
  } else {
    av_packet_move_ref(packet, item->packet);
  }
  drop_first(reader);
}

bool sound_reader_next(struct sound_reader *reader, AVPacket *packet) {
  if (reader->behind->data) {
    av_packet_move_ref(packet, reader->behind);
    return true;
  }
  for (;;) {
    while (!reader->ended && (!reader->count || has_to_wait(reader)))
      read_more(reader);
    if (!reader->count)
      return false;
    if (place(reader)) {
      give(reader, packet);
      return true;
    }
    reader->unplaced += !track_of(reader, reader->items[0].packet)->crossed;
    drop_first(reader);
  }
}

void sound_reader_free(struct sound_reader *reader) {
  while (reader->count)
    drop_first(reader);
  for (int i = 0; reader->tracks && i < reader->streams; i++)
    av_packet_free(&reader->tracks[i].priming);
  av_packet_free(&reader->packet);
  av_packet_free(&reader->behind);
  list_cuts_free(&reader->cuts);
  free(reader->tracks);
  free(reader->items);
  *reader = (struct sound_reader){0};
}
