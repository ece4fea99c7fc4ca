#include "app/sink/tags.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <libavutil/avstring.h>

#include "app/sink/muxer.h"
#include "app/sink/timecode.h"
#include "app/source/ffmpeg_util.h"

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

/* Languages that FFmpeg's muxer of MOV can write, by the three letters that the muxer takes for each of them. */
static const char mov_languages[] =
    "eng,fra,ger,ita,dut,sve,spa,dan,por,nor,heb,jpn,ara,fin,gre,ice,mlt,tur,chi,urd,hin,tha,kor,lit,pol,hun,est,lav,"
    "per,rus,iri,alb,ron,ces,slk,slv,yid,mac,bul,ukr,bel,uzb,kaz,aze,arm,geo,mol,kir,tgk,tuk,mon,pus,kur,kas,snd,tib,"
    "nep,san,mar,ben,asm,guj,ori,mal,kan,tam,tel,bur,khm,lao,vie,ind,tgl,may,amh,tir,orm,som,swa,run,mlg,epo,wel,baq,"
    "cat,lat,que,grn,aym,tat,uig,dzo,jav";
/* Languages with two codes of three letters. mov: the code that is written to MOV (mov_languages); other: the second
 * code that ISO 639-2 has for the language or, for Swedish, its usual code. */
static const struct spelling {
  const char *other, *mov;
} spellings[] = {{"deu", "ger"}, {"fre", "fra"}, {"nld", "dut"}, {"zho", "chi"}, {"cze", "ces"},
                 {"swe", "sve"}, {"ell", "gre"}, {"isl", "ice"}, {"rum", "ron"}, {"slo", "slk"},
                 {"fas", "per"}, {"eus", "baq"}, {"cym", "wel"}, {"hye", "arm"}, {"kat", "geo"},
                 {"mya", "bur"}, {"mkd", "mac"}, {"msa", "may"}, {"sqi", "alb"}, {"bod", "tib"}};

/* In MOV, changes the code of the track's language to the one that the muxer takes for the same language. */
static void spell_language(const AVOutputFormat *container, AVStream *track) {
  const AVDictionaryEntry *language = av_dict_get(track->metadata, "language", NULL, 0);
  if (!language || strcmp(container->name, "mov") != 0)
    return;
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    if (!strcmp(language->value, spellings[i].other)) {
      av_dict_set(&track->metadata, "language", spellings[i].mov, 0);
      return;
    }
}

/* True if this handler's name (a tag of MP4's tracks) is one that a program writes to all of its files, and not a name
 * that a user gave to the track. */
static bool is_usual_handler(const char *name) {
  static const char *const parts[] = {"Handle", "Core Media", "ISO Media file"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(name, parts[i]))
      return true;
  return !*name;
}

/* Moves a track's name from the tag handler_name, where MP4 stores it, to the tag title, where other containers store
 * it. A title that exists already stays. */
static void take_handler(AVStream *track) {
  const AVDictionaryEntry *handler = av_dict_get(track->metadata, "handler_name", NULL, 0);
  if (!handler || is_usual_handler(handler->value))
    return;
  av_dict_set(&track->metadata, "title", handler->value, AV_DICT_DONT_OVERWRITE);
  av_dict_set(&track->metadata, "handler_name", NULL, 0);
}

void tags_fit_track(const AVOutputFormat *container, AVStream *track) {
  const AVDictionaryEntry *title = av_dict_get(track->metadata, "title", NULL, 0);
  if (!muxer_is_mp4(container))
    take_handler(track);
  else if (title)
    av_dict_set(&track->metadata, "handler_name", title->value, 0);
  spell_language(container, track);
}

