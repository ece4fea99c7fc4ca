/* Tests what render keeps of an input besides pictures: subtitles, chapters, covers, attachments, further video, names
 * of tracks. The first test compares this with the table in RENDER.md; "--write FILE" after the program's name writes
 * the table there. */
#include "tests/rigs/cmocka_all.h"

#include <libavformat/avformat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { PICTURES = 15, TEXT_MOST = 4096 };

static const char *page;  /* path of the page with the table */
static bool writes_table; /* true: the table is written to the page instead of compared */

/* --- reading an output --- */

#define CREATED "2020-01-02T03:04:05.000000Z"

/* What an output has besides its first video track. */
struct seen {
  int sounds, chapters, covers, attachments, videos;
  char sound[32];            /* codec of the first sound track */
  char text[2][32];          /* codecs of the first two text subtitle tracks */
  bool pgs, timecode, title; /* pgs: PGS subtitles; title: the file's title */
  /* of the second sound track: name and language are kept; dubs: it is marked as a dub; is_default: as the default
   * track, which the first one is not */
  bool track_title, language, dubs, is_default;
  bool created; /* the time of the file's creation is there */
};

static bool has_tag(const AVDictionary *tags, const char *key, const char *value) {
  const AVDictionaryEntry *tag = av_dict_get(tags, key, NULL, 0);
  return tag && !strcmp(tag->value, value);
}

static bool is_created(const AVDictionary *tags) {
  return has_tag(tags, "creation_time", CREATED) || has_tag(tags, "modification_date", CREATED);
}

static void see_sound(struct seen *seen, const AVStream *stream) {
  seen->is_default = stream->disposition & AV_DISPOSITION_DEFAULT && seen->sounds == 1;
  if (!seen->sounds++)
    snprintf(seen->sound, sizeof seen->sound, "%s", avcodec_get_name(stream->codecpar->codec_id));
  seen->track_title |=
      has_tag(stream->metadata, "title", "Second") || has_tag(stream->metadata, "handler_name", "Second");
  seen->language |= has_tag(stream->metadata, "language", "spa");
  seen->dubs |= stream->disposition & AV_DISPOSITION_DUB;
}

static void see_subtitle(struct seen *seen, const AVStream *stream) {
  const char *codec = avcodec_get_name(stream->codecpar->codec_id);
  bool pgs = stream->codecpar->codec_id == AV_CODEC_ID_HDMV_PGS_SUBTITLE;
  seen->pgs |= pgs;
  if (!pgs)
    snprintf(seen->text[*seen->text[0] != 0], sizeof seen->text[0], "%s", codec);
}

static void see_stream(struct seen *seen, const AVStream *stream) {
  bool cover = stream->disposition & AV_DISPOSITION_ATTACHED_PIC;
  seen->timecode |= has_tag(stream->metadata, "timecode", "10:00:00:00");
  switch (stream->codecpar->codec_type) {
  case AVMEDIA_TYPE_VIDEO:
    seen->covers += cover && stream->attached_pic.size > 100;
    seen->videos += !cover && stream->index;
    break;
  case AVMEDIA_TYPE_AUDIO:
    see_sound(seen, stream);
    break;
  case AVMEDIA_TYPE_SUBTITLE:
    see_subtitle(seen, stream);
    break;
  case AVMEDIA_TYPE_ATTACHMENT:
    seen->attachments += stream->codecpar->extradata_size == 5 && !memcmp(stream->codecpar->extradata, "font\n", 5);
    break;
  default:
    break;
  }
}

static void see_chapters(struct seen *seen, const AVFormatContext *file) {
  static const double starts[] = {0, 0.2};
  static const char *const names[] = {"One", "Two"};
  for (unsigned i = 0; i < file->nb_chapters && i < 2; i++) {
    const AVChapter *chapter = file->chapters[i];
    bool there = fabs((double)chapter->start * av_q2d(chapter->time_base) - starts[i]) < 2e-3;
    seen->chapters += there && has_tag(chapter->metadata, "title", names[i]);
  }
}

