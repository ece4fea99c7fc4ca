#include "app/sink/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/intreadwrite.h>

#include "app/sink/mp4.h"
#include "app/source/ffmpeg_util.h"
#include "unet/base/platform.h"

/* The time of a picture in the file and in the manifest may differ by this many seconds, because containers round
 * times, at worst to milliseconds. */
static const double rounding = 0.002;
enum { LENGTH_BYTES = 4 };

struct kept {
  const char *path;
  const struct job_record *record;
  AVFormatContext *file;
  int track;
  /* For each packet of the file that goes into the output, in decoding order: its picture's number in the manifest.
   * Only packets of complete segments (pictures that can be decoded without the others) go into the output. */
  int64_t *numbers;
  int64_t count, read;
  /* index of the segment (pictures that can be decoded without the others) to which the next packet belongs */
  size_t segment;
  int delay;
};

static int failed(const struct kept *kept, int code, struct error *err) {
  char reason[128];
  return error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_INPUT, "%s: cannot be read again: %s",
                   kept->path, ffmpeg_reason(code, reason));
}

static int open_file(struct kept *kept) {
  AVDictionary *wishes = NULL;
  /* makes FFmpeg give all packets of MP4, also those that the edit list hides */
  av_dict_set(&wishes, "ignore_editlist", "1", 0);
  avformat_close_input(&kept->file);
  int code = avformat_open_input(&kept->file, kept->path, NULL, &wishes);
  av_dict_free(&wishes);
  if (code >= 0)
    code = avformat_find_stream_info(kept->file, NULL);
  if (code >= 0)
    kept->track = code = av_find_best_stream(kept->file, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  return code < 0 ? code : 0;
}

/* Reads the next packet of the pictures' track that has data. Returns 0 or an FFmpeg error code, AVERROR_EOF at the end
 * and at a damaged packet. */
static int next_packet(const struct kept *kept, AVPacket *packet) {
  for (;;) {
    int code = av_read_frame(kept->file, packet);
    if (code < 0)
      return code;
    if (packet->stream_index == kept->track && packet->flags & AV_PKT_FLAG_CORRUPT) {
      av_packet_unref(packet);
      return AVERROR_EOF;
    }
    if (packet->stream_index == kept->track && packet->size > 0)
      return 0;
    av_packet_unref(packet);
  }
}

struct shown {
  /* time: the packet's time in the file, in its stream's time base; at: the packet's index in its segment (pictures
   * that can be decoded without the others), in decoding order */
  int64_t time, at;
};

static int earlier(const void *one, const void *other) {
  const struct shown *a = one, *b = other;
  if (a->time != b->time)
    return a->time < b->time ? -1 : 1;
  return (a->at > b->at) - (a->at < b->at);
}

/* Finds the picture that each packet of a segment contains, and stores its number in kept->numbers. Sorted by time, the
 * packets are in the order of the manifest's pictures. Returns false if a packet's time differs from its picture's time
 * in the manifest. *offset: seconds that the container has added to all times; NaN: unknown, and set here. */
static bool number_segment(struct kept *kept, const struct job_segment *segment, struct shown *shown, double *offset) {
  const struct job *job = &kept->record->job;
  double tick = (double)job->tick.num / (double)job->tick.den;
  double unit = av_q2d(kept->file->streams[kept->track]->time_base);
  qsort(shown, (size_t)segment->pictures, sizeof *shown, earlier);
  for (int64_t i = 0; i < segment->pictures; i++) {
    double time = (double)kept->record->pictures[segment->first + i].time * tick, is = (double)shown[i].time * unit;
    if (isnan(*offset))
      *offset = is - time;
    if (fabs(is - time - *offset) > rounding + unit)
      return false;
    int64_t ahead = segment->first + shown[i].at - (segment->first + i);
    kept->numbers[segment->first + shown[i].at] = segment->first + i;
    if (ahead > kept->delay)
      kept->delay = (int)ahead;
  }
  return true;
}

/* Reads the packets of a segment (part of an unfinished output file that can be kept) and checks them. Returns 1 if
 * the file has all of its packets, 0 if not, or AVERROR(ENOMEM). */
static int survey_segment(struct kept *kept, const struct job_segment *segment, AVPacket *packet, double *offset) {
  struct shown *shown = malloc((size_t)segment->pictures * sizeof *shown);
  int64_t count = 0;
  int code = shown ? 0 : AVERROR(ENOMEM);
  bool begins = true;
  for (; code >= 0 && count < segment->pictures; count += code >= 0) {
    code = next_packet(kept, packet);
    if (code < 0)
      break;
    shown[count] = (struct shown){packet->pts, count};
    begins = begins && packet->pts != AV_NOPTS_VALUE && (count || packet->flags & AV_PKT_FLAG_KEY);
    av_packet_unref(packet);
  }
  bool whole = count == segment->pictures && begins && number_segment(kept, segment, shown, offset);
  free(shown);
  return code == AVERROR(ENOMEM) ? code : whole;
}

static int survey(struct kept *kept) {
  int64_t most = kept->record->job.tick.den ? job_record_kept(kept->record) : 0;
  AVPacket *packet = av_packet_alloc();
  double offset = NAN;
  kept->numbers = malloc((size_t)(most ? most : 1) * sizeof *kept->numbers);
  int code = packet && kept->numbers ? 1 : AVERROR(ENOMEM);
  for (size_t i = 0; code > 0 && most && i < kept->record->segment_count; i++) {
    code = survey_segment(kept, &kept->record->segments[i], packet, &offset);
    if (code > 0)
      kept->count += kept->record->segments[i].pictures;
  }
  av_packet_free(&packet);
  return code;
}

/* True if the file's first bytes are those of MP4 or MOV. */
static bool is_mp4(const char *path) {
  char head[8] = "";
  FILE *file = platform_stream(path, "rb");
  bool is = file && fread(head, 1, sizeof head, file) == sizeof head && !memcmp(head + 4, "ftyp", 4);
  if (file)
    fclose(file);
  return is;
}

/* Returns the reordering delay, in pictures, that the codec's header allows; 0: the codec has no such header. `telling`
 * lists the codecs with such a header; their encoders delay all packets by that number, even if no picture is
 * reordered. */
static int told_delay(const AVCodecParameters *codec) {
  static const enum AVCodecID telling[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG1VIDEO,
                                           AV_CODEC_ID_MPEG2VIDEO};
  for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
    if (telling[i] == codec->codec_id)
      return codec->video_delay;
  return 0;
}

int kept_open(struct kept **kept, const char *path, const struct job_record *record, struct error *err) {
  struct kept *made = *kept = calloc(1, sizeof *made);
  if (!made)
    return error_set(err, STATUS_FAILED, "%s: no memory to read it again", path);
  made->path = path;
  made->record = record;
  if (is_mp4(path))
    mp4_cut(path); /* FFmpeg cannot open the file if it ends with half a fragment (part of an MP4 file), as a process
                    * that was killed may leave it */
  int code = open_file(made);
  if (code >= 0)
    made->delay = told_delay(kept_stream(made)->codecpar);
  if (code >= 0)
    code = survey(made);
  if (code >= 0)
    return 0;
  failed(made, code, err);
  kept_close(kept);
  return -1;
}

int64_t kept_pictures(const struct kept *kept) {
  return kept->count;
}

int kept_delay(const struct kept *kept) {
  return kept->delay;
}

const AVStream *kept_stream(const struct kept *kept) {
  return kept->file->streams[kept->track];
}

int64_t kept_segment_end(const struct kept *kept) {
  const struct job_segment *segment = &kept->record->segments[kept->segment];
  return segment->first + segment->pictures - 1;
}

/* True if packets of the track, in H.264 or HEVC, have a length before each NAL unit, as in MP4, instead of a start
 * code. */
static bool has_lengths(const AVCodecParameters *codec) {
  return (codec->codec_id == AV_CODEC_ID_H264 || codec->codec_id == AV_CODEC_ID_HEVC) && codec->extradata_size > 6 &&
         codec->extradata[0] == 1;
}

/* Replaces the length before each NAL unit by a start code, which has the same number of bytes. Returns 0 or an FFmpeg
 * error code. */
static int put_start_codes(AVPacket *packet) {
  static const uint8_t start_code[LENGTH_BYTES] = {0, 0, 0, 1};
  int code = av_packet_make_writable(packet);
  for (int64_t at = 0; code >= 0 && at < packet->size;) {
    int64_t length = packet->size - at < LENGTH_BYTES ? INT64_MAX : AV_RB32(packet->data + at);
    if (length > packet->size - at - LENGTH_BYTES)
      return AVERROR_INVALIDDATA;
    memcpy(packet->data + at, start_code, LENGTH_BYTES);
    at += LENGTH_BYTES + length;
  }
  return code;
}

int kept_read(struct kept *kept, AVPacket *packet, struct error *err) {
  if (kept->read == kept->count)
    return 0;
  int code = kept->read ? 0 : open_file(kept); /* the file is opened again for the first packet, because kept_open and
                                                * kept_rest have left it at its end or closed it */
  if (code >= 0)
    code = next_packet(kept, packet);
  if (code >= 0 && has_lengths(kept_stream(kept)->codecpar))
    code = put_start_codes(packet);
  if (code < 0)
    return failed(kept, code, err);
  if (kept->read > kept_segment_end(kept))
    kept->segment++;
  packet->pts = kept->record->pictures[kept->numbers[kept->read++]].time;
  packet->dts = AV_NOPTS_VALUE;
  packet->pos = -1;
  return 1;
}

void kept_rest(struct kept *kept) {
  avformat_close_input(&kept->file);
}

void kept_close(struct kept **kept) {
  if (*kept) {
    avformat_close_input(&(*kept)->file);
    free((*kept)->numbers);
  }
  free(*kept);
  *kept = NULL;
}
