#include "app/sink/mp4.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/intreadwrite.h>

#include "app/platform/app_platform.h"
#include "app/source/ffmpeg_util.h"
#include "app/sink/chapters.h"
#include "app/sink/replacement.h"

/* Ticks a second of the clock for the start times of the file's tracks. FFmpeg's default rounds them to
 * milliseconds. */
static const char movie_timescale[] = "90000";

void mp4_wishes(AVDictionary **wishes) {
  av_dict_set(wishes, "movflags", "frag_custom+delay_moov+default_base_moof+skip_trailer", 0);
  av_dict_set(wishes, "movie_timescale", movie_timescale, 0);
}

/* Returns the length in bytes of the box that begins at offset `at`, and stores its 4-byte type; 0 if there is no box
 * that ends within the file's size. */
static int64_t read_box(FILE *file, int64_t at, int64_t size, char *type) {
  uint8_t head[16] = {0};
  if (at + 8 > size || fseeko(file, at, SEEK_SET) || fread(head, 1, sizeof head, file) < 8)
    return 0;
  bool large = AV_RB32(head) == 1;
  int64_t length = large ? (int64_t)AV_RB64(head + 8) : AV_RB32(head);
  memcpy(type, head + 4, 4);
  return length < (large ? 16 : 8) || length > size - at ? 0 : length;
}

/* Returns the offset at which the unbroken chain of boxes from the file's beginning ends. Stores the file's size, and
 * the offset of the end of the last box of media data (0: none). All are 0 if the file cannot be opened. */
static int64_t follow_boxes(const char *path, int64_t *last_data, int64_t *size) {
  FILE *file = platform_stream(path, "rb");
  int64_t at = 0, length;
  char type[4];
  *last_data = *size = 0;
  if (!file)
    return 0;
  *size = fseeko(file, 0, SEEK_END) ? 0 : ftello(file);
  for (; (length = read_box(file, at, *size, type)); at += length)
    if (!memcmp(type, "mdat", 4))
      *last_data = at + length;
  fclose(file);
  return at;
}

/* True if the file is a chain of complete boxes. The test is necessary because FFmpeg reports no error if memory runs
 * out while it collects a fragment or moves the index. */
static bool has_whole_boxes(const char *path) {
  int64_t data, size;
  return follow_boxes(path, &data, &size) == size && data > 0;
}

void mp4_cut(const char *path) {
  int64_t whole, size;
  follow_boxes(path, &whole, &size);
  int cut = whole > 0 && whole < size ? platform_cut(path, whole) : 0;
  /* the result is ignored: a file that cannot be cut stays as it is, and the user learns of the failure that made the
   * cut necessary */
  (void)cut;
}

/* Adds to `to` a copy of each track that was given to the muxer, whose output context is `was`. A timecode track is not
 * copied: the muxer makes it from the video's tag, and would refuse it at a frame rate guessed from few pictures.
 * Returns 0 or an FFmpeg error code. */
static int copy_streams(AVFormatContext *from, AVFormatContext *to, const AVFormatContext *was) {
  for (unsigned i = 0; i < was->nb_streams && i < from->nb_streams; i++) {
    AVStream *stream = avformat_new_stream(to, NULL);
    if (!stream)
      return AVERROR(ENOMEM);
    int code = avcodec_parameters_copy(stream->codecpar, from->streams[i]->codecpar);
    if (code < 0)
      return code;
    /* the codec tag (four letters) is kept for HEVC because Apple's players look at it, and for ProRes because it tells
     * the profile */
    if (stream->codecpar->codec_id != AV_CODEC_ID_HEVC && stream->codecpar->codec_id != AV_CODEC_ID_PRORES)
      stream->codecpar->codec_tag = 0;
    stream->time_base = from->streams[i]->time_base;
    stream->avg_frame_rate = was->streams[i]->avg_frame_rate;
    stream->sample_aspect_ratio = from->streams[i]->sample_aspect_ratio;
    stream->disposition = from->streams[i]->disposition;
    av_dict_copy(&stream->metadata, from->streams[i]->metadata, 0);
  }
  av_dict_copy(&to->metadata, from->metadata, 0);
  return 0;
}

/* Adds the tracks and chapters in `late`, which could not be stored in fragments, to the rewritten file. Returns 0 or
 * AVERROR(ENOMEM). */