static struct seen look(const char *name) {
  struct seen seen = {0};
  AVFormatContext *file = NULL;
  if (avformat_open_input(&file, clip(name), NULL, NULL) < 0 || avformat_find_stream_info(file, NULL) < 0)
    fail_msg("%s cannot be read", name);
  seen.timecode = has_tag(file->metadata, "timecode", "10:00:00:00");
  seen.title = has_tag(file->metadata, "title", "Whole") ||
               (file->nb_programs && has_tag(file->programs[0]->metadata, "service_name", "Whole"));
  seen.created = is_created(file->metadata);
  for (unsigned i = 0; i < file->nb_streams; i++) {
    see_stream(&seen, file->streams[i]);
    seen.created |= is_created(file->streams[i]->metadata);
  }
  see_chapters(&seen, file);
  avformat_close_input(&file);
  return seen;
}

/* First packet of a track, and the number of its packets. */
struct packets {
  double begin[32], end[32];
  int count;
  char first[64]; /* data of the first packet, as text */
};

/* Reads the packets of a file's track number `index`; -1: of its first subtitle track. Empty packets of MP4 are
 * skipped. */
static struct packets read_packets(const char *name, int index) {
  struct packets all = {0};
  AVFormatContext *file = NULL;
  AVPacket *packet = av_packet_alloc();
  if (!packet || avformat_open_input(&file, clip(name), NULL, NULL) < 0 || avformat_find_stream_info(file, NULL) < 0)
    fail_msg("%s cannot be read", name);
  for (unsigned i = 0; i < file->nb_streams && index < 0; i++)
    if (file->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE)
      index = (int)i;
  for (; index >= 0 && av_read_frame(file, packet) >= 0; av_packet_unref(packet)) {
    double tick = av_q2d(file->streams[packet->stream_index]->time_base);
    if (packet->stream_index != index || packet->size <= 2 || all.count == 32)
      continue;
    if (!all.count)
      snprintf(all.first, sizeof all.first, "%.*s", packet->size, (const char *)packet->data);
    all.begin[all.count] = (double)packet->pts * tick;
    all.end[all.count++] = (double)(packet->pts + packet->duration) * tick;
  }
  av_packet_free(&packet);
  avformat_close_input(&file);
  return all;
}

/* --- the table --- */

/* Makes full.mkv: two video tracks, two of sound, SRT, ASS and PGS, two chapters, a cover, an attachment, a timecode,
 * and names of tracks. */
static void make_full(void) {
  static const unsigned char pgs[] = {'P', 'G',  0, 0, 0x23, 0x28, 0,   0, 0, 0,    0x16, 0, 11, 0, 64, 0,    64, 16, 0,
                                      0,   0x80, 0, 0, 0,    'P',  'G', 0, 0, 0x23, 0x28, 0, 0,  0, 0,  0x80, 0,  0};
  FILE *file = fopen(clip("words.sup"), "wb");
  assert_true(file && fwrite(pgs, 1, sizeof pgs, file) == sizeof pgs && !fclose(file));
  shell("printf '1\\n00:00:00,040 --> 00:00:00,160\\n<i>first</i>\\n\\n2\\n00:00:00,240 --> 00:00:00,320\\nsecond\\n\\n"
        "3\\n00:00:00,400 --> 00:00:00,560\\nthird\\n' >words.srt; "
        "printf ';FFMETADATA1\\ntitle=Whole\\n[CHAPTER]\\nTIMEBASE=1/10\\nSTART=0\\nEND=2\\ntitle=One\\n[CHAPTER]\\n"
        "TIMEBASE=1/10\\nSTART=2\\nEND=6\\ntitle=Two\\n' >chapters.txt; echo font >font.ttf");
  /* ADTS sound has no times, so that Matroska's times begin at 0 and not at the encoder's delay */
  shell(FFMPEG
        "-f lavfi -i sine=r=48000:d=0.6 -c:a aac sound.aac && " FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.6 -i sound.aac -c:v libx264 -g 5 -bf 0 -c:a copy plain.mkv && " FFMPEG
        "-i plain.mkv -frames:v 1 cover.jpg");
  shell(FFMPEG
        "-i plain.mkv -i words.srt -i words.sup -i chapters.txt -map 0:v -map 0:v -map 0:a -map 0:a -map 1 -map 1 "
        "-map 2 -map_chapters 3 -map_metadata 3 -c copy -c:s:1 ass -attach font.ttf -attach cover.jpg "
        "-metadata:s:t:0 mimetype=font/ttf -metadata:s:t:1 mimetype=image/jpeg -metadata:s:t:1 "
        "filename=cover.jpg -metadata:s:v:0 timecode=10:00:00:00 -metadata:s:a:1 title=Second "
        "-metadata:s:a:1 language=spa -disposition:a:0 0 -disposition:a:1 default+dub -metadata creation_time=" CREATED
        " full.mkv");
}

