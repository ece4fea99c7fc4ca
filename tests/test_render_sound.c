/* Tests rendering of clips whose sound is hard to synchronise: clocks that start again, edit lists, several tracks. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { MOST = 256 };

static void expect_rising(const char *name, const double *times, int count) {
  for (int i = 1; i < count; i++)
    if (times[i] <= times[i - 1])
      fail_msg("%s: packet %d at %f, after one at %f", name, i, times[i], times[i - 1]);
}

/* Checks that pictures are one frame duration apart throughout, and that times of sound rise. `out` has `parts` equal
 * parts of 15 pictures. */
static void expect_joined(const char *in, const char *out, int parts) {
  enum { PICTURES = 15 };
  const double step = 1 / 25.0;
  double frames[MOST], sounds[MOST];
  int count = clip_times(out, CLIP_FRAMES, frames, MOST), sound_count = clip_times(out, CLIP_SOUND, sounds, MOST);
  if (count != parts * PICTURES)
    fail_msg("%s: %d pictures, not %d", in, count, parts * PICTURES);
  for (int i = 1; i < count; i++)
    if (fabs(frames[i] - frames[i - 1] - step) > 2e-3)
      fail_msg("%s: picture %d stands %f s after the one before it", in, i, frames[i] - frames[i - 1]);
  expect_rising(in, sounds, sound_count);
}

/* Checks that each sound packet, identified by its bytes, has the same distance from its part's pictures in every part,
 * up to a packet's length. */
static void expect_equal_parts(const char *in, const char *out, int parts, double length) {
  char *listed = (char *)shell_output(NULL,
                                      "ffmpeg -v error -i %s -map 0:a:0 -c copy -f framemd5 - | grep -v '^#' | "
                                      "awk -F, '{t[$6]=t[$6] \" \" $3} END {for (k in t) print t[k]}'",
                                      out);
  double tick = strstr(out, ".mkv") ? 1e-3 : 1 / 48000.0;
  int whole = 0;
  for (char *line = strtok(listed, "\n"); line; line = strtok(NULL, "\n")) {
    double times[MOST] = {0};
    int count = 0;
    for (char *at = line; *at && count < parts; count++)
      times[count] = (double)strtol(at, &at, 10) * tick;
    whole += count == parts;
    for (int i = 1; i < count && count == parts; i++)
      if (fabs(times[i] - times[0] - 0.6 * i) > length)
        fail_msg("%s: a packet at %f stands at %f in part %d", in, times[0], times[i], i);
  }
  if (whole < 15)
    fail_msg("%s: %d packets of sound are in all %d parts", in, whole, parts);
  free(listed);
}

/* Recordings one after the other whose times start again: pictures go on without a jump, and the sound with them. */
static void test_joins(void **state) {
  (void)state;
  static const struct {
    const char *in, *out;
    int parts;
  } cases[] = {{"joined.ts", "joined.mp4", 3},         {"forward.ts", "joined.mkv", 2},
               {"joined.m2ts", "joined.mkv", 3},       {"joined.vob", "joined.mkv", 3},
               {"forward.vob", "joined.mkv", 2},       {"overlap.ffconcat", "joined.mp4", 3},
               {"matroska.ffconcat", "joined.mkv", 3}, {"cut.m3u8", "joined.mkv", 3}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.6 -f lavfi -i anoisesrc=d=0.63:r=48000 -c:v libx264 -bf 2 -g 8 "
               "-c:a aac part.ts -c:v mpeg2video -bf 0 -g 8 -c:a ac3 -f vob part.vob");
  shell(FFMPEG "-i part.ts -c copy -output_ts_offset 3600 -muxdelay 0 late.ts -c copy -mpegts_m2ts_mode 1 part.m2ts "
               "-c copy part.mkv");
  shell(FFMPEG "-i part.vob -c copy -output_ts_offset 3600 -f vob late.vob");
  shell("cat part.ts part.ts part.ts >joined.ts; cat part.ts late.ts >forward.ts; cat part.m2ts part.m2ts part.m2ts "
        ">joined.m2ts; cat part.vob part.vob part.vob >joined.vob; cat part.vob late.vob >forward.vob");
  shell("printf 'ffconcat version 1.0\\nfile part.ts\\nduration 0.4\\nfile part.ts\\nduration 0.4\\nfile part.ts\\n' "
        ">overlap.ffconcat; sed 's/ts/mkv/' overlap.ffconcat >matroska.ffconcat");
  shell("printf '#EXTM3U\\n#EXT-X-TARGETDURATION:1\\n#EXTINF:0.6,\\npart.ts\\n"
        "#EXT-X-DISCONTINUITY\\n#EXTINF:0.6,\\npart.ts\\n#EXT-X-DISCONTINUITY\\n#EXTINF:0.6,\\npart.ts\\n"
        "#EXT-X-ENDLIST\\n' >cut.m3u8");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    program_run(&outcome, "render %s %s -y --size 64x64", cases[i].in, cases[i].out);
    if (outcome.status || strstr(outcome.said, "damaged"))
      fail_msg("%s: status %d, %s", cases[i].in, outcome.status, outcome.said);
    expect_joined(cases[i].in, cases[i].out, cases[i].parts);
    expect_equal_parts(cases[i].in, cases[i].out, cases[i].parts, 0.033);
  }
}

