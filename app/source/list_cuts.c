#include "app/source/list_cuts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/parseutils.h>

#include "app/source/protocols.h"
#include "unet/base/platform.h"

/* Tolerance in microseconds: times in a list are in microseconds, and containers round the times of packets. */
static const int64_t slack_us = 1000;

int list_cuts_ask(AVDictionary **wishes) {
  return av_dict_set(wishes, "segment_time_metadata", "1", AV_DICT_DONT_OVERWRITE);
}

/* The directives of one file in the list, in microseconds; AV_NOPTS_VALUE: the directive is missing. */
struct directives {
  int64_t inpoint, outpoint, duration;
};

/* Reads the time that follows a directive's name. Lines with another directive leave *us unchanged. */
static void read_time(const char *line, const char *name, int64_t *us) {
  line += strspn(line, " \t");
  size_t length = strlen(name);
  if (strncmp(line, name, length) != 0 || !line[length] || !strchr(" \t", line[length]))
    return;
  const char *rest = line + length + strspn(line + length, " \t");
  char *word = av_get_token(&rest, " \t\r\n");
  int64_t time;
  if (word && av_parse_time(&time, word, 1) >= 0)
    *us = time;
  av_free(word);
}

static bool names_file(const char *line) {
  line += strspn(line, " \t");
  return !strncmp(line, "file", 4) && line[4] && strchr(" \t", line[4]);
}

/* Adds an entry for one more file of the list. The file begins where the file before it ends, if the directives say
 * where that is. Returns 0, or -1 if memory is short. */
static int add_part(struct list_cuts *cuts) {
  struct list_part *parts = realloc(cuts->parts, (size_t)(cuts->count + 1) * sizeof *parts);
  if (!parts)
    return -1;
  const struct list_part *before = cuts->count ? &parts[cuts->count - 1] : NULL;
  int64_t begin_us = before ? AV_NOPTS_VALUE : 0;
  if (before && before->begin_us != AV_NOPTS_VALUE && before->length_us != AV_NOPTS_VALUE)
    begin_us = before->begin_us + before->length_us;
  cuts->parts = parts;
  cuts->parts[cuts->count++] = (struct list_part){.begin_us = begin_us, .length_us = AV_NOPTS_VALUE};
  return 0;
}

/* Fills in length_us, begins and ends of the list's last file, from the directives inpoint, outpoint and duration that
 * the list has for this file. If there is a duration directive, FFmpeg uses that as the file's length, instead of
 * outpoint minus inpoint. */
static void take_directives(struct list_cuts *cuts, const struct directives *said) {
  bool both = said->inpoint != AV_NOPTS_VALUE && said->outpoint != AV_NOPTS_VALUE;
  struct list_part *part = cuts->count ? &cuts->parts[cuts->count - 1] : NULL;
  if (!part)
    return;
  part->begins = said->inpoint != AV_NOPTS_VALUE;
  part->ends = said->outpoint != AV_NOPTS_VALUE && said->duration == AV_NOPTS_VALUE;
  cuts->any |= part->begins || part->ends;
  part->length_us = both && part->ends ? said->outpoint - said->inpoint : said->duration;
}

int list_cuts_read(struct list_cuts *cuts, const AVFormatContext *input) {
  static const struct directives nothing = {AV_NOPTS_VALUE, AV_NOPTS_VALUE, AV_NOPTS_VALUE};
  struct directives said = nothing;
  char line[4096];
  int status = 0;
  FILE *list = !strcmp(input->iformat->name, "concat") ? platform_stream(file_path(input->url), "rb") : NULL;
  while (list && !status && fgets(line, sizeof line, list)) {
    if (names_file(line)) {
      said = nothing;
      status = add_part(cuts);
    }
    read_time(line, "inpoint", &said.inpoint);
    read_time(line, "outpoint", &said.outpoint);
    read_time(line, "duration", &said.duration);
    take_directives(cuts, &said);
  }
  if (list)
    fclose(list);
  return status;
}

