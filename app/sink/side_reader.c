#include "app/sink/side_reader.h"

#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "app/source/ffmpeg_util.h"

/* PACKET_BYTES: memory in bytes that a waiting packet takes in addition to its data. */
enum { DAMAGE_IN_A_ROW_MAX = 1000, ITEMS_MAX = 1024, PACKET_BYTES = sizeof(AVPacket) + sizeof(AVPacket *) + 64 };

/* If sound steps forward by more than this, in microseconds, the reader looks for the reason: the video may make the
 * same step, or the next packet may undo it. */
static const int64_t gap_us = 500000;
/* When the times of the sound jump, the video is read ahead by at most this many microseconds, to find out whether the
 * video's times jump as well. */
static const int64_t look_ahead_us = 2000000;

/* Subtitles that begin before --start by at most this many seconds, and are still seen then, are copied. */
static const double subtitle_seconds = 10;
/* Sound is read from this many seconds before --start on, because its decoder may need earlier packets. */
static const double preroll_most_seconds = 0.6;

static int64_t to_us(const AVStream *stream, int64_t time) {
  return av_rescale_q(time, stream->time_base, AV_TIME_BASE_Q);
}

static int64_t stamp_of(const AVPacket *packet) {
  return packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
}

static AVStream *stream_of(const struct side_reader *reader, const AVPacket *packet) {
  return reader->input->streams[packet->stream_index];
}

static struct side_track *track_of(const struct side_reader *reader, const AVPacket *packet) {
  return &reader->tracks[packet->stream_index];
}

int side_reader_begin(struct side_reader *reader, AVFormatContext *input, struct side_feed *feed) {
  int video = feed ? side_feed_video(feed) : av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  reader->input = input;
  reader->feed = feed;
  reader->reached_us = INT64_MIN;
  reader->streams = (int)input->nb_streams;
  reader->is_list = !strcmp(input->iformat->name, "concat");
  reader->packet = av_packet_alloc();
  reader->tracks = calloc((size_t)reader->streams + 1, sizeof *reader->tracks);
  if ((!feed && list_cuts_read(&reader->cuts, input)) || !reader->packet || !reader->tracks)
    return -1;
  for (int i = 0; i < reader->streams; i++) {
    input->streams[i]->discard = AVDISCARD_ALL;
    reader->tracks[i] = (struct side_track){.last_us = AV_NOPTS_VALUE, .begin = AV_NOPTS_VALUE};
  }
  if (video < 0)
    return 0;
  reader->video = input->streams[video];
  joins_begin(&reader->joins, input, reader->video);
  if (reader->joins.watches)
    reader->video->discard = AVDISCARD_DEFAULT;
  return 0;
}

void side_reader_want(struct side_reader *reader, int stream) {
  bool sound = reader->input->streams[stream]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
  reader->tracks[stream].wanted = sound;
  reader->tracks[stream].other = !sound;
  reader->input->streams[stream]->discard = AVDISCARD_DEFAULT;
  if (!sound && reader->video)
    reader->video->discard = AVDISCARD_DEFAULT;
}

static bool has_subtitles(const AVFormatContext *input) {
  for (unsigned i = 0; i < input->nb_streams; i++)
    if (input->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE)
      return true;
  return false;
}

int side_reader_seek(AVFormatContext *input, double start) {
  int64_t origin = ffmpeg_origin(input, start);
  int video = av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  const AVStream *stream = video < 0 ? NULL : input->streams[video];
  bool blind = stream && ffmpeg_seeks_blindly(input), unsure;
  int64_t place = blind ? av_rescale_q(origin, AV_TIME_BASE_Q, stream->time_base) : 0;
  if (blind && ffmpeg_seek_blindly(input, stream, place, start, &unsure) >= 0)
    return 0;
  if (!blind)
    origin -= (int64_t)((has_subtitles(input) ? subtitle_seconds : preroll_most_seconds) * AV_TIME_BASE);
  return avformat_seek_file(input, -1, INT64_MIN, origin, origin, 0);
}

/* --- reading packets and storing those that are wanted --- */

/* Called when reading failed with this FFmpeg code. Ends the sound, while the pictures continue; but a damaged packet
 * is only counted, unless too many come in a row. */
static void note_end(struct side_reader *reader, int code) {
  reader->damaged += code == AVERROR_INVALIDDATA;
  if (code == AVERROR_INVALIDDATA && !reader->failure && ++reader->damage_in_a_row < DAMAGE_IN_A_ROW_MAX)
    return;
  reader->ended = true;
  if (code != AVERROR_EOF && !reader->failure)
    reader->failure = code;
}