/* True if the container stores this language of a track. Transport streams store no language of a video track. */
static bool keeps_language(const AVOutputFormat *container, const AVStream *track, const char *language) {
  bool stream = av_match_name(container->name, "mpegts,rtp_mpegts");
  if (!strcmp(container->name, "mov"))
    return av_match_name(language, mov_languages);
  if ((muxer_is_mp4(container) || stream) && strlen(language) != 3)
    return false;
  if (stream)
    return track->codecpar->codec_type != AVMEDIA_TYPE_VIDEO;
  return !av_match_name(container->name, "avi,flv,mpeg,vcd,svcd,dvd,vob,mxf,mxf_d10,mxf_opatom,gxf,dv");
}

/* True if the container stores a name for each track. */
static bool keeps_names(const AVOutputFormat *container) {
  return !av_match_name(container->name, "mpegts,rtp_mpegts,asf,asf_stream,flv,mpeg,vcd,svcd,dvd,vob,mxf,mxf_d10,"
                                         "mxf_opatom,gxf,dv");
}

/* Marks of a track (such as forced, or dub) that some containers store. Containers that are not listed store no marks,
 * except Matroska, which stores all. */
static const struct {
  const char *containers;
  int marks;
} kept_marks[] = {
    {"mp4", AV_DISPOSITION_DUB | AV_DISPOSITION_COMMENT | AV_DISPOSITION_FORCED | AV_DISPOSITION_HEARING_IMPAIRED |
                AV_DISPOSITION_VISUAL_IMPAIRED},
    {"nut", AV_DISPOSITION_DUB | AV_DISPOSITION_ORIGINAL | AV_DISPOSITION_COMMENT},
    {"webm", AV_DISPOSITION_FORCED},
};

/* Returns the marks of a track (such as "dub") that the container does not store. For sound, a transport stream stores
 * only the marks for the hearing impaired and the visually impaired. */