static const char *yes(bool kept) {
  return kept ? "yes" : "no";
}

static void add_row(char *table, size_t size, const char *ending, const struct seen *seen) {
  size_t used = strlen(table);
  char text[80], sound[64];
  bool same = !strcmp(seen->text[0], "subrip");
  if (!*seen->text[0])
    snprintf(text, sizeof text, "no");
  else if (same && !strcmp(seen->text[1], "ass"))
    snprintf(text, sizeof text, "yes");
  else
    snprintf(text, sizeof text, "as %s", seen->text[0]);
  snprintf(sound, sizeof sound, "%s, %s", seen->sounds == 2 ? "all" : "one", seen->sound);
  snprintf(table + used, size - used, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
           ending, sound, text, yes(seen->pgs), yes(seen->chapters == 2), yes(seen->covers == 1),
           yes(seen->attachments == 1), yes(seen->videos == 1), yes(seen->timecode), yes(seen->title),
           yes(seen->track_title), yes(seen->language), yes(seen->dubs), yes(seen->is_default), yes(seen->created));
}

/* Checks that the message names what the output lacks, and nothing that it has. */
static void expect_told(const char *ending, const struct seen *seen, const char *said) {
  const struct {
    bool kept;
    const char *words;
  } things[] = {{seen->chapters == 2, "2 chapter marks"},
                {seen->covers == 1, "a cover picture"},
                {seen->attachments == 1, "an attachment"},
                {seen->videos == 1, "another video track"},
                {seen->timecode, "a timecode"},
                {seen->created, "the time of its creation"},
                {seen->is_default || seen->sounds < 2, "the default track"},
                {seen->sounds == 2, "no place for another track"},
                {*seen->text[1] && seen->pgs, "subtitle track"}};
  for (size_t i = 0; i < sizeof things / sizeof *things; i++)
    if (things[i].kept == (strstr(said, things[i].words) != NULL))
      fail_msg("%s: %s is %s, and this was said: %s", ending, things[i].words, things[i].kept ? "kept" : "missing",
               said);
}

static const char begin_mark[] = "<!-- what is kept: written by test_render_tracks -->\n",
                  end_mark[] = "<!-- end -->\n";

/* Compares the table with that of the page, or writes it to the page. */
static void settle_table(const char *table) {
  size_t size;
  char *text = (char *)shell_output(&size, "cat '%s'", page);
  char *from = strstr(text, begin_mark), *to = from ? strstr(from, end_mark) : NULL;
  if (!to)
    fail_msg("%s has no place for the table", page);
  from += strlen(begin_mark);
  /* The page describes Debian 12's FFmpeg; other versions' muxers keep other tracks. */
  bool same = LIBAVFORMAT_VERSION_MAJOR != 59 && !writes_table;
  same = same || ((size_t)(to - from) == strlen(table) && !memcmp(from, table, strlen(table)));
  if (!same && writes_table) {
    FILE *file = fopen(page, "wb");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(from - text), text, table, to);
    assert_int_equal(fclose(file), 0);
  } else if (!same) {
    fail_msg("%s has another table; run test_render_tracks PROGRAM --write %s. This was seen:\n%s", page, page, table);
  }
  free(text);
}