static int add_late(AVFormatContext *to, const struct late_tracks *late) {
  for (unsigned i = 0; late && i < late->tracks->nb_streams; i++) {
    const AVStream *from = late->tracks->streams[i];
    AVStream *stream = avformat_new_stream(to, NULL);
    if (!stream || avcodec_parameters_copy(stream->codecpar, from->codecpar) < 0)
      return AVERROR(ENOMEM);
    stream->time_base = from->time_base;
    stream->disposition = from->disposition;
    av_dict_copy(&stream->metadata, from->metadata, 0);
  }
  return late && chapters_copy(to, late->tracks, 0, 0) ? AVERROR(ENOMEM) : 0;
}

struct settling {
  const struct muxer *muxer;
  const struct late_tracks *late;
  unsigned tracks; /* number of tracks of the fragmented file */
  /* an element for each track: how much of it was found in the file, in packets or, for most sound, in bytes (the sum
   * of muxer_units) */
  int64_t *found;
};

/* Writes those packets of late tracks (subtitles and covers, settling->late) that begin before `time` (seconds),
 * starting with packet number *next. Returns 0 or an FFmpeg error code. */
static int write_late(AVFormatContext *to, const struct settling *settling, double time, int *next) {
  return late_tracks_write(settling->late, to, (int)settling->tracks, time, next);
}

/* Copies all packets of the file `from` to the file `to`, and counts them in settling->found. `to` NULL: packets are
 * only counted. Returns 0 or an FFmpeg error code. */