/* A list of files whose sound is longer than their pictures: overlapping sound is not reported as lost, and the
 * pictures keep their distances. */
static void test_list(void **state) {
  (void)state;
  double frames[MOST], sounds[MOST];
  shell("printf 'ffconcat version 1.0\\nfile part.ts\\nfile part.ts\\n' >list.ffconcat");
  program_expect(0, "30 frames", "render list.ffconcat list.mkv --size 64x64");
  assert_int_equal(clip_times("list.mkv", CLIP_FRAMES, frames, MOST), 30);
  int count = clip_times("list.mkv", CLIP_SOUND, sounds, MOST);
  assert_in_range(count, 52, 62);
  expect_rising("list.mkv", sounds, count);
}

/* A list of parts of files: nothing before an inpoint or after an outpoint, with the sound in step. */
static void test_list_of_parts(void **state) {
  (void)state;
  static const char *const inputs[] = {"mp4", "avi"};
  double frames[MOST], sounds[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1.6 -f lavfi -i sine=d=1.6 -c:v libx264 -bf 2 -g 25 -c:a aac "
               "parts.mp4 -c:v mpeg4 -g 25 -c:a mp2 parts.avi");
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    shell("printf 'ffconcat version 1.0\nfile parts.%s\ninpoint 0.4\noutpoint 0.8\nfile parts.%s\ninpoint 1.2\n' "
          ">parts.ffconcat",
          inputs[i], inputs[i]);
    program_expect(0, "20 frames", "render parts.ffconcat parts.mkv -y --size 64x64");
    assert_int_equal(clip_times("parts.mkv", CLIP_FRAMES, frames, MOST), 20);
    for (int j = 0; j < 20; j++)
      assert_true(fabs(frames[j] - frames[0] - 0.04 * j) < 2e-3);
    int count = clip_times("parts.mkv", CLIP_SOUND, sounds, MOST);
    expect_rising("parts.mkv", sounds, count);
    assert_in_range(count, 29, 42);
    assert_true(fabs(sounds[0] - frames[0]) < 0.03);
    /* The output begins with the first part, even if FFmpeg's reader delivers frames before the inpoint. */
    shell("echo 'outpoint 1.6' >>parts.ffconcat");
    program_expect(0, "15 frames", "render parts.ffconcat parts.mkv -y --size 64x64 --start 0.2");
    assert_true(clip_times("parts.mkv", CLIP_FRAMES, frames, MOST) == 15 && frames[0] < 0.01);
    assert_true(clip_times("parts.mkv", CLIP_SOUND, sounds, MOST) > 0 && sounds[0] < 0.03);
  }
  /* Without an outpoint a file's length is only estimated, and nothing is cut off. */
  shell(FFMPEG "-i parts.mp4 -an -c:v mpeg1video raw.m1v && printf 'ffconcat version 1.0\nfile raw.m1v\ninpoint "
               "0.4\noutpoint 0.8\nfile raw.m1v\n' >raw.ffconcat");
  program_expect(0, "50 frames", "render raw.ffconcat raw.mkv --size 64x64");
  /* FFmpeg's reader cannot seek in these two files, because only their first frame is a key frame. */
  shell(FFMPEG "-i parts.mp4 -c:v libx264 -g 250 -c:a copy long.mp4 -c:v libx264 -g 250 -an long.h264 && "
               "printf 'ffconcat version 1.0\nfile long.mp4\nfile long.mp4\n' >long.ffconcat");
  program_expect(0, "70 frames", "render long.ffconcat long.mkv --size 64x64 --start 0.4");
  assert_true(clip_times("long.mkv", CLIP_FRAMES, frames, MOST) == 70 && frames[0] < 0.05);
  assert_true(clip_times("long.mkv", CLIP_SOUND, sounds, MOST) > 0 && sounds[0] < 0.03);
  program_expect(0, "30 frames", "render long.h264 long.mp4 -y --size 64x64 --start 0.4");
}