/* Each container keeps what the page says, and a line names what it does not keep. */
static void test_containers(void **state) {
  (void)state;
  static const char *const endings[] = {"mkv", "webm", "mp4", "mov", "m4v", "nut", "ts",
                                        "avi", "wmv",  "flv", "mpg", "mxf", "ogv"};
  static char table[TEXT_MOST] =
      "| OUT | sound | SRT, ASS | PGS | chapters | cover | attachments | further video | timecode | title | names of "
      "tracks | languages | dub, forced ... | default track | time of creation |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  make_full();
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    struct outcome outcome;
    char name[16];
    snprintf(name, sizeof name, "out.%s", endings[i]);
    program_run(&outcome, "render full.mkv %s --size 64x64", name);
    if (outcome.status || clip_count_frames(name) != PICTURES)
      fail_msg("%s: status %d, %s", name, outcome.status, outcome.said);
    struct seen seen = look(name);
    expect_told(endings[i], &seen, outcome.said);
    add_row(table, sizeof table, endings[i], &seen);
  }
  print_message("%s", table);
  settle_table(table);
}

/* --- parts, pipes and MP4 input --- */

static void expect_near(const char *what, double is, double wanted) {
  if (fabs(is - wanted) > 3e-3)
    fail_msg("%s: %f, not %f", what, is, wanted);
}

/* A part keeps the subtitles and chapters that are visible in it, cut at its ends, with times from its own
 * beginning. */
static void test_part(void **state) {
  (void)state;
  static const char *const outputs[] = {"part.mkv", "part.mp4"};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    program_run(&outcome, "render full.mkv %s --size 64x64 --start 0.12 --duration 0.32", outputs[i]);
    assert_int_equal(outcome.status, 0);
    struct packets words = read_packets(outputs[i], -1);
    static const double begins[] = {0, 0.12, 0.28}, ends[] = {0.04, 0.2, 0.32};
    assert_int_equal(words.count, 3);
    for (int j = 0; j < 3; j++) {
      expect_near(outputs[i], words.begin[j], begins[j]);
      expect_near(outputs[i], words.end[j], ends[j]);
    }
    /* key frames stand at 0.2 and 0.4 */
    struct packets video = read_packets(outputs[i], 3);
    assert_int_equal(video.count, 6);
    expect_near(outputs[i], video.begin[0], 0.08);
    char *chapters = (char *)shell_output(
        NULL, "ffprobe -v error -show_entries chapter=start_time,end_time -of csv=p=0 %s", outputs[i]);
    if (strcmp(chapters, "0.000000,0.080000\n0.080000,0.320000\n"))
      fail_msg("%s: chapters %s", outputs[i], chapters);
    free(chapters);
  }
}

/* An input in a pipe keeps the same tracks, with packets at the same times. */
static void test_pipe(void **state) {
  (void)state;
  static const char *const endings[] = {"mkv", "mp4", "ts", "mxf"};
  for (int i = 0; i < 4; i++) {
    struct outcome outcome;
    char from_file[16], from_pipe[16];
    snprintf(from_file, sizeof from_file, "out.%s", endings[i]);
    snprintf(from_pipe, sizeof from_pipe, "pipe.%s", endings[i]);
    program_run(&outcome, "render - %s --size 64x64 <full.mkv", from_pipe);
    struct seen file = look(from_file), pipe = look(from_pipe);
    if (outcome.status || memcmp(&file, &pipe, sizeof file))
      fail_msg("%s: status %d, or another thing is kept: %s", from_pipe, outcome.status, outcome.said);
    expect_told(endings[i], &pipe, outcome.said);
    for (int track = 1; track < 3; track++) {
      struct packets one = read_packets(from_file, track), other = read_packets(from_pipe, track);
      if (one.count != other.count || memcmp(one.begin, other.begin, sizeof one.begin))
        fail_msg("%s: %d packets of sound, not %d, or at other times", from_pipe, other.count, one.count);
    }
  }
  /* a pipe is read up to the part's start */
  struct outcome outcome;
  program_run(&outcome, "render - piped.mkv --size 64x64 --start 0.12 --duration 0.32 <full.mkv");
  assert_int_equal(outcome.status, 0);
  for (int track = 1; track < 7; track++) {
    struct packets one = read_packets("part.mkv", track), other = read_packets("piped.mkv", track);
    if (one.count != other.count || memcmp(one.begin, other.begin, sizeof one.begin))
      fail_msg("track %d of a part: %d packets, not %d, or at other times", track, other.count, one.count);
  }
}

