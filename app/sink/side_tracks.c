#include "app/sink/side_tracks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/sink/chapters.h"
#include "app/sink/covers.h"
#include "app/sink/late_tracks.h"
#include "app/sink/other_tracks.h"
#include "app/sink/side_left_out.h"
#include "app/sink/side_reader.h"
#include "app/sink/sound.h"
#include "app/sink/sound_gaps.h"
#include "app/sink/tags.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/side_feed.h"

struct side_tracks {
  AVFormatContext *input, *output; /* `output` is not owned; `input` is owned, unless it belongs to `feed` */
  struct side_feed *feed;          /* the feed, which hands over the packets that the source reads; NULL: the packets
                                    * are read from `input` */
  struct side_reader reader;
  struct sound *sound;         /* copier of the tracks of sound; NULL: no sound is copied */
  struct other_tracks *others; /* copier of subtitles and of further video tracks; NULL: there are none to copy */
  /* the tracks that are added at the render's end, when the file is rewritten; NULL: the file is not rewritten, or no
   * track is added */
  struct late_tracks *late;
  bool *gaps; /* an element for each input stream: true if the stream is sound with gaps */
  const struct log *log;
  int64_t origin; /* time in the input that becomes time 0 of the output, in AV_TIME_BASE units */
  double duration;
};

/* --- opening the input, and adding its tracks to the output --- */

static int no_memory(const struct sink_options *options, struct error *err) {
  return error_set(err, STATUS_FAILED, "%s: no memory to copy its tracks", options->sound);
}

static int open_input(AVFormatContext **input, const struct sink_options *options, struct error *err) {
  char reason[128];
  struct source_options plain = *options->sound_options;
  plain.width = plain.height = 0;
  plain.fps = 0;
  if (ffmpeg_open_input(input, options->sound, &plain, NULL, NULL, err))
    return -1;
  int code = avformat_find_stream_info(*input, NULL);
  return code < 0 ? error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_INPUT, "%s: %s", options->sound,
                              ffmpeg_reason(code, reason))
                  : 0;
}

/* Opens the input and seeks to options' start; if the input cannot seek, it is opened again and stays at its beginning.
 * Returns 0, or -1 with err. */
static int open_at_start(AVFormatContext **input, const struct sink_options *options, struct error *err) {
  double start = options->sound_options->start;
  if (open_input(input, options, err))
    return -1;
  if (start <= 0 || side_reader_seek(*input, start) >= 0)
    return 0;
  avformat_close_input(input);
  return open_input(input, options, err);
}

/* True if the input must be read once in advance to find the gaps in its sound. */
static bool has_to_look(const struct side_tracks *side) {
  bool compressed = false;
  for (unsigned i = 0; i < side->input->nb_streams; i++) {
    const AVStream *stream = side->input->streams[i];
    compressed |= stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO && !sound_is_pcm(stream);
  }
  return compressed && muxer_counts_sound(side->output->oformat) && !muxer_needs_sound(side->output->oformat);
}

/* Finds out which tracks of sound have gaps, by reading the input once if this matters for the output. This function
 * ignores errors of the input: they occur again later and are reported then. Returns 0, or -1 if memory is short. */
static int find_gaps(struct side_tracks *side, const struct sink_options *options) {
  const struct sound_part part = {.origin = side->origin, .duration = side->duration, .stop = options->stop};
  AVFormatContext *input = NULL;
  struct error ignored;
  int code = 0;
  side->gaps = calloc((size_t)side->input->nb_streams + 1, sizeof *side->gaps);
  if (!side->gaps)
    return -1;
  if (options->no_sound || !has_to_look(side))
    return 0;
  for (int i = 0; side->feed && i < (int)side->input->nb_streams; i++)
    side->gaps[i] = true; /* packets from a feed (which the source fills) cannot be read in advance, so all sound is
                           * treated as if it had gaps */
  if (side->feed)
    return 0;
  if (!open_at_start(&input, options, &ignored) && input->nb_streams <= side->input->nb_streams)
    code = sound_gaps_find(input, &part, side->gaps);
  avformat_close_input(&input);
  return code;
}