/* Sound whose times go back while those of the pictures do not is left out with a message; all pictures are there. */
static void test_sound_that_steps_back(void **state) {
  (void)state;
  struct outcome outcome;
  double sounds[MOST];
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=25:d=1 -f lavfi -i sine=d=1 -c:v libx264 -c:a mp2 whole.nut && " FFMPEG
        "-copyts -i whole.nut -c copy -bsf:a \"setts=ts='if(gt(N\\,20)\\,TS-14112\\,TS)'\" -f mpegts back.ts || :");
  program_run(&outcome, "render back.ts back.mkv --size 64x64");
  assert_int_equal(outcome.status, 3);
  assert_non_null(strstr(outcome.said, "left out, since the times in the input step back there"));
  assert_int_equal(clip_count_frames("back.mkv"), 25);
  expect_rising("back.mkv", sounds, clip_times("back.mkv", CLIP_SOUND, sounds, MOST));
}

/* A recording whose second part has another sound codec: all pictures are there, and the message is about the sound. */
static void test_other_codec(void **state) {
  (void)state;
  shell(FFMPEG "-i part.ts -c:v copy -c:a mp2 other.ts && cat part.ts other.ts >codecs.ts");
  static const char *const outputs[] = {"codecs.mp4", "codecs.mkv"};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    program_run(&outcome, "render codecs.ts %s --size 64x64", outputs[i]);
    if (outcome.status != 3 || !strstr(outcome.said, "of another codec than the track began with"))
      fail_msg("%s: status %d, %s", outputs[i], outcome.status, outcome.said);
    assert_int_equal(clip_count_frames(outputs[i]), 30);
  }
}

/* An edit list of two parts: sections that it leaves out are neither shown nor heard. */
static void test_edit_list(void **state) {
  (void)state;
  static const char *const outputs[] = {"edited.mp4", "edited.mkv"};
  double frames[MOST], sounds[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1.6 -f lavfi -i anoisesrc=d=1.6:r=48000 -c:v libx264 -g 10 -bf 0 "
               "-c:a aac plain.mp4 && python3 \"$REVERIE_TESTS/rigs/multi_edit.py\" plain.mp4 twice.mp4 0.48 0.96 1.4");
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    program_expect(0, "23 frames", "render twice.mp4 %s --size 64x64", outputs[i]);
    assert_int_equal(clip_times(outputs[i], CLIP_FRAMES, frames, MOST), 23);
    for (int j = 0; j < 23; j++)
      assert_true(fabs(frames[j] - j / 25.0) < 1e-3);
    int count = clip_times(outputs[i], CLIP_SOUND, sounds, MOST);
    assert_in_range(count, 43, 46);
    expect_rising(outputs[i], sounds, count);
    assert_true(sounds[0] > -0.022 && sounds[count - 1] < 0.92);
  }
}

/* One sound track of three, none, and a missing one are selected. The file's tags stay in each case. */
static void test_tracks(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 -f lavfi -i sine=d=0.2 -map 0 -map 1 -map 1 -map 1 -c:v ffv1 "
               "-c:a flac -ac:a:0 1 -ac:a:1 2 -ac:a:2 6 -metadata title=many many.mkv");
  program_expect(0, NULL, "render many.mkv one.mkv --size 64x64 --sound-track 2");
  assert_true(clip_sound("one.mkv").tracks == 1 && clip_sound("one.mkv").channels == 2);
  program_expect(0, NULL, "render many.mkv none.mkv --size 64x64 --no-sound");
  assert_int_equal(clip_sound("none.mkv").tracks, 0);
  expect_same("title", "echo many", "ffprobe -v error -show_entries format_tags=title -of csv=p=0 none.mkv");
  struct outcome outcome;
  program_run(&outcome, "render many.mkv one.flv --size 64x64");
  assert_true(!outcome.status && strstr(outcome.said, "flv has no place for another track: flac is left out"));
  program_expect(2, "--sound-track 4: many.mkv has 3 tracks of sound",
                 "render many.mkv no.mkv --size 64x64 --sound-track 4");
  program_expect(2, "leave one of them out", "render many.mkv no.mkv --size 64x64 --sound-track 1 --no-sound");
  shell("test ! -e no.mkv");
}