/* From MP4: subtitles become SRT, and the cover becomes an attached file with the name that players know. */
static void test_from_mp4(void **state) {
  (void)state;
  program_expect(0, NULL, "render out.mp4 back.mkv --size 64x64");
  struct packets words = read_packets("back.mkv", -1);
  assert_int_equal(words.count, 3);
  assert_string_equal(words.first, "<i>first</i>");
  expect_near("the third", words.begin[2], 0.4);
  expect_near("the third", words.end[2], 0.56);
  struct seen seen = look("back.mkv");
  assert_true(seen.covers == 1 && seen.chapters == 2 && seen.videos == 1 && seen.sounds == 2);
  assert_string_equal(seen.text[1], "subrip");
  /* MP4 has a track's name as that of its handler */
  assert_true(seen.track_title && seen.is_default && seen.created);
  expect_same("the track's name", "echo Second",
              "ffprobe -v error -select_streams a:1 -show_entries stream_tags=title,HANDLER_NAME -of csv=p=0 back.mkv");
  expect_same("the cover's name", "echo cover.jpg",
              "ffprobe -v error -show_entries stream_tags=filename -of csv=p=0 back.mkv | grep cover");
  /* Between containers with the same subtitle codec, subtitles do not change. */
  program_expect(0, NULL, "render out.mp4 again.mp4 --size 64x64");
  words = read_packets("again.mp4", -1);
  assert_int_equal(words.count, 3);
  expect_near("the second", words.end[1], 0.32);
}

/* Subtitles that cannot be decoded are the only loss; everything else is complete. */
static void test_damaged_words(void **state) {
  (void)state;
  shell("printf '1\\n00:00:00,040 --> 00:00:00,160\\ngood\\n\\n2\\n00:00:00,240 --> 00:00:00,320\\n\\377\\376\\n' "
        ">bad.srt && " FFMPEG "-i plain.mkv -i bad.srt -map 0 -map 1 -c copy bad.mkv");
  program_expect(3, "subtitles or further video: 1 packet is left out", "render bad.mkv bad.mp4 --size 64x64");
  assert_int_equal(clip_count_frames("bad.mp4"), PICTURES);
  assert_int_equal(read_packets("bad.mp4", -1).count, 1);
}

/* Tags and marks that the container does not store are named in one line. MOV gets that code of a language which its
 * muxer takes. */
static void test_lost_tags(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {"tags.mkv", "", "fas ger lat deu"},
      {"tags.mp4", "", "fas ger lat deu"},
      {"tags.mov", "a track's mark such as dub or forced", "per ger lat ger"},
      {"tags.ts", "a tag of the file, 3 names of tracks, a track's language, a track's mark", "ger lat deu"},
      {"tags.avi", "4 languages of tracks, a track's mark such as dub or forced", ""},
      {"tags.flv", "2 names of tracks, ", ""},
      {"tags.mpg", "2 tags of the file, 3 names of tracks, 4 languages of tracks, a track's mark", ""},
  };
  shell(FFMPEG "-i plain.mkv -map 0:0 -map 0:1 -map 0:1 -map 0:1 -c copy -metadata title=Whole -metadata comment=Hm "
               "-metadata:s:0 language=fas -metadata:s:1 language=ger -metadata:s:2 language=lat -metadata:s:3 "
               "language=deu -metadata:s:0 title=Pictures -metadata:s:1 title=First -metadata:s:3 title=Last "
               "-disposition:3 dub named.mkv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    program_run(&outcome, "render named.mkv %s --size 64x64 --frames 10", cases[i][0]);
    const char *told = strstr(outcome.said, "named.mkv: left out: ");
    if (outcome.status || (*cases[i][1] ? !told || !strstr(told, cases[i][1]) : told != NULL))
      fail_msg("%s: status %d: %s", cases[i][0], outcome.status, outcome.said);
    if (*cases[i][2]) {
      char wanted[64], found[128];
      snprintf(wanted, sizeof wanted, "echo %s", cases[i][2]);
      snprintf(found, sizeof found, "ffprobe -v error -show_entries stream_tags=language -of csv=p=0 %s | xargs",
               cases[i][0]);
      expect_same(cases[i][0], wanted, found);
    }
  }
}

