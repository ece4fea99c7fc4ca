#include "app/source/completeness.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/opt.h>

/* Tolerance in seconds between the end that the file states and the end that was read: headers round, and the last
 * packet of sound may have no duration. */
static const double slack_seconds = 0.2;

enum { SLACK_FRAMES = 2 };

static bool is(const struct completeness *completeness, const char *format) {
  return !strcmp(completeness->input->iformat->name, format);
}

static bool is_mp4(const struct completeness *completeness) {
  return strstr(completeness->input->iformat->name, "mp4") != NULL;
}

static int64_t file_size(const AVFormatContext *input) {
  int64_t size = input->pb ? avio_size(input->pb) : 0;
  return size > 0 ? size : 0;
}

/* True if each packet makes one picture. Interlaced video may have a packet for each field, and some codecs have
 * pictures that are never shown. */
static bool is_one_each(const AVCodecParameters *codec) {
  static const enum AVCodecID known[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1};
  const AVCodecDescriptor *kind = avcodec_descriptor_get(codec->codec_id);
  bool one = kind && kind->props & AV_CODEC_PROP_INTRA_ONLY;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    one = one || known[i] == codec->codec_id;
  return one && codec->field_order <= AV_FIELD_PROGRESSIVE;
}

void completeness_begin(struct completeness *completeness, AVFormatContext *input, const AVStream *stream) {
  *completeness = (struct completeness){.input = input,
                                        .stream = stream,
                                        .last_dts = AV_NOPTS_VALUE,
                                        .last_pos = -1,
                                        .one_each = is_one_each(stream->codecpar)};
  completeness_restart(completeness);
  completeness->bytes = file_size(input);
  bool header = input->duration > 0 && input->duration_estimation_method == AVFMT_DURATION_FROM_STREAM;
  completeness->whole_file = header && (is(completeness, "matroska,webm") || is(completeness, "flv") ||
                                        is(completeness, "asf") || is(completeness, "mxf"));
  if (completeness->whole_file)
    completeness->promised = (double)input->duration / AV_TIME_BASE;
  if (is_mp4(completeness) && !stream->nb_frames && stream->duration > 0)
    completeness->promised = (double)stream->duration * av_q2d(stream->time_base);
  if (is(completeness, "avi"))
    completeness->frames = (long)stream->nb_frames;
}

bool completeness_wants_all(const struct completeness *completeness) {
  return completeness->whole_file;
}

static void add_picture(struct completeness *completeness, const AVPacket *packet, double time) {
  if (completeness->last_dts != AV_NOPTS_VALUE)
    completeness->longest = fmax(completeness->longest, fabs(time - completeness->last_time));
  completeness->last_time = time;
  completeness->cut = packet->flags & AV_PKT_FLAG_CORRUPT;
  if (packet->dts != AV_NOPTS_VALUE &&
      (completeness->last_dts == AV_NOPTS_VALUE || packet->dts > completeness->last_dts))
    completeness->last_dts = packet->dts;
}

static void count_sent(struct completeness *completeness, const AVPacket *packet) {
  if (packet->flags & AV_PKT_FLAG_DISCARD || !packet->size || packet->pts == AV_NOPTS_VALUE)
    return;
  if (completeness->first_pts == AV_NOPTS_VALUE && packet->flags & AV_PKT_FLAG_KEY)
    completeness->first_pts = packet->pts;
  completeness->sent += completeness->first_pts != AV_NOPTS_VALUE && packet->pts >= completeness->first_pts;
}

void completeness_add(struct completeness *completeness, const AVPacket *packet) {
  double tick = av_q2d(completeness->input->streams[packet->stream_index]->time_base);
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  double time = stamp == AV_NOPTS_VALUE ? 0 : (double)stamp * tick;
  completeness->end = fmax(completeness->end, time + (double)packet->duration * tick);
  if (packet->pos >= 0)
    completeness->last_pos = packet->pos;
  if (packet->stream_index == completeness->stream->index) {
    add_picture(completeness, packet, time);
    count_sent(completeness, packet);
  }
}

void completeness_give(struct completeness *completeness, const AVFrame *frame) {
  if (frame->interlaced_frame || frame->pts == AV_NOPTS_VALUE)
    completeness->one_each = false;
  completeness->given += completeness->first_pts != AV_NOPTS_VALUE && frame->pts >= completeness->first_pts;
}

void completeness_restart(struct completeness *completeness) {
  completeness->first_pts = AV_NOPTS_VALUE;
  completeness->sent = completeness->given = 0;
}

long completeness_missing(const struct completeness *completeness) {
  return completeness->one_each && completeness->sent > completeness->given ? completeness->sent - completeness->given
                                                                            : 0;
}

/* Compares the last packet that was read with the index of an MP4 or MOV file, which lists every packet. Returns 0, or
 * -1 with err. */
static int check_index(const struct completeness *completeness, const char *name, struct error *err) {
  AVStream *stream = completeness->input->streams[completeness->stream->index];
  int entries = avformat_index_get_entries_count(stream);
  if (!is_mp4(completeness) || completeness->last_dts == AV_NOPTS_VALUE || entries < 1)
    return 0;
  int last = av_index_search_timestamp(stream, completeness->last_dts, AVSEEK_FLAG_BACKWARD | AVSEEK_FLAG_ANY);
  int there = last + !completeness->cut;
  if (last < 0 || there >= entries)
    return 0;
  return error_set(err, STATUS_INPUT, "%s: cut short: its index names %d frames, and %d are there", name, entries,
                   there);
}