/* In a transport stream with several programmes, sound is taken from the programme of the pictures. */
static void test_programmes(void **state) {
  (void)state;
  struct outcome outcome;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -f lavfi -i testsrc2=s=32x32:r=25:d=0.4 -f lavfi -i sine=d=0.4 "
               "-map 0 -map 2 -map 1 -map 2 -c:v libx264 -c:a mp2 -ac:a:0 2 -ac:a:1 1 -program st=0:st=1 "
               "-program st=2:st=3 two.ts");
  program_run(&outcome, "render two.ts first.mkv --size 64x64");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "track 2 belongs to another programme"));
  assert_true(clip_sound("first.mkv").tracks == 1 && clip_sound("first.mkv").channels == 2);
  program_expect(0, NULL, "render two.ts other.mkv --size 64x64 --sound-track 2 -q");
  assert_true(clip_sound("other.mkv").tracks == 1 && clip_sound("other.mkv").channels == 1);
}

/* Sound that the container cannot hold is encoded again, with the same length, and losslessly if possible. */
static void test_encoded_again(void **state) {
  (void)state;
  static const struct {
    const char *in, *out, *codec, *length;
    int samples; /* number of decoded samples; 0: the codec does not say where its sound ends */
  } cases[] = {{"pcm.mov", "again.mp4", "aac", "0.50", 0},
               {"pcm.mov", "again.webm", "opus", NULL, 24000},
               {"pcm.mov", "again.ts", "aac", NULL, 0},
               {"disc.vob", "again.mkv", "pcm_s16le", NULL, 24000},
               {"disc.m2ts", "again.mkv", "pcm_s16le", NULL, 24000},
               {"disc.vob", "again.mov", "pcm_s16le", "0.50", 24000},
               {"late.mkv", "again.webm", "opus", NULL, 24000 + 9600},
               {"slow.mkv", "again.ogv", "vorbis", NULL, 0},
               {"fast.mkv", "again.ogv", "vorbis", NULL, 0}};
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=30:d=0.5 -f lavfi -i sine=d=0.5:r=48000 -c:v libx264 -c:a pcm_s16be "
        "pcm.mov -c:v libx264 -c:a pcm_bluray -ac 2 disc.m2ts -c:v mpeg2video -c:a pcm_dvd -ac 2 -f vob disc.vob");
  shell(FFMPEG "-i pcm.mov -itsoffset 0.2 -i pcm.mov -map 0:v -map 1:a -c copy late.mkv && " FFMPEG
               "-i pcm.mov -c:v copy -c:a pcm_s16le -ar 8000 slow.mkv -c:v copy -c:a pcm_s16le -ar 96000 fast.mkv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char command[512], wanted[64];
    struct outcome outcome;
    program_run(&outcome, "render %s %s -y --size 64x64", cases[i].in, cases[i].out);
    if (outcome.status || outcome.lines != 2 || !strstr(outcome.said, "and is encoded again, as "))
      fail_msg("%s to %s: status %d, %s", cases[i].in, cases[i].out, outcome.status, outcome.said);
    assert_string_equal(clip_sound(cases[i].out).codec, cases[i].codec);
    snprintf(
        command, sizeof command,
        "ffprobe -v error -select_streams a -show_entries stream=duration -of csv=p=0 %s | xargs printf '%%.2f\\n'",
        cases[i].out);
    snprintf(wanted, sizeof wanted, "echo %s", cases[i].length);
    if (cases[i].length)
      expect_same(cases[i].out, wanted, command);
    size_t size = 0;
    if (cases[i].samples)
      free(shell_output(&size, "ffmpeg -v error -i %s -map 0:a:0 -f s16le -ac 1 -", cases[i].out));
    if (size != 2 * (size_t)cases[i].samples)
      fail_msg("%s to %s: %zu samples, not %d", cases[i].in, cases[i].out, size / 2, cases[i].samples);
  }
}