static int lost_marks(const AVOutputFormat *container, const AVStream *track) {
  int marks =
      track->disposition & (AV_DISPOSITION_DUB | AV_DISPOSITION_ORIGINAL | AV_DISPOSITION_COMMENT |
                            AV_DISPOSITION_FORCED | AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_VISUAL_IMPAIRED);
  if (!strcmp(container->name, "matroska"))
    return 0;
  if (!strcmp(container->name, "mpegts") && track->codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
    return marks & ~(AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_VISUAL_IMPAIRED);
  for (size_t i = 0; i < sizeof kept_marks / sizeof *kept_marks; i++)
    if (!strcmp(container->name, kept_marks[i].containers))
      return marks & ~kept_marks[i].marks;
  return marks;
}

/* True if this track is the default of its kind, such as sound, but the output does not mark it. Players then take the
 * first track of the kind, so nothing is lost if this is the first. */
static bool loses_default(const AVFormatContext *output, const AVStream *track) {
  if (!(track->disposition & AV_DISPOSITION_DEFAULT) || muxer_is_mp4(output->oformat) ||
      av_match_name(output->oformat->name, "matroska,webm,nut"))
    return false;
  for (int i = 0; i < track->index; i++)
    if (output->streams[i]->codecpar->codec_type == track->codecpar->codec_type)
      return !(output->streams[i]->disposition & AV_DISPOSITION_DEFAULT);
  return false;
}

/* True if the output has a time of creation, which its container does not store. */
static bool loses_time(const AVFormatContext *output) {
  return av_match_name(output->oformat->name, "mpegts,rtp_mpegts,avi,asf,asf_stream,mpeg,vcd,svcd,dvd,vob,gxf,dv") &&
         av_dict_get(output->metadata, "creation_time", NULL, 0);
}

/* Returns how many tags of the file that users set the container does not store. MPEG's transport streams have the
 * title as the name of their programme. */
static int lost_of_file(const AVFormatContext *output) {
  static const char *const keys[] = {"title", "comment", "artist", "description", "copyright"};
  const char *container = output->oformat->name;
  bool stream = av_match_name(container, "mpegts,rtp_mpegts");
  int lost = 0;
  if (!stream && !av_match_name(container, "mpeg,vcd,svcd,dvd,vob,mxf,mxf_d10,mxf_opatom,gxf,dv"))
    return 0;
  for (size_t i = stream; i < sizeof keys / sizeof *keys; i++)
    lost += av_dict_get(output->metadata, keys[i], NULL, 0) != NULL;
  return lost;
}

void tags_count_lost(const AVFormatContext *output, struct tags_lost *lost) {
  *lost = (struct tags_lost){.of_file = lost_of_file(output), .times = loses_time(output)};
  for (unsigned i = 0; i < output->nb_streams; i++) {
    const AVStream *track = output->streams[i];
    const AVDictionaryEntry *language = av_dict_get(track->metadata, "language", NULL, 0);
    lost->names += !keeps_names(output->oformat) && av_dict_get(track->metadata, "title", NULL, 0);
    lost->languages += language && *language->value && strcmp(language->value, "und") != 0 &&
                       !keeps_language(output->oformat, track, language->value);
    lost->marks += lost_marks(output->oformat, track) != 0;
    lost->defaults += loses_default(output, track);
  }
}

static int kept_disposition(const AVStream *video) {
  return video->disposition & (AV_DISPOSITION_DEFAULT | AV_DISPOSITION_DUB | AV_DISPOSITION_ORIGINAL |
                               AV_DISPOSITION_COMMENT | AV_DISPOSITION_FORCED | AV_DISPOSITION_HEARING_IMPAIRED |
                               AV_DISPOSITION_VISUAL_IMPAIRED | AV_DISPOSITION_CLEAN_EFFECTS);
}

/* Returns how many frames, also a fraction, lie between the input's first picture and `start`, in seconds from the
 * input's time 0. The result is slightly too small, so that a picture rounded by the input's clock still counts as at
 * or after `start`. */
static double frames_before(const AVFormatContext *input, const AVStream *video, AVRational rate, double start) {
  double first = 0, tick = av_q2d(video->time_base), frame = av_q2d(av_inv_q(rate));
  if (video->start_time != AV_NOPTS_VALUE)
    first = (double)video->start_time * tick - (double)ffmpeg_clock(input) / AV_TIME_BASE;
  return (start - first - fmin(tick, frame / 2)) / frame - 1e-3;
}

void tags_copy(AVFormatContext *output, AVFormatContext *input, AVStream *video, const struct tags_times *times,
               const struct log *log) {
  const AVOutputFormat *container = output->oformat;
  AVStream *to = output->nb_streams ? output->streams[0] : NULL;
  struct timecode_change change = {.input = {0, 1}, .output = {0, 1}};
  if (video)
    change.input = av_guess_frame_rate(input, video, NULL);
  if (to && times->paced)
    change.output = to->avg_frame_rate;
  if (change.input.num > 0 && times->start > 0)
    change.passed = frames_before(input, video, change.input, times->start);
  av_dict_copy(&output->metadata, input->metadata, 0);
  drop_stale(&output->metadata);
  const AVDictionaryEntry *timecode = video ? av_dict_get(video->metadata, timecode_tag, NULL, 0) : NULL;
  bool of_video = to && timecode && tags_keep_timecode(container);
  timecode_settle(&output->metadata, &change, !of_video && tags_keep_file_timecode(container) ? log : NULL);
  if (!video || !to)
    return;
  tags_copy_stream(to, video);
  tags_fit_track(container, to);
  to->disposition = kept_disposition(video);
  if (!timecode)
    return;
  av_dict_set(&to->metadata, timecode_tag, timecode->value, 0);
  timecode_settle(&to->metadata, &change, of_video ? log : NULL);
}

bool tags_keep_timecode(const AVOutputFormat *container) {
  return av_match_name(container->name, "mp4,mov,matroska,webm,mxf,nut,ogg,ogv");
}

bool tags_keep_file_timecode(const AVOutputFormat *container) {
  return tags_keep_timecode(container) || av_match_name(container->name, "avi,flv,asf,asf_stream");
}