static int copy_packets(AVFormatContext *from, AVFormatContext *to, struct settling *settling) {
  AVPacket *packet = av_packet_alloc();
  int code = packet ? 0 : AVERROR(ENOMEM), next = 0;
  memset(settling->found, 0, settling->tracks * sizeof *settling->found);
  while (code >= 0 && (code = av_read_frame(from, packet)) >= 0) {
    unsigned at = (unsigned)packet->stream_index;
    if (at < settling->tracks && !(packet->flags & AV_PKT_FLAG_CORRUPT))
      settling->found[at] += muxer_units(from->streams[at]->codecpar, packet);
    if (to && at < settling->tracks) {
      packet->pos = -1;
      av_packet_rescale_ts(packet, from->streams[at]->time_base, to->streams[at]->time_base);
      /* Fragments do not store a duration for each packet. Only the duration of a track's last packet matters: without
       * it, that packet would be cut off. */
      packet->duration = av_rescale_q(settling->muxer->tracks[at].duration,
                                      settling->muxer->output->streams[at]->time_base, to->streams[at]->time_base);
      code = write_late(to, settling, (double)packet->dts * av_q2d(to->streams[at]->time_base), &next);
      if (code >= 0)
        code = av_interleaved_write_frame(to, packet);
    }
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
  if (code == AVERROR_EOF)
    code = to ? write_late(to, settling, INFINITY, &next) : 0;
  return code;
}

/* True if the reader reports the width of the pictures that were written. For MPEG-4, FFmpeg's demuxer leaves the width
 * 0 until something is decoded. */
static bool has_width(const AVCodecParameters *is, const AVCodecParameters *was) {
  return is->width == was->width || (is->codec_id == AV_CODEC_ID_MPEG4 && !is->width);
}

/* True if the track is no video, or the file states the codec, the width and, if one was written, a decoder's
 * configuration (extradata). (For DNxHD FFmpeg itself adds such a configuration.) */
static bool is_known(const AVFormatContext *file, const struct settling *settling, unsigned track) {
  const AVCodecParameters *was = settling->muxer->output->streams[track]->codecpar, *is;
  if (was->codec_type != AVMEDIA_TYPE_VIDEO)
    return true;
  is = track < file->nb_streams ? file->streams[track]->codecpar : NULL;
  return is && is->codec_id == was->codec_id && has_width(is, was) && (is->extradata_size || !was->extradata_size);
}

static bool is_whole(const struct settling *settling) {
  for (unsigned i = 0; i < settling->tracks; i++)
    if (settling->found[i] != settling->muxer->tracks[i].units)
      return false;
  return true;
}

static int write_copy(AVFormatContext *from, AVFormatContext *to, struct settling *settling) {
  AVDictionary *wishes = NULL;
  av_dict_set(&wishes, "movflags", "faststart", 0);
  av_dict_set(&wishes, "movie_timescale", movie_timescale, 0);
  int code = avformat_write_header(to, &wishes);
  av_dict_free(&wishes);
  if (code >= 0)
    code = copy_packets(from, to, settling);
  if (code >= 0)
    code = av_write_trailer(to);
  return code;
}

static int open_again(AVFormatContext **from, const char *path) {
  int code = avformat_open_input(from, path, NULL, NULL);
  return code < 0 ? code : avformat_find_stream_info(*from, NULL);
}

static int rewrite(const char *path, const char *copy, struct settling *settling) {
  AVFormatContext *from = NULL, *to = NULL;
  int code = open_again(&from, path);
  if (code >= 0)
    /* The context must know the copy's name, because FFmpeg opens the copy a second time to move the index to the
     * front. */
    code = avformat_alloc_output_context2(&to, settling->muxer->output->oformat, NULL, copy);
  if (code >= 0)
    code = copy_streams(from, to, settling->muxer->output);
  if (code >= 0)
    code = to->nb_streams == settling->tracks ? add_late(to, settling->late) : AVERROR_INVALIDDATA;
  if (code >= 0)
    code = avio_open(&to->pb, copy, AVIO_FLAG_WRITE);
  if (code >= 0) {
    code = write_copy(from, to, settling);
    int closed = avio_closep(&to->pb);
    if (code >= 0)
      code = closed;
  }
  avformat_free_context(to);
  avformat_close_input(&from);
  return code;
}

/* Counts the packets that the index of a file without fragments lists. Returns 0 or an FFmpeg error code. */
static int count_index(const char *path, struct settling *settling) {
  AVFormatContext *file = NULL;
  AVDictionary *wishes = NULL;
  memset(settling->found, 0, settling->tracks * sizeof *settling->found);
  /* FFmpeg must ignore the edit list, because its index would otherwise lack the pictures that are not shown */
  av_dict_set(&wishes, "advanced_editlist", "0", 0);
  int code = avformat_open_input(&file, path, NULL, &wishes);
  av_dict_free(&wishes);
  for (unsigned i = 0; code >= 0 && i < settling->tracks && i < file->nb_streams; i++)
    for (int at = 0; is_known(file, settling, i) && at < avformat_index_get_entries_count(file->streams[i]); at++) {
      const AVPacket packet = {.size = avformat_index_get_entry(file->streams[i], at)->size};
      settling->found[i] += muxer_units(file->streams[i]->codecpar, &packet);
    }
  avformat_close_input(&file);
  return code < 0 || has_whole_boxes(path) ? code : AVERROR_INVALIDDATA;
}

/* Fails if the file has fewer video packets than were written. */
static int check_frames(const char *path, struct settling *settling, struct error *err) {
  AVFormatContext *from = NULL;
  int64_t written = 0, found = 0;
  memset(settling->found, 0, settling->tracks * sizeof *settling->found);
  if (open_again(&from, path) >= 0)
    copy_packets(from, NULL, settling);
  for (unsigned i = 0; i < settling->tracks; i++)
    if (!from || !is_known(from, settling, i) || !has_whole_boxes(path))
      settling->found[i] = 0;
  avformat_close_input(&from);
  for (unsigned i = 0; i < settling->tracks; i++)
    if (settling->muxer->output->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) {
      written += settling->muxer->tracks[i].units;
      found += settling->found[i];
    }
  return found < written ? error_set(err, STATUS_OUTPUT, "%s: only %lld of %lld frames can be read again", path,
                                     (long long)found, (long long)written)
                         : 0;
}

/* Replaces the file by its rewritten copy. Returns NULL, or the reason why the file stays as it is. */
static const char *replace(const char *path, struct settling *settling, char *reason) {
  struct replacement copy;
  if (replacement_make(&copy, path))
    return strerror(errno);
  int code = rewrite(path, copy.url, settling);
  if (code >= 0 && is_whole(settling)) /* checked once more, because FFmpeg does not report all of its own failures */
    code = count_index(copy.url, settling);
  if (code >= 0 && is_whole(settling) && !replacement_take_over(&copy, path))
    return NULL;
  int taken = errno;
  replacement_drop(&copy);
  if (code < 0)
    return ffmpeg_reason(code, reason);
  return is_whole(settling) ? strerror(taken) : "not all of it was found again";
}

int mp4_settle(const char *path, const char *name, const struct muxer *muxer, const struct late_tracks *late,
               const struct log *log, struct error *err) {
  char *plain = platform_real_path(path), buffer[128];
  if (!plain || !platform_is_file(plain)) {
    free(plain);
    return 0;
  }
  struct settling settling = {.muxer = muxer, .late = late, .tracks = muxer->output->nb_streams};
  settling.found = calloc(settling.tracks, sizeof *settling.found);
  if (!settling.found) {
    free(plain);
    return error_set(err, STATUS_FAILED, "no memory to settle %s", name);
  }
  const char *reason = replace(plain, &settling, buffer);
  int failed = reason ? check_frames(plain, &settling, err) : 0;
  free(settling.found);
  if (reason && !failed)
    log_line(log, LOG_WARNING, "%s: stays in fragments, which some players seek badly in (%s)", name, reason);
  free(plain);
  return failed;
}