/* Opus in Matroska begins before time 0, for which Matroska has a field: the first packet stays, and no time
 * changes. */
static void test_opus(void **state) {
  (void)state;
  double was[MOST], is[MOST], frames[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -f lavfi -i sine=d=0.4:r=48000 -c:v libx264 -bf 0 -c:a libopus "
               "opus.mkv");
  program_expect(0, NULL, "render opus.mkv opus2.mkv --size 64x64");
  int count = clip_times("opus.mkv", CLIP_SOUND, was, MOST);
  assert_int_equal(clip_times("opus2.mkv", CLIP_SOUND, is, MOST), count);
  assert_int_equal(clip_times("opus2.mkv", CLIP_FRAMES, frames, MOST), 10);
  double first[MOST];
  clip_times("opus.mkv", CLIP_FRAMES, first, MOST);
  for (int i = 0; i < count; i++)
    if (fabs(is[i] - was[i] - (frames[0] - first[0])) > 1.1e-3)
      fail_msg("packet %d at %f, not %f", i, is[i], was[i]);
}

/* Packets shorter than a tick of the container's clock have equal times, and none is lost. */
static void test_short_packets(void **state) {
  (void)state;
#define SOUND_OF(file) "ffmpeg -v error -i " file " -map 0:a -f md5 -"
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 -f lavfi -i anoisesrc=d=0.2:r=48000 -af asetnsamples=n=40 "
               "-c:v libx264 -c:a truehd -strict -2 -ac 2 short.mkv -c:v libx264 -c:a pcm_s16le pcm.mkv");
  program_expect(0, NULL, "render short.mkv short2.mkv --size 64x64");
  expect_same("TrueHD", SOUND_OF("short.mkv"), SOUND_OF("short2.mkv"));
  program_expect(0, NULL, "render pcm.mkv pcm2.mov --size 64x64");
  expect_same("PCM in MOV", SOUND_OF("pcm.mkv"), SOUND_OF("pcm2.mov"));
#undef SOUND_OF
}

/* The sound of a file, decoded to mono at 48 kHz. */
struct heard {
  int16_t *samples;
  size_t count;
};

static struct heard hear(const char *name) {
  size_t size = 0;
  uint8_t *bytes = shell_output(&size, "ffmpeg -v error -i %s -map 0:a:0 -f s16le -ac 1 -ar 48000 -", name);
  return (struct heard){(int16_t *)(void *)bytes, size / 2};
}

/* True if the sound is loud around this time. */
static bool is_loud(const struct heard *heard, double seconds) {
  enum { WINDOW = 960 };
  size_t first = (size_t)llrint(seconds * 48000) - WINDOW / 2;
  double power = 0;
  for (size_t i = first; i < first + WINDOW && i < heard->count; i++)
    power += fabs((double)heard->samples[i]) / WINDOW;
  return power > 500;
}

/* Sound that begins late, has a gap, or ends early stays in step with the pictures in containers without times for
 * sound, and all pictures are there. */