static void add_item(struct side_reader *reader, AVPacket *packet) {
  if (reader->count == reader->room) {
    int room = reader->room ? 2 * reader->room : 16;
    struct side_item *items = realloc(reader->items, (size_t)room * sizeof *items);
    if (!items) {
      note_end(reader, AVERROR(ENOMEM));
      return;
    }
    reader->items = items;
    reader->room = room;
  }
  int64_t video = reader->video ? joins_part(&reader->joins, reader->joins.newest)->last : AV_NOPTS_VALUE;
  struct side_item *item = &reader->items[reader->count];
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

static void move(AVPacket *packet, int64_t by) {
  packet->pts += packet->pts != AV_NOPTS_VALUE ? by : 0;
  packet->dts += packet->dts != AV_NOPTS_VALUE ? by : 0;
}

/* Returns the time by which a part of the input (between two timestamp discontinuities, joins.h) is shifted, in the
 * stream's time base. */
static int64_t shift_of(const struct side_reader *reader, int part, const AVStream *stream) {
  return av_rescale_q(joins_part(&reader->joins, part)->shift, reader->joins.base, stream->time_base);
}

/* Adds a packet of another track (subtitles, video) to reader->others. Its times are shifted like those of the part of
 * the input (between two timestamp discontinuities, joins.h) that is being read. */
static void add_other(struct side_reader *reader, AVPacket *packet) {
  if (reader->others_bytes + packet->size + PACKET_BYTES > SIDE_OTHERS_BYTES) {
    reader->overflow++;
    return;
  }
  if (reader->other_count == reader->other_room) {
    int room = reader->other_room ? 2 * reader->other_room : 16;
    AVPacket **others = realloc(reader->others, (size_t)room * sizeof *others);
    if (!others) {
      note_end(reader, AVERROR(ENOMEM));
      return;
    }
    reader->others = others;
    reader->other_room = room;
  }
  AVPacket *kept = av_packet_alloc();
  if (!kept) {
    note_end(reader, AVERROR(ENOMEM));
    return;
  }
  av_packet_move_ref(kept, packet);
  if (reader->joins.watches)
    move(kept, shift_of(reader, reader->joins.newest, stream_of(reader, kept)));
  reader->others[reader->other_count++] = kept;
  reader->others_bytes += kept->size + PACKET_BYTES;
}

static void note_video(struct side_reader *reader, const AVPacket *packet) {
  joins_note(&reader->joins, packet);
  if (stamp_of(packet) == AV_NOPTS_VALUE)
    return;
  int64_t at = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
  int64_t shift = reader->joins.watches ? shift_of(reader, reader->joins.newest, reader->video) : 0;
  reader->reached_us = to_us(reader->video, at + shift);
}

static void drop_first(struct side_reader *reader) {
  av_packet_free(&reader->items[0].packet);
  reader->count--;
  memmove(reader->items, reader->items + 1, (size_t)reader->count * sizeof *reader->items);
}

/* Moves the oldest packet of track->priming (packets before the track's first sound) to *packet. */
static void take_priming(struct side_track *track, AVPacket *packet) {
  av_packet_move_ref(packet, track->priming[0]);
  av_packet_free(&track->priming[0]);
  track->primings--;
  memmove(track->priming, track->priming + 1, (size_t)track->primings * sizeof(AVPacket *));
}

/* Adds a packet to track->priming (packets before the track's first sound); if the list is full, the oldest one is
 * dropped. */
static void add_priming(struct side_reader *reader, struct side_track *track, AVPacket *packet) {
  AVPacket *kept = av_packet_alloc();
  if (!kept) {
    note_end(reader, AVERROR(ENOMEM));
    return;
  }
  if (track->primings == SIDE_PRIMING) {
    take_priming(track, kept);
    av_packet_unref(kept);
  }
  av_packet_move_ref(kept, packet);
  track->priming[track->primings++] = kept;
}

/* Handles reader->packet, which may be of any stream. Packets that must not be heard, mostly because of an edit list,
 * are marked as discarded by the demuxer. The last of these before the first sound are kept, because the decoder may
 * need them. */
static void take_packet(struct side_reader *reader) {
  AVPacket *packet = reader->packet;
  bool known = packet->stream_index < reader->streams;
  if (known && stream_of(reader, packet) == reader->video)
    note_video(reader, packet);
  if (known && track_of(reader, packet)->other && !(packet->flags & AV_PKT_FLAG_DISCARD))
    add_other(reader, packet);
  if (known && track_of(reader, packet)->wanted) {
    struct side_track *track = track_of(reader, packet);
    if (!(packet->flags & AV_PKT_FLAG_DISCARD)) {
      add_item(reader, packet);
    } else if (track->last_us == AV_NOPTS_VALUE) {
      add_priming(reader, track, packet);
    }
  }
  av_packet_unref(packet);
}

/* Reads a packet from the input or, if reader->feed is not NULL, takes one that the video source has read. *failure:
 * FFmpeg's code of an error of the input; 0: none. With a feed *failure is always 0, because the source itself reports
 * errors. */
static int read_packet(struct side_reader *reader, int *failure) {
  *failure = 0;
  if (reader->feed)
    return side_feed_take(reader->feed, reader->packet);
  int code = av_read_frame(reader->input, reader->packet);
  *failure = ffmpeg_read_failure(reader->input, code);
  return code;
}

/* Reads one packet and handles it, or records the end of the input. Returns false if packets come from the source's
 * thread (side_feed.h) and none waits at present. */
static bool read_more(struct side_reader *reader) {
  int failure, code = read_packet(reader, &failure);
  if (reader->feed && code == AVERROR(EAGAIN))
    return false;
  if (failure)
    reader->failure = failure;
  if (code < 0) {
    note_end(reader, code);
    return true;
  }
  reader->damage_in_a_row = 0;
  if (!reader->feed)
    list_cuts_mark(&reader->cuts, reader->input, reader->packet);
  take_packet(reader);
  return true;
}

/* --- sound: finding the part of the input to which a packet belongs, and its time --- */

static int64_t item_us(const struct side_reader *reader, const struct side_item *item) {
  int64_t stamp = stamp_of(item->packet);
  return stamp == AV_NOPTS_VALUE ? track_of(reader, item->packet)->next_us
                                 : to_us(stream_of(reader, item->packet), stamp);
}

static bool steps_back(const struct side_track *track, int64_t at_us) {
  return track->last_us != AV_NOPTS_VALUE && at_us < track->last_us;
}

static bool leaps(const struct side_track *track, int64_t at_us) {
  return track->last_us != AV_NOPTS_VALUE && at_us > track->next_us + gap_us;
}

/* Returns the packet that follows the oldest waiting one (items[0]) in the same stream; NULL: it was not read yet. */
static const struct side_item *successor(const struct side_reader *reader) {
  for (int i = 1; i < reader->count; i++)
    if (reader->items[i].packet->stream_index == reader->items[0].packet->stream_index)
      return &reader->items[i];
  return NULL;
}

static int64_t duration_us(const struct side_reader *reader, const AVPacket *packet) {
  return to_us(stream_of(reader, packet), packet->duration);
}

/* True if only the oldest waiting packet (items[0]) has a wrong time: the next packet of its stream has the expected
 * one. */
static bool is_time_wrong(const struct side_reader *reader) {
  const struct side_item *item = &reader->items[0], *next = successor(reader);
  const struct side_track *track = track_of(reader, item->packet);
  int64_t duration = duration_us(reader, item->packet);
  return next && next->part == item->part && llabs(item_us(reader, next) - track->next_us - duration) <= duration;
}

/* True if the time of the oldest waiting packet (items[0]) jumps, and it is not known yet to which part of the input
 * (between two timestamp discontinuities) the packet belongs. More packets must then be read. */
static bool has_to_wait(const struct side_reader *reader) {
  const struct side_item *item = &reader->items[0];
  const struct side_track *track = track_of(reader, item->packet);
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

/* Returns the video time in microseconds with which an item's time is compared, to find out if the item belongs to part
 * `number` of the input (between two timestamp discontinuities, joins.h). If the item was read in that part
 * (item->part), it is the time that the video had reached then. If it was read in a later part, it is the time of part
 * `number`'s last video packet; if in an earlier one, of its first video packet. */
static int64_t reference_us(const struct side_reader *reader, const struct side_item *item, int number) {
  const struct join_part *part = joins_part(&reader->joins, number);
  if (number == item->part)
    return item->video_us;
  return to_us(reader->video, number < item->part ? part->last : part->first);
}

/* Returns the part of the input, from `first` to `last`, to which the oldest waiting packet (items[0]) probably
 * belongs. Parts lie between timestamp discontinuities (joins.h). It is the part in which the packet is behind the
 * video by nearly the same time (lag_us) as the packet before it. */
static int nearest_part(const struct side_reader *reader, int first, int last) {
  const struct side_item *item = &reader->items[0];
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

/* Returns the number of the part of the input to which the oldest waiting packet (items[0]) belongs. Parts lie between
 * timestamp discontinuities (joins.h). The number never decreases from packet to packet. If the times of sound and
 * video both jump, both are in a new part. In a list of files, packets come in the files' order. */
static int find_part(const struct side_reader *reader) {
  const struct side_item *item = &reader->items[0];
  const struct side_track *track = track_of(reader, item->packet);
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

/* Returns the shorter of two durations: this packet's and the last given packet's. In Vorbis and Opus they differ much.
 * A long packet begins only a short time after a short one, and that must not count as a step back. */
static int64_t shorter_duration(const struct side_track *track, const AVPacket *packet) {
  int64_t before = track->end - track->begin;
  return before < packet->duration ? before : packet->duration;
}

/* Shifts the times of the oldest waiting packet (items[0]). Where the input's timestamps jump, a new part begins
 * (joins.h), whose times are shifted to continue the part before. Returns false if the packet is to be left out,
 * because its stream already has sound at that time. Packets shorter than four ticks may have equal times: those of
 * TrueHD are shorter than a millisecond, to which Matroska rounds. */
static bool place(struct side_reader *reader) {
  struct side_item *item = &reader->items[0];
  AVPacket *packet = item->packet;
  const AVStream *stream = stream_of(reader, packet);
  struct side_track *track = track_of(reader, packet);
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

static void note_given(struct side_track *track, const AVPacket *packet) {
  track->begin = stamp_of(packet);
  track->end = track->begin + packet->duration;
  track->crossed = false;
}

/* Stores the oldest waiting packet (items[0]), which `place` has shifted, in *packet. If packets from before the
 * track's first sound (track->priming) must come first, stores the oldest of them; later calls of side_reader_next give
 * the others and then items[0]. */
static void give(struct side_reader *reader, AVPacket *packet) {
  struct side_item *item = &reader->items[0];
  struct side_track *track = track_of(reader, item->packet);
  note_given(track, item->packet);
  if (track->primings) {
    add_priming(reader, track, item->packet);
    reader->behind = track;
    take_priming(track, packet);
  } else {
    av_packet_move_ref(packet, item->packet);
  }
  drop_first(reader);
}

bool side_reader_next(struct side_reader *reader, AVPacket *packet) {
  if (reader->behind) {
    take_priming(reader->behind, packet);
    if (!reader->behind->primings)
      reader->behind = NULL;
    return true;
  }
  for (;;) {
    bool more = true;
    while (more && !reader->ended && (!reader->count || has_to_wait(reader)))
      more = read_more(reader);
    if (!reader->count || !more)
      return false;
    if (place(reader)) {
      give(reader, packet);
      return true;
    }
    reader->unplaced += !track_of(reader, reader->items[0].packet)->crossed;
    drop_first(reader);
  }
}

/* --- tracks other than sound: subtitles and further video --- */

static bool wants_others(const struct side_reader *reader) {
  for (int i = 0; i < reader->streams; i++)
    if (reader->tracks[i].other)
      return true;
  return false;
}

void side_reader_reach(struct side_reader *reader, int64_t time_us) {
  bool more = wants_others(reader);
  while (more && !reader->ended && reader->reached_us < time_us)
    more = read_more(reader);
}

static void take_other(struct side_reader *reader, int number, AVPacket *packet) {
  AVPacket *taken = reader->others[number];
  reader->others_bytes -= taken->size + PACKET_BYTES;
  av_packet_move_ref(packet, taken);
  av_packet_free(&taken);
  reader->other_count--;
  memmove(reader->others + number, reader->others + number + 1,
          (size_t)(reader->other_count - number) * sizeof *reader->others);
}

bool side_reader_next_other(struct side_reader *reader, int64_t time_us, AVPacket *packet) {
  for (int i = 0; i < reader->streams; i++)
    reader->tracks[i].blocked = false;
  for (int i = 0; i < reader->other_count; i++) {
    const AVPacket *other = reader->others[i];
    int64_t stamp = other->dts != AV_NOPTS_VALUE ? other->dts : other->pts;
    bool due = stamp == AV_NOPTS_VALUE || to_us(stream_of(reader, other), stamp) < time_us;
    if (due && !track_of(reader, other)->blocked) {
      take_other(reader, i, packet);
      return true;
    }
    track_of(reader, other)->blocked = true;
  }
  return false;
}

void side_reader_free(struct side_reader *reader) {
  while (reader->count)
    drop_first(reader);
  for (int i = 0; i < reader->other_count; i++)
    av_packet_free(&reader->others[i]);
  free(reader->others);
  for (int i = 0; reader->tracks && i < reader->streams; i++)
    while (reader->tracks[i].primings)
      av_packet_free(&reader->tracks[i].priming[--reader->tracks[i].primings]);
  av_packet_free(&reader->packet);
  list_cuts_free(&reader->cuts);
  free(reader->tracks);
  free(reader->items);
  *reader = (struct side_reader){0};
}