/* Of five marks of tracks each container keeps what FFmpeg's muxer can store, and a line names the rest. */
static void test_kept_marks(void **state) {
  (void)state;
  static const struct {
    const char *name, *told, *marks;
  } cases[] = {
      {"marks.mkv", "", "0,0,0,0,0,0,0 1,0,0,1,0,0,0 0,0,1,0,0,0,1 0,0,0,0,1,1,0"},
      {"marks.mp4", "left out: a track's mark such as dub or forced\n",
       "0,0,0,0,0,0,0 1,0,0,1,0,0,0 0,0,0,0,0,0,1 0,0,0,0,1,1,0"},
      {"marks.mov", "left out: 3 marks of tracks such as dub or forced\n",
       "0,0,0,0,0,0,0 1,0,0,0,0,0,0 0,0,0,0,0,0,0 0,0,0,0,0,0,0"},
      {"marks.webm", "left out: 3 marks of tracks such as dub or forced\n",
       "0,0,0,0,0,0,0 1,0,0,0,0,0,0 0,0,0,0,0,0,0 0,0,0,0,1,0,0"},
      {"marks.nut", "left out: 2 marks of tracks such as dub or forced\n",
       "0,0,0,0,0,0,0 1,0,0,1,0,0,0 0,0,1,0,0,0,0 0,0,0,0,0,0,0"},
      {"marks.ts", "left out: 3 marks of tracks such as dub or forced, the default track\n",
       "0,0,0,0,0,0,0 0,0,0,0,0,0,0 0,0,0,0,0,0,1 0,0,0,0,0,1,0"},
      {"marks.avi", "left out: 3 marks of tracks such as dub or forced, the default track\n",
       "0,0,0,0,0,0,0 0,0,0,0,0,0,0 0,0,0,0,0,0,0 0,0,0,0,0,0,0"},
  };
  shell(FFMPEG "-i plain.mkv -map 0:0 -map 0:1 -map 0:1 -map 0:1 -map 0:1 -c copy -disposition:a:0 0 "
               "-disposition:a:1 default+comment -disposition:a:2 original+visual_impaired "
               "-disposition:a:3 hearing_impaired+forced marked.mkv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    char wanted[128], found[256];
    program_run(&outcome, "render marked.mkv %s --size 64x64 --frames 10", cases[i].name);
    bool told = strstr(outcome.said, *cases[i].told ? cases[i].told : "left out") != NULL;
    if (outcome.status || told != (*cases[i].told != 0))
      fail_msg("%s: status %d: %s", cases[i].name, outcome.status, outcome.said);
    snprintf(wanted, sizeof wanted, "echo %s", cases[i].marks);
    snprintf(found, sizeof found,
             "ffprobe -v error -select_streams a -show_entries stream_disposition=default,dub,original,comment,forced,"
             "hearing_impaired,visual_impaired -of csv=p=0 %s | grep . | head -n 4 | xargs",
             cases[i].name);
    expect_same(cases[i].name, wanted, found);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_containers), cmocka_unit_test(test_part),          cmocka_unit_test(test_pipe),
      cmocka_unit_test(test_from_mp4),   cmocka_unit_test(test_damaged_words), cmocka_unit_test(test_lost_tags),
      cmocka_unit_test(test_kept_marks),
  };
  writes_table = argc == 4 && !strcmp(argv[2], "--write");
  if ((argc != 3 && !writes_table) || !clips_open())
    return 77;
  page = argv[argc - 1];
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, program_tiny_model, NULL);
  clips_close();
  return failed;
}