void list_cuts_free(struct list_cuts *cuts) {
  free(cuts->parts);
  *cuts = (struct list_cuts){0};
}

/* Returns the file of the list that begins at begin_us; NULL: none does. Files are read one after the other, so a file
 * whose begin is not known yet is taken to begin at begin_us. */
static const struct list_part *find_part(struct list_cuts *cuts, int64_t begin_us) {
  for (int i = 0; i < cuts->count; i++) {
    struct list_part *part = &cuts->parts[i];
    if (part->begin_us == AV_NOPTS_VALUE)
      part->begin_us = begin_us;
    if (part->begin_us == begin_us)
      return part;
  }
  return NULL;
}

/* Returns the number in the entry `name` of a packet's metadata, which FFmpeg's concat demuxer has attached;
 * AV_NOPTS_VALUE: there is no such entry. */
static int64_t number_of(const AVDictionary *words, const char *name) {
  const AVDictionaryEntry *entry = av_dict_get(words, name, NULL, 0);
  return entry ? strtoll(entry->value, NULL, 10) : AV_NOPTS_VALUE;
}

/* True if the time is outside the part of its file that the list uses. begin_us, length_us: begin and length of the
 * file, as FFmpeg's demuxer states them; each may be AV_NOPTS_VALUE. */
static bool is_outside(struct list_cuts *cuts, int64_t begin_us, int64_t length_us, int64_t at_us) {
  const struct list_part *part = cuts->any && begin_us != AV_NOPTS_VALUE ? find_part(cuts, begin_us) : NULL;
  if (!part)
    return false;
  return (part->begins && at_us < begin_us - slack_us) ||
         (part->ends && length_us != AV_NOPTS_VALUE && at_us >= begin_us + length_us - slack_us);
}

/* True if the packet may be its file's only one, a single picture: it is video and at the file's beginning (begin_us
 * equals at_us). It then gets a duration. If more packets follow, the duration does no harm, because their times
 * decide. */
static bool is_picture(const AVStream *stream, int64_t begin_us, int64_t at_us) {
  const AVCodecDescriptor *codec = avcodec_descriptor_get(stream->codecpar->codec_id);
  bool in_order = codec && !(codec->props & AV_CODEC_PROP_REORDER);
  return stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && in_order && begin_us == at_us;
}

/* Marks the packet as discarded if it is outside the part of its file that the list uses. Gives a single picture the
 * duration that the list states. words: metadata that FFmpeg's demuxer has attached to the packet. */
static void mark(struct list_cuts *cuts, const AVStream *stream, AVPacket *packet, const AVDictionary *words) {
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  int64_t begin_us = number_of(words, "lavf.concatdec.start_time");
  int64_t length_us = number_of(words, "lavf.concatdec.duration");
  int64_t at_us = av_rescale_q(stamp, stream->time_base, AV_TIME_BASE_Q);
  if (is_outside(cuts, begin_us, length_us, at_us))
    packet->flags |= AV_PKT_FLAG_DISCARD;
  if (length_us != AV_NOPTS_VALUE && is_picture(stream, begin_us, at_us))
    packet->duration = av_rescale_q(length_us, AV_TIME_BASE_Q, stream->time_base);
}

void list_cuts_mark(struct list_cuts *cuts, const AVFormatContext *input, AVPacket *packet) {
  AVDictionary *words = NULL;
  size_t size = 0;
  const uint8_t *data = av_packet_get_side_data(packet, AV_PKT_DATA_STRINGS_METADATA, &size);
  bool timed = packet->pts != AV_NOPTS_VALUE || packet->dts != AV_NOPTS_VALUE;
  if (!cuts->count || !data || !timed)
    return;
  if (av_packet_unpack_dictionary(data, size, &words) >= 0)
    mark(cuts, input->streams[packet->stream_index], packet, words);
  av_dict_free(&words);
}