static int add_sound(struct side_tracks *side, const struct sink_options *options, struct error *err) {
  const struct sound_params params = {.reader = &side->reader,
                                      .output = side->output,
                                      .origin = side->origin,
                                      .duration = side->duration,
                                      .gaps = side->gaps,
                                      .options = options};
  return options->no_sound ? 0 : sound_open(&side->sound, &params, err);
}

static int add_covers(struct side_tracks *side, int left_out[SIDE_THINGS]) {
  for (int i = 0; i < side->reader.streams; i++) {
    const AVStream *from = side->input->streams[i];
    bool cover = covers_is_one(from);
    if (!cover && from->codecpar->codec_type != AVMEDIA_TYPE_ATTACHMENT)
      continue;
    int added = covers_add(side->output, side->late, from);
    if (added < 0)
      return -1;
    left_out[cover ? SIDE_COVERS : SIDE_ATTACHMENTS] += !added;
  }
  return 0;
}

static int add_chapters(struct side_tracks *side, int left_out[SIDE_THINGS]) {
  AVFormatContext *to = side->late ? side->late->tracks : side->output;
  if (!chapters_are_kept(side->output->oformat)) {
    left_out[SIDE_CHAPTERS] = (int)side->input->nb_chapters;
    return 0;
  }
  return chapters_copy(to, side->input, side->origin, side->duration);
}

static bool is_timecode(const AVStream *stream) {
  return stream->codecpar->codec_type == AVMEDIA_TYPE_DATA && stream->codecpar->codec_tag == MKTAG('t', 'm', 'c', 'd');
}

/* True for the track in which MP4 and MOV store the names of chapters. */
static bool is_of_chapters(const AVFormatContext *input, const AVStream *stream) {
  return input->nb_chapters && stream->codecpar->codec_tag == MKTAG('t', 'e', 'x', 't');
}

static bool has_timecode_tag(const AVDictionary *tags) {
  return av_dict_get(tags, "timecode", NULL, 0) != NULL;
}

/* Counts the timecodes and the tracks of data, none of which is copied as a track. Some containers store a timecode as
 * a tag of the video or of the file, and the output may keep this tag (tags_copy). */
static void count_data(const struct side_tracks *side, int left_out[SIDE_THINGS]) {
  const AVOutputFormat *container = side->output->oformat;
  int tracks = 0;
  for (int i = 0; i < side->reader.streams; i++) {
    const AVStream *stream = side->input->streams[i];
    bool data = stream->codecpar->codec_type == AVMEDIA_TYPE_DATA || stream->codecpar->codec_type < 0;
    tracks += is_timecode(stream);
    left_out[SIDE_DATA] += data && !is_timecode(stream) && !is_of_chapters(side->input, stream);
  }
  bool of_file = has_timecode_tag(side->input->metadata);
  bool of_video = tracks || (side->reader.video && has_timecode_tag(side->reader.video->metadata));
  bool kept = (of_video && tags_keep_timecode(container)) || (of_file && tags_keep_file_timecode(container));
  if ((of_file || of_video) && !kept)
    left_out[SIDE_TIMECODES] = tracks ? tracks : 1;
}

/* Tells the feed (side_feed.h), through which the source hands over packets, to drop the packets of tracks that are not
 * copied. If no track is copied, the feed also drops the times of the pictures. */
static void refuse_unwanted(struct side_tracks *side) {
  bool none = !side->sound && !side->others;
  for (int i = 0; side->feed && i < side->reader.streams; i++) {
    bool times = i == side_feed_video(side->feed) && !none;
    if (!side->reader.tracks[i].wanted && !side->reader.tracks[i].other && !times)
      side_feed_refuse(side->feed, i);
  }
}