/* Compares the number of frames that were read with the number in an AVI's header; both include empty frames. An AVI
 * has its index at the end of the file, so if FFmpeg has found the index, the file is complete. */
static int check_frames(const struct completeness *completeness, const char *name, struct error *err) {
  AVStream *stream = completeness->input->streams[completeness->stream->index];
  const AVIndexEntry *last = avformat_index_get_entry(stream, avformat_index_get_entries_count(stream) - 1);
  long there = completeness->last_dts == AV_NOPTS_VALUE ? 0 : (long)completeness->last_dts + !completeness->cut;
  bool indexed = last && last->timestamp + 1 + SLACK_FRAMES >= completeness->frames;
  if (indexed || there + SLACK_FRAMES >= completeness->frames)
    return 0;
  return error_set(err, STATUS_INPUT, "%s: cut short: its header names %ld frames, and %ld are there", name,
                   completeness->frames, there);
}

/* Reads an EBML number of at most 8 bytes. Its first byte holds a mark for the length, which is removed. Returns -1 for
 * the number that means "unknown", and for an invalid one. */
static int64_t read_ebml(AVIOContext *io) {
  int first = avio_r8(io), bytes = 1;
  for (int mark = 0x80; mark && !(first & mark); mark >>= 1)
    bytes++;
  if (bytes > 8)
    return -1;
  uint64_t value = (uint64_t)first & ((1U << (8 - bytes)) - 1), all = (1ULL << (7 * bytes)) - 1;
  for (int i = 1; i < bytes; i++)
    value = value << 8 | (uint64_t)avio_r8(io);
  return value == all ? -1 : (int64_t)value;
}

/* True if a Matroska file states its length in bytes and is at least that long. Such a file counts as complete even if
 * its packets end before the stated duration, because a single picture may last to the end. */
static bool is_whole_matroska(const struct completeness *completeness) {
  enum { EBML = 0x1A45DFA3, SEGMENT = 0x18538067 };
  AVIOContext *io = completeness->input->pb;
  int64_t size = file_size(completeness->input);
  if (!is(completeness, "matroska,webm") || !size || !(io->seekable & AVIO_SEEKABLE_NORMAL) ||
      avio_seek(io, 0, SEEK_SET) < 0)
    return false;
  bool known = avio_rb32(io) == EBML;
  int64_t length = known ? read_ebml(io) : -1;
  known = length >= 0 && avio_skip(io, length) >= 0 && avio_rb32(io) == SEGMENT;
  length = known ? read_ebml(io) : -1;
  return length > 0 && avio_tell(io) + length <= size;
}

/* Compares the end of the last packet that was read with the duration in the header. The last picture may last as long
 * as the longest picture before it. */
static int check_length(const struct completeness *completeness, const char *name, struct error *err) {
  AVRational rate = completeness->stream->avg_frame_rate;
  double frame = rate.num > 0 && rate.den > 0 ? 1 / av_q2d(rate) : 0;
  if (completeness->promised <= completeness->end + fmax(completeness->longest, frame) + slack_seconds ||
      is_whole_matroska(completeness))
    return 0;
  return error_set(err, STATUS_INPUT, "%s: cut short: its header names %.2f s, and %.2f s are there", name,
                   completeness->promised, completeness->end);
}

/* Checks that a transport stream does not end in the middle of a packet (all packets of a transport stream have the
 * same size). Transport streams have no header that states how long they are. */
static int check_last_packet(const struct completeness *completeness, const char *name, struct error *err) {
  AVFormatContext *input = completeness->input;
  int64_t size = 0, known = file_size(input), bytes = known || !input->pb ? known : avio_tell(input->pb);
  if (!is(completeness, "mpegts") || !bytes || completeness->last_pos < 0 || bytes < completeness->last_pos ||
      av_opt_get_int(input->priv_data, "ts_packetsize", 0, &size) < 0 || size < 1)
    return 0;
  long rest = (long)((bytes - completeness->last_pos) % size);
  if (!rest)
    return 0;
  return error_set(err, STATUS_INPUT, "%s: cut short: of its last packet's %ld bytes %ld are there", name, (long)size,
                   rest);
}

static int check_size(const struct completeness *completeness, const char *name, struct error *err) {
  int64_t bytes = file_size(completeness->input);
  if (bytes >= completeness->bytes)
    return 0;
  return error_set(err, STATUS_INPUT, "%s: cut short while it was read: it had %lld bytes, and has %lld", name,
                   (long long)completeness->bytes, (long long)bytes);
}

int completeness_check(const struct completeness *completeness, const char *name, struct error *err) {
  if (check_index(completeness, name, err) || check_frames(completeness, name, err) ||
      check_length(completeness, name, err) || check_size(completeness, name, err) ||
      check_last_packet(completeness, name, err))
    return -1;
  return completeness->cut ? error_set(err, STATUS_INPUT, "%s: cut short: its last frame is not all there", name) : 0;
}
