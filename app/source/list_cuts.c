#include "app/source/list_cuts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/packet.h>

#include "app/source/protocols.h"
#include "unet/base/platform.h"

/* Tolerance: times in a list are in microseconds, and containers round those of packets. */
static const int64_t slack_us = 1000;

int list_cuts_ask(AVDictionary **wishes) {
  return av_dict_set(wishes, "segment_time_metadata", "1", AV_DICT_DONT_OVERWRITE);
}

static bool is_directive(const char *line, const char *name) {
  line += strspn(line, " \t");
  size_t length = strlen(name);
  return !strncmp(line, name, length) && strchr(" \t", line[length]) && line[length];
}

struct list_cuts list_cuts_of(const AVFormatContext *input) {
  struct list_cuts cuts = {0};
  char line[4096];
  bool durations = false;
  FILE *list = !strcmp(input->iformat->name, "concat") ? platform_stream(file_path(input->url), "rb") : NULL;
  while (list && fgets(line, sizeof line, list)) {
    cuts.begins |= is_directive(line, "inpoint");
    cuts.ends |= is_directive(line, "outpoint");
    durations |= is_directive(line, "duration");
  }
  if (list)
    fclose(list);
  cuts.ends &= !durations; /* durations replace outpoints, and cut nothing off */
  return cuts;
}

/* Returns a number that the demuxer attached to the packet, or AV_NOPTS_VALUE. */
static int64_t number_of(const AVDictionary *words, const char *name) {
  const AVDictionaryEntry *entry = av_dict_get(words, name, NULL, 0);
  return entry ? strtoll(entry->value, NULL, 10) : AV_NOPTS_VALUE;
}

static bool is_outside(const struct list_cuts *cuts, const AVDictionary *words, int64_t at_us) {
  int64_t begin_us = number_of(words, "lavf.concatdec.start_time");
  int64_t length_us = number_of(words, "lavf.concatdec.duration");
  if (begin_us == AV_NOPTS_VALUE)
    return false;
  return (cuts->begins && at_us < begin_us - slack_us) ||
         (cuts->ends && length_us != AV_NOPTS_VALUE && at_us >= begin_us + length_us - slack_us);
}

void list_cuts_mark(const struct list_cuts *cuts, const AVFormatContext *input, AVPacket *packet) {
  AVDictionary *words = NULL;
  size_t size = 0;
  const uint8_t *data = av_packet_get_side_data(packet, AV_PKT_DATA_STRINGS_METADATA, &size);
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  if ((!cuts->begins && !cuts->ends) || !data || stamp == AV_NOPTS_VALUE)
    return;
  AVRational base = input->streams[packet->stream_index]->time_base;
  if (av_packet_unpack_dictionary(data, size, &words) >= 0 &&
      is_outside(cuts, words, av_rescale_q(stamp, base, AV_TIME_BASE_Q)))
    packet->flags |= AV_PKT_FLAG_DISCARD;
  av_dict_free(&words);
}