/* Counts the tags and marks of the file and of its tracks that the output's container does not store. */
static void count_tags(const struct side_tracks *side, int left_out[SIDE_THINGS]) {
  struct tags_lost lost;
  tags_count_lost(side->output, &lost);
  left_out[SIDE_TAGS] = lost.of_file;
  left_out[SIDE_NAMES] = lost.names;
  left_out[SIDE_LANGUAGES] = lost.languages;
  left_out[SIDE_MARKS] = lost.marks;
  left_out[SIDE_DEFAULTS] = lost.defaults;
  left_out[SIDE_TIMES] = lost.times;
}

/* Adds the tracks, covers and chapters that are copied to the output. Returns 0, or -1 with err. */
static int add_tracks(struct side_tracks *side, const struct sink_options *options, struct error *err) {
  const struct other_tracks_params others = {.reader = &side->reader,
                                             .output = side->output,
                                             .late = side->late,
                                             .origin = side->origin,
                                             .duration = side->duration};
  int left_out[SIDE_THINGS] = {0};
  if (add_sound(side, options, err))
    return -1;
  if (other_tracks_open(&side->others, &others, left_out) || add_covers(side, left_out) || add_chapters(side, left_out))
    return no_memory(options, err);
  refuse_unwanted(side);
  if (options->sound_options->start > 0)
    sound_cut(side->sound);
  count_data(side, left_out);
  count_tags(side, left_out);
  side_left_out_tell(left_out, options->sound, options->log);
  return 0;
}

/* Opens the input, and adds its tracks, chapters, covers and metadata to the output. Returns 0, or -1 with err. */
static int prepare(struct side_tracks *side, const struct target *target, const struct sink_options *options,
                   struct error *err) {
  double start = options->sound_options->start;
  side->feed = options->feed;
  if (side->feed)
    side->input = side_feed_input(side->feed);
  else if (open_at_start(&side->input, options, err))
    return -1;
  side->log = options->log;
  side->duration = options->sound_options->duration;
  side->origin = side->feed ? side_feed_origin(side->feed) : ffmpeg_origin(side->input, start);
  if (find_gaps(side, options) || side_reader_begin(&side->reader, side->input, side->feed) ||
      (late_tracks_are_due(target) && late_tracks_open(&side->late, side->output) < 0))
    return no_memory(options, err);
  const struct tags_times times = {start, options->paced};
  tags_copy(side->output, side->input, side->reader.video, &times, options->log);
  return add_tracks(side, options, err);
}

int side_tracks_open(struct side_tracks **result, AVFormatContext *output, const struct target *target,
                     const struct sink_options *options, struct error *err) {
  struct error reason;
  *result = NULL;
  if (!options->sound || output->oformat->audio_codec == AV_CODEC_ID_NONE)
    return 0;
  if (options->feed ? !side_feed_input(options->feed) : !ffmpeg_can_reopen(options->sound, options->sound_options))
    return 0;
  struct side_tracks *side = calloc(1, sizeof *side);
  if (!side)
    return no_memory(options, err);
  side->output = output;
  if (!prepare(side, target, options, &reason)) {
    *result = side;
    return 0;
  }
  side_tracks_close(&side);
  if (reason.status != STATUS_INPUT) {
    *err = reason;
    return -1;
  }
  log_line(options->log, LOG_WARNING, "sound and other tracks cannot be read and are left out: %s", reason.message);
  return 0;
}

/* --- writing packets, and reporting at the end which packets are missing --- */

/* Writes the packets of other tracks (subtitles, further video) that begin before `time`, in seconds of the output. For
 * this, the input is read up to its video of that time. Returns 0 or an FFmpeg error code. */
static int write_others(struct side_tracks *side, struct muxer *muxer, double time) {
  if (!side->others)
    return 0;
  side_reader_reach(&side->reader, isfinite(time) ? llrint(time * AV_TIME_BASE) + side->origin : INT64_MAX);
  return other_tracks_write_until(side->others, muxer, time);
}

