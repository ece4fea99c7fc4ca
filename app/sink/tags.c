#include "app/sink/tags.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/timecode.h>

#include "app/sink/muxer.h"

static const char timecode_tag[] = "timecode";

static void drop_stale(AVDictionary **tags) {
  static const char *const stale[] = {
      "major_brand", "minor_version", "compatible_brands", "encoder",         "duration", "vendor_id",
      "rotate",      "BPS",           "NUMBER_OF_FRAMES",  "NUMBER_OF_BYTES", "SOURCE_ID"};
  const AVDictionaryEntry *entry;
  for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
    av_dict_set(tags, stale[i], NULL, 0);
  /* Beginnings of the names of tags in which Matroska's muxers store counts of packets and bytes, one tag for each
   * language. */
  static const char *const beginnings[] = {"_STATISTICS_",     "BPS-",      "NUMBER_OF_FRAMES-",
                                           "NUMBER_OF_BYTES-", "DURATION-", "SOURCE_ID-"};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    while ((entry = av_dict_get(*tags, beginnings[i], NULL, AV_DICT_IGNORE_SUFFIX)))
      av_dict_set(tags, entry->key, NULL, 0);
}

void tags_copy_stream(AVStream *to, const AVStream *from) {
  av_dict_copy(&to->metadata, from->metadata, 0);
  drop_stale(&to->metadata);
  av_dict_set(&to->metadata, timecode_tag, NULL, 0);
}

/* Stores the title as the name of the track's handler, which players show, because FFmpeg 5 writes no title of a track
 * into MP4. */
void tags_name_track(const AVOutputFormat *container, AVStream *track) {
  const AVDictionaryEntry *title = av_dict_get(track->metadata, "title", NULL, 0);
  if (title && muxer_is_mp4(container))
    av_dict_set(&track->metadata, "handler_name", title->value, 0);
}

/* Changes the timecode in *tags to that of the output's first picture, which is `start` seconds after the input's.
 * Returns false if the tag is no timecode. */
static bool move_timecode(AVDictionary **tags, AVRational rate, double start) {
  const AVDictionaryEntry *entry = av_dict_get(*tags, timecode_tag, NULL, 0);
  char text[AV_TIMECODE_STR_SIZE];
  AVTimecode timecode;
  if (av_timecode_init_from_string(&timecode, rate, entry->value, NULL) < 0)
    return false;
  int pictures = (int)ceil(start * av_q2d(rate) - 1e-3);
  av_timecode_make_string(&timecode, text, pictures > 0 ? pictures : 0);
  av_dict_set(tags, timecode_tag, text, 0);
  return true;
}

/* Changes the timecode to that of the output's first picture, or removes it if it is invalid at this frame rate,
 * because a muxer that stores timecodes as tracks would then refuse the whole file. */
static void settle_timecode(AVDictionary **tags, AVRational rate, double start, const struct log *log) {
  const AVDictionaryEntry *entry = av_dict_get(*tags, timecode_tag, NULL, 0);
  if (!entry || (rate.num > 0 && move_timecode(tags, rate, start)))
    return;
  log_line(log, LOG_WARNING, "the timecode %.32s is none at this frame rate and is left out", entry->value);
  av_dict_set(tags, timecode_tag, NULL, 0);
}

static int kept_disposition(const AVStream *video) {
  return video->disposition & (AV_DISPOSITION_DEFAULT | AV_DISPOSITION_DUB | AV_DISPOSITION_ORIGINAL |
                               AV_DISPOSITION_COMMENT | AV_DISPOSITION_FORCED | AV_DISPOSITION_HEARING_IMPAIRED |
                               AV_DISPOSITION_VISUAL_IMPAIRED | AV_DISPOSITION_CLEAN_EFFECTS);
}

void tags_copy(AVFormatContext *output, AVFormatContext *input, AVStream *video, double start, const struct log *log) {
  AVRational rate = video ? av_guess_frame_rate(input, video, NULL) : (AVRational){0, 1};
  av_dict_copy(&output->metadata, input->metadata, 0);
  drop_stale(&output->metadata);
  settle_timecode(&output->metadata, rate, start, log);
  if (!video || !output->nb_streams)
    return;
  AVStream *to = output->streams[0];
  const AVDictionaryEntry *timecode = av_dict_get(video->metadata, timecode_tag, NULL, 0);
  tags_copy_stream(to, video);
  tags_name_track(output->oformat, to);
  to->disposition = kept_disposition(video);
  if (!timecode)
    return;
  av_dict_set(&to->metadata, timecode_tag, timecode->value, 0);
  settle_timecode(&to->metadata, rate, start, log);
}

bool tags_keep_timecode(const AVOutputFormat *container) {
  return av_match_name(container->name, "mp4,mov,matroska,webm,mxf,nut,ogg,ogv");
}

bool tags_keep_file_timecode(const AVOutputFormat *container) {
  return tags_keep_timecode(container) || av_match_name(container->name, "avi,flv,asf,asf_stream");
}