static void test_gaps(void **state) {
  (void)state;
  static const struct {
    const char *in, *out;
    bool loud[3]; /* whether the sound is loud at 0.2, 0.6 and 1.0 s */
    const char *line;
  } cases[] = {{"late.mkv", "gaps.avi", {false, true, true}, "is encoded again with silence, as mp2"},
               {"late.mkv", "gaps.mxf", {false, true, true}, "does not fit"},
               {"gap.mkv", "gaps.avi", {true, false, true}, NULL},
               {"gap.mkv", "gaps.mxf", {true, false, true}, NULL},
               {"gap.mp4", "gaps.avi", {true, false, true}, "is encoded again with silence, as aac"},
               {"early.mkv", "gaps.mxf", {true, false, false}, "does not fit"},
               {"whole.mkv", "gaps.avi", {true, true, true}, NULL}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1.2 -c:v libx264 picture.mkv && " FFMPEG
               "-f lavfi -i sine=r=48000:d=1.2 sine.wav -c:a mp2 sine.mp2");
  shell(FFMPEG "-i picture.mkv -itsoffset 0.4 -i sine.mp2 -c copy late.mkv");
  shell(FFMPEG "-i picture.mkv -i sine.mp2 -c copy whole.mkv");
  shell(FFMPEG "-i picture.mkv -i sine.wav -c:v copy -af \"aselect='lt(t,0.4)+gt(t,0.8)'\" -c:a pcm_s16le gap.mkv "
               "-c:v copy -af \"aselect='lt(t,0.4)+gt(t,0.8)'\" -c:a aac gap.mp4 -c:v copy -af atrim=end=0.4 -c:a "
               "pcm_s16le -ar 44100 early.mkv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    program_run(&outcome, "render %s %s -y --size 64x64", cases[i].in, cases[i].out);
    if (outcome.status || outcome.lines != 1 + !!cases[i].line ||
        (cases[i].line && !strstr(outcome.said, cases[i].line)))
      fail_msg("%s to %s: status %d, %s", cases[i].in, cases[i].out, outcome.status, outcome.said);
    assert_int_equal(clip_count_frames(cases[i].out), 30);
    struct heard heard = hear(cases[i].out);
    for (int j = 0; j < 3; j++)
      if (is_loud(&heard, 0.2 + 0.4 * j) != cases[i].loud[j])
        fail_msg("%s to %s: at %.1f s it is %s", cases[i].in, cases[i].out, 0.2 + 0.4 * j,
                 cases[i].loud[j] ? "silent" : "loud");
    free(heard.samples);
  }
}

/* Sound is copied if the container stores the rate, the channels and each packet's length, otherwise it is encoded
 * again. It is read back with the same length, pitch and channels, and is loud in its second half. */
static void test_told_right(void **state) {
  (void)state;
  static const struct {
    const char *in, *out, *sound; /* sound: codec, rate and channels in the output */
  } cases[] = {{"s16_8000_1", "flv", "aac,8000,1"},          {"mulaw_22050_2", "flv", "aac,22050,2"},
               {"mulaw_8000_1", "flv", "pcm_mulaw,8000,1"},  {"s16_22050_2", "flv", "pcm_s16le,22050,2"},
               {"s16_44100_6", "flv", "aac,44100,6"},        {"eac3_44100_2", "avi", "mp3,44100,2"},
               {"flac_44100_6", "avi", "pcm_s16le,44100,6"}, {"ima_44100_2", "avi", "adpcm_ima_wav,44100,2"},
               {"tiny_44100_2", "wmv", "pcm_s16le,44100,2"}, {"s16_8000_2", "mpg", "mp2,16000,2"},
               {"s16_44100_6", "mpg", "ac3,44100,6"},        {"aac_48000_2", "wtv", "ac3,48000,2"},
               {"aac_48000_2", "swf", "mp3,44100,2"}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1 -c:v libx264 -bf 0 seen.mkv && " FFMPEG "-f lavfi -i "
               "\"sine=f=700:d=1:r=44100,volume='8*gte(t,0.5)':eval=frame,asetnsamples=16:p=0\" heard.wav");
#define HEARD " -map 0 -map 1 -c:v copy -c:a "
  shell(FFMPEG "-i seen.mkv -i heard.wav -strict -2" HEARD "pcm_s16le -ar 8000 s16_8000_1.mkv" HEARD
               "pcm_s16le -ar 8000 -ac 2 s16_8000_2.mkv" HEARD "pcm_s16le -ar 22050 -ac 2 s16_22050_2.mkv" HEARD
               "pcm_mulaw -ar 8000 mulaw_8000_1.mkv" HEARD "pcm_mulaw -ar 22050 -ac 2 mulaw_22050_2.mkv" HEARD
               "pcm_s16le -ac 6 s16_44100_6.mkv" HEARD "eac3 -ac 2 eac3_44100_2.mkv" HEARD
               "flac -ac 6 flac_44100_6.mkv" HEARD "adpcm_ima_wav -ac 2 ima_44100_2.mkv" HEARD
               "aac -ar 48000 -ac 2 aac_48000_2.mkv" HEARD "pcm_s16le -ac 2 -af asetnsamples=16 tiny_44100_2.mkv");
#undef HEARD
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32], told[64];
    double times[MOST];
    snprintf(name, sizeof name, "told%zu.%s", i, cases[i].out);
    program_expect(0, NULL, "render %s.mkv %s --size 64x64 -q", cases[i].in, name);
    const struct clip_sound sound = clip_sound(name);
    snprintf(told, sizeof told, "%s,%d,%d", sound.codec, sound.rate, sound.channels);
    if (strcmp(told, cases[i].sound) != 0)
      fail_msg("%s: its sound is %s, not %s", name, told, cases[i].sound);
    struct heard heard = hear(name);
    if (is_loud(&heard, 0.4) || !is_loud(&heard, 0.6) || is_loud(&heard, 1.15))
      fail_msg("%s: the sound is not loud from 0.5 to 1 s", name);
    free(heard.samples);
    int count = clip_times(name, CLIP_SOUND, times, MOST);
    if (fabs(times[(count < MOST ? count : MOST) - 1] - times[0] - 0.95) > 0.13 && count <= MOST)
      fail_msg("%s: the last packet is at %f", name, times[count - 1]);
  }
}