static int write_before(struct side_tracks *side, struct muxer *muxer, double time) {
  double begin;
  int code = 0;
  while (code >= 0 && sound_next(side->sound, muxer, &begin) && begin < time) {
    code = sound_write(side->sound, muxer);
    if (code >= 0) /* the packets of other tracks that were read meanwhile are written now, to free their memory */
      code = other_tracks_write_until(side->others, muxer, begin);
  }
  return code < 0 ? code : write_others(side, muxer, time);
}

int side_tracks_write_until(struct side_tracks *side, struct muxer *muxer, double time) {
  if (!side)
    return 0;
  int code = write_before(side, muxer, side->duration > 0 ? fmin(time, side->duration) : time);
  return code < 0 ? code : sound_fill(side->sound, muxer, time);
}

int side_tracks_send_ahead(struct side_tracks *side, struct muxer *muxer) {
  return side ? sound_send_ahead(side->sound, muxer) : 0;
}

int side_tracks_finish(struct side_tracks *side, struct muxer *muxer, double end, double pictures_end) {
  if (side && side->feed)
    side_feed_end(side->feed);
  int code = side_tracks_write_until(side, muxer, end);
  return code < 0 || !side ? code : sound_finish(side->sound, muxer, end, pictures_end);
}

bool side_tracks_have_more(const struct side_tracks *side) {
  return side && side->sound && !side->reader.ended;
}

bool side_tracks_have_sound(const struct side_tracks *side) {
  return side && side->sound;
}

const struct late_tracks *side_tracks_late(const struct side_tracks *side) {
  return side ? side->late : NULL;
}

/* Returns the subject of a message about missing packets: "sound", the other tracks, or both. */
static const char *subject(const struct side_tracks *side) {
  if (!side->others)
    return "sound";
  return side->sound ? "sound and other tracks" : "subtitles and other tracks";
}

int side_tracks_check(const struct side_tracks *side, const struct muxer *muxer, struct error *err) {
  char reason[128];
  if (!side || (!side->sound && !side->others))
    return 0;
  const struct side_reader *reader = &side->reader;
  long lost = other_tracks_lost(side->others) + muxer->refused_others + reader->overflow;
  long unread = side->feed ? side_feed_lost(side->feed) : 0;
  if (reader->damaged)
    log_line(side->log, LOG_WARNING, "%s: damaged in %d place%s, skipped", subject(side), reader->damaged,
             reader->damaged == 1 ? "" : "s");
  if (reader->failure)
    return error_set(err, STATUS_INPUT, "%s: cannot be read to its end, and what follows is missing: %s", subject(side),
                     ffmpeg_reason(reader->failure, reason));
  if (muxer->refused)
    return error_set(err, STATUS_INPUT,
                     "sound: %ld packet%s left out: damaged, or of another codec than the track began with",
                     muxer->refused, muxer->refused == 1 ? " is" : "s are");
  if (reader->unplaced)
    return error_set(
        err, STATUS_INPUT,
        "sound: %ld packet%s left out, since the times in the input step back there and the pictures' do not",
        reader->unplaced, reader->unplaced == 1 ? " is" : "s are");
  if (unread)
    return error_set(err, STATUS_INPUT, "%s: %ld packet%s left out, which came too far before the pictures of %s time",
                     subject(side), unread, unread == 1 ? " is" : "s are", unread == 1 ? "its" : "their");
  if (lost)
    return error_set(
        err, STATUS_INPUT,
        "subtitles or further video: %ld packet%s left out: damaged, too far from the pictures of %s time, "
        "or not taken by the container",
        lost, lost == 1 ? " is" : "s are", lost == 1 ? "its" : "their");
  return 0;
}

void side_tracks_close(struct side_tracks **pointer) {
  struct side_tracks *side = *pointer;
  *pointer = NULL;
  if (!side)
    return;
  sound_close(&side->sound);
  other_tracks_close(&side->others);
  side_reader_free(&side->reader);
  late_tracks_close(&side->late);
  if (!side->feed)
    avformat_close_input(&side->input);
  free(side->gaps);
  free(side);
}