/* Returns the time in seconds, from the first picture on, at which a clip's decoded sound begins: an edit list or
 * Opus's header hides sound before the pictures. */
static double begin_of_decoded(const char *name, double sound, double picture) {
  bool hidden = strstr(name, ".mp4") || strstr(name, ".mov") || strstr(name, ".webm");
  return hidden ? 0 : sound - picture;
}

/* Sound is heard from the first picture on, even if a cut removed packets that its decoder needs: the container hides
 * those, or begins with them, or the sound is PCM. Hidden sound can be found again. */
static void test_begins_with_the_pictures(void **state) {
  (void)state;
  static const struct {
    const char *in, *out, *options;
  } cases[] = {{"whole.mp4", "begin.mpg", ""}, /* MP2's encoder begins before time 0 */
               {"whole.mp4", "begin.mp4", "--start 0.48"},
               {"whole.mp4", "begin.ts", "--start 0.48"},
               {"whole.ts", "begin.mp4", "--start 0.48"},
               {"mp3.mkv", "mp3.mp4", "--range 12-23"},
               {"mp3.mp4", "again.mp4", ""},
               {"mp3.mkv", "begin.mkv", "--start 0.48"},
               {"mp3.mkv", "mp3.ts", "--start 0.48"},
               {"mp3.mkv", "mp3.flv", "--start 0.48"},
               {"mp3.mkv", "mp3.avi", "--start 0.48"},
               {"opus.mkv", "opus.webm", "--start 0.48"},
               {"opus.mkv", "opus.mp4", "--start 0.48"}};
#define WITH(sound, file) " -c:v libx264 -bf 0 -c:a " sound " " file
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1 -f lavfi -i sine=d=1:r=48000" WITH("aac", "whole.mp4")
            WITH("mp2", "whole.ts") WITH("libmp3lame", "mp3.mkv") WITH("libopus", "opus.mkv"));
#undef WITH
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double sounds[MOST], frames[MOST];
    program_expect(0, NULL, "render %s %s -y --size 64x64 -q %s", cases[i].in, cases[i].out, cases[i].options);
    assert_true(clip_times(cases[i].out, CLIP_SOUND, sounds, MOST) > 0);
    assert_true(clip_times(cases[i].out, CLIP_FRAMES, frames, MOST) > 0);
    if (sounds[0] > frames[0] + 1e-3 || sounds[0] < frames[0] - 0.15)
      fail_msg("%s to %s: sound from %f, pictures from %f", cases[i].in, cases[i].out, sounds[0], frames[0]);
    struct heard heard = hear(cases[i].out);
    if (!is_loud(&heard, 0.01 - begin_of_decoded(cases[i].out, sounds[0], frames[0])))
      fail_msg("%s to %s: silent at first", cases[i].in, cases[i].out);
    free(heard.samples);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_joins),         cmocka_unit_test(test_list),
      cmocka_unit_test(test_list_of_parts), cmocka_unit_test(test_sound_that_steps_back),
      cmocka_unit_test(test_other_codec),   cmocka_unit_test(test_edit_list),
      cmocka_unit_test(test_tracks),        cmocka_unit_test(test_programmes),
      cmocka_unit_test(test_encoded_again), cmocka_unit_test(test_opus),
      cmocka_unit_test(test_short_packets), cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_told_right),    cmocka_unit_test(test_begins_with_the_pictures),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
