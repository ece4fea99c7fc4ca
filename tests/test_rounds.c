/* Tests clips that start again: each round gives the pictures of the first one with the same bits, in order, and one
 * frame duration after the round before, for every codec, container and decoder delay.
 *
 *   test_rounds [RUNS [SEED]]     number of random choices for each clip */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/log.h>

#include "app/source/sound_tap.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/fake_hardware.h"
#include "tests/rigs/hash_samples.h"
#include "tests/rigs/next_frame.h"
#include "unet/base/platform.h"

enum { PICTURES_MOST = 400, ROUNDS = 4, RATE = 25, LONGEST = 25 };

static uint64_t seed;
static int runs = 1;

static int below(int count) {
  seed = seed * 6364136223846793005 + 1442695040888963407;
  return (int)((seed >> 33) % (uint64_t)count);
}

/* --- clips --- */

/* In `make`, $T is the duration in seconds, $B the number of B-frames, $G the distance of key frames, $O 0 or 1 for
 * open groups of pictures. */
static const struct kind {
  const char *name, *make;
  enum { PARTS, LATE } times; /* LATE: times do not begin at 0, or there are none, so parts are not tested */
} kinds[] = {
    {"plain.mp4", "-c:v libx264 -preset veryfast -bf $B -g $G -x264-params open-gop=$O"},
    {"pyramid.mkv", "-c:v libx264 -preset veryfast -bf 4 -b-pyramid normal -refs 5 -g $G -x264-params open-gop=$O"},
    {"stream.ts", "-c:v libx264 -preset veryfast -bf $B -g $G"},
    {"fields.mp4", "-c:v libx264 -preset veryfast -bf $B -g $G -flags +ildct+ilme -x264-params tff=1"},
    {"intra.mp4", "-c:v libx264 -preset ultrafast -g 1"},
    {"sliced.mp4", "-c:v libx264 -preset veryfast -bf $B -g $G -x264-params slices=3"},
    {"late.mkv", "-output_ts_offset 10 -c:v libx264 -preset veryfast -bf $B -g $G", LATE},
    {"old.avi", "-c:v libx264 -preset veryfast -bf $B -g $G", LATE},
    {"bare.h264", "-c:v libx264 -preset veryfast -bf $B -g $G", LATE},
    {"hevc.mp4", "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:bframes=$B:keyint=$G:open-gop=$O"},
    {"hevc.mkv", "-c:v libx265 -preset veryfast -x265-params log-level=none:pools=1:bframes=4:keyint=$G:open-gop=$O"},
    {"hevc.ts", "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:bframes=$B:keyint=$G"},
    {"deep.mp4", "-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:bframes=$B"},
    {"hidden.webm", "-c:v libvpx-vp9 -b:v 200k -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 20 -g $G"},
    {"vp9.mp4", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g $G"},
    {"vp8.webm", "-c:v libvpx -b:v 200k -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 16 -g $G"},
    {"av1.mkv", "-c:v libaom-av1 -b:v 200k -cpu-used 8 -lag-in-frames 20 -g $G"},
    {"mpeg4.avi", "-c:v mpeg4 -bf $B -g $G", LATE},
    {"mpeg4.mp4", "-c:v mpeg4 -bf $B -g $G"},
    {"mpeg2.ts", "-c:v mpeg2video -bf $B -g $G"},
    {"mpeg2.mpg", "-c:v mpeg2video -bf $B -g $G"},
    {"mjpeg.avi", "-pix_fmt yuvj420p -c:v mjpeg -q:v 4"},
    {"prores.mov", "-c:v prores"},
    {"ffv1.mkv", "-c:v ffv1 -g $G"},
    {"huffyuv.avi", "-pix_fmt yuv422p -c:v huffyuv"},
    {"turning.gif", ""},
    {"sound.mp4", "-f lavfi -i sine=d=$T -c:a aac -c:v libx264 -preset veryfast -bf $B -g $G"},
    {"one.mp4", "-frames:v 1 -c:v libx264"},
    {"two.mkv", "-frames:v 2 -c:v libx264 -bf 2"},
    {"one.png", "-frames:v 1"},
};

static void choose(char letter, int pictures, char *text, size_t size) {
  if (letter == 'T')
    snprintf(text, size, "%f", (double)pictures / RATE);
  else
    snprintf(text, size, "%d", letter == 'B' ? below(4) : letter == 'O' ? below(2) : 1 + below(20));
}

static void fill_in(const char *make, int pictures, char *text, size_t size) {
  size_t used = 0;
  *text = 0;
  for (; *make && used + 32 < size; make++) {
    char part[32] = {*make, 0};
    if (*make == '$')
      choose(*++make, pictures, part, sizeof part);
    used += (size_t)snprintf(text + used, size - used, "%s", part);
  }
}

static void make_clip(const struct kind *kind, char *how, size_t size) {
  int pictures = 2 + below(LONGEST - 1);
  fill_in(kind->make, pictures, how, size);
  shell(FFMPEG "-f lavfi -i testsrc2=s=%dx96:r=%d:d=%f,noise=alls=20:all_seed=%d,format=yuv420p %s -bitexact %s",
        64 + 16 * below(5), RATE, (double)pictures / RATE, below(1000), how, kind->name);
}

/* --- rounds --- */

struct given {
  int count;
  uint64_t hash[PICTURES_MOST];
  int64_t pts[PICTURES_MOST];
  uint64_t stretch[PICTURES_MOST];
};

/* Reads at most this many pictures. */
static void play(const char *name, const struct source_options *options, int most, struct given *given) {
  struct source *source;
  struct frame frame = {0};
  struct error err = {0};
  int got = 1;
  given->count = 0;
  if (source_open(&source, clip(name), options, &err))
    fail_msg("%s: %s", name, err.message);
  while (given->count < most && (got = next_frame(source, &frame, &err)) > 0) {
    if (frame_wait(&frame, MEMORY_HOST, &err))
      fail_msg("%s", err.message);
    given->hash[given->count] = hash_samples(&frame);
    given->stretch[given->count] = frame.stretch;
    given->pts[given->count++] = frame.pts;
  }
  if (got < 0)
    fail_msg("%s: %s", name, err.message);
  frame_release(&frame);
  source_close(&source);
}

static struct given once, rounds;
static int different; /* number of failures so far; each is printed */

static int64_t step_to(int i) {
  return rounds.pts[i] - rounds.pts[i - 1];
}

/* Finds a difference: in each round pictures and time differences must be those of the first round, and each round must
 * be a stretch of its own. */
static int find_difference(int count) {
  for (int i = 0; i < rounds.count; i++) {
    bool same_step = i <= count || step_to(i) == step_to(i - count);
    if (rounds.hash[i] != once.hash[i % count] || !same_step || (i && step_to(i) <= 0) ||
        rounds.stretch[i] != (uint64_t)(i / count))
      return i;
  }
  return -1;
}

static void compare(const char *name, const char *how, const struct source_options *options) {
  struct source_options looping = *options;
  looping.loop = true;
  play(name, options, PICTURES_MOST / ROUNDS, &once);
  assert_true(once.count > 0);
  play(name, &looping, ROUNDS * once.count, &rounds);
  assert_int_equal(rounds.count, ROUNDS * once.count);
  int i = find_difference(once.count);
  if (i < 0)
    return;
  different++;
  print_error("%s (%s)%s, --start %g, --duration %g: picture %d of %d in round %d is another, or at another time\n",
              name, how, options->live ? " live" : "", options->start, options->duration, i % once.count, once.count,
              i / once.count);
}

static double some_time(int pictures) {
  return (double)below(pictures) / RATE;
}

/* Compares the whole clip, live and for render, and parts of it in one of these ways. */
static void compare_ways(const struct kind *kind, const char *how) {
  for (int live = 0; live < 2; live++)
    compare(kind->name, how, &(struct source_options){.live = live});
  int pictures = once.count;
  for (int part = 1; part < (kind->times == LATE ? 1 : 4); part++) {
    struct source_options options = {.live = below(2)};
    if (part & 1)
      options.start = some_time(pictures / 2 + 1);
    if (part & 2)
      options.duration = 1.0 / RATE + some_time(pictures);
    compare(kind->name, how, &options);
  }
}

/* Checks each round's sound: packets in step with its pictures. */
static void hear_rounds(const struct source_options *options, int count, double length, int *heard) {
  struct source *source;
  struct sound_cursor cursor = {0};
  struct frame frame = {0};
  struct error err;
  AVPacket *packet = av_packet_alloc();
  assert_int_equal(source_open(&source, clip("beside.mov"), options, &err), 0);
  for (int i = 0; i < ROUNDS * count; i++) {
    double position;
    assert_int_equal(next_frame(source, &frame, &err), 1);
    while (sound_tap_take(options->tap, &cursor, INFINITY, packet, &position)) {
      double round = (position - (double)packet->pts / 44100) / length;
      assert_true(fabs(round - rint(round)) < 1e-3 && round < ROUNDS + 0.5);
      heard[lrint(round)]++;
      av_packet_unref(packet);
    }
  }
  av_packet_free(&packet);
  frame_release(&frame);
  source_close(&source);
}

/* Sound is in step with the pictures of its round, although it is read before the round before has ended. */
static void test_sound(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=1.6,format=yuv420p -f lavfi -i sine=d=1.6 -c:a pcm_s16le -c:v "
               "libx264 -bf 3 beside.mov");
  for (int way = 0; way < 4; way++) {
    struct source_options options = {.loop = true, .live = way & 1, .duration = way & 2 ? 1 : 0};
    struct error err;
    int heard[ROUNDS + 1] = {0};
    assert_int_equal(sound_tap_open(&options.tap, &err), 0);
    hear_rounds(&options, way & 2 ? 25 : 40, way & 2 ? 1 : 1.6, heard);
    for (int i = 0; i < ROUNDS; i++)
      assert_in_range(heard[i], way & 2 ? 38 : 60, 69);
    sound_tap_close(&options.tap);
  }
}

static void test_kinds(void **state) {
  (void)state;
  char how[512];
  for (int run = 0; run < runs; run++)
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
      make_clip(&kinds[i], how, sizeof how);
      compare_ways(&kinds[i], how);
    }
  assert_int_equal(different, 0);
}

/* In live, where decoders keep back as few pictures as possible, pictures come in the order of display. */
static void test_order(void **state) {
  (void)state;
  static const char *const names[] = {"mpeg4.avi", "mpeg4.mp4", "mpeg2.ts", "mpeg2.mpg", "h264.mp4"};
  static const char *const codecs[] = {"mpeg4", "mpeg4", "mpeg2video", "mpeg2video", "libx264"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    shell(FFMPEG "-f lavfi -i testsrc2=s=64x96:r=25:d=0.8,format=yuv420p -c:v %s -bf 2 -g 9 %s", codecs[i], names[i]);
    play(names[i], &(struct source_options){.live = false}, PICTURES_MOST, &once);
    play(names[i], &(struct source_options){.live = true}, PICTURES_MOST, &rounds);
    assert_true(once.count == 20 && rounds.count == 20);
    for (int j = 0; j < 20; j++)
      if (rounds.hash[j] != once.hash[j] || (j && step_to(j) != step_to(1)))
        fail_msg("%s: picture %d is another live, or at another time", names[i], j);
  }
}

/* The first picture is that of the start time, wherever key frames are and in whatever order pictures are decoded. */
static void test_starts(void **state) {
  (void)state;
  static const char *const ways[] = {
      "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:bframes=2:keyint=3:open-gop=1 starts.mp4",
      "-c:v libx264 -bf 3 -g 5 -x264-params open-gop=1:scenecut=0 starts.mp4",
      "-c:v libx264 -bf 3 -g 4 -x264-params open-gop=1:scenecut=0 starts.mkv", "-c:v mpeg4 -bf 2 -g 6 starts.mp4"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const char *name = strstr(ways[i], "starts.");
    shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=0.8,format=yuv420p %s", ways[i]);
    play(name, &(struct source_options){.live = false}, PICTURES_MOST, &once);
    assert_int_equal(once.count, 20);
    for (int j = 0; j < 32; j++) { /* after an open group of pictures FFmpeg 5.1 loses the last picture */
      play(name, &(struct source_options){.start = j / 2 / 25.0, .live = j % 2}, 1, &rounds);
      if (rounds.count != 1 || rounds.hash[0] != once.hash[j / 2])
        fail_msg("%s: it does not begin with picture %d%s", ways[i], j / 2, j % 2 ? " live" : "");
    }
  }
}

/* Clips whose beginning a decoder cannot continue with after the end (without a flush), and clips that only look like
 * those. */
static void test_beginnings(void **state) {
  (void)state;
  static const char *const names[] = {"cra.mkv",    "cra.mp4",     "recovery.mkv", "recovery.mp4",
                                      "edited.mp4", "headless.ts", "sizes.ts"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=2,format=yuv420p -c:v libx265 -preset ultrafast -x265-params "
               "log-level=none:pools=1:keyint=12:min-keyint=12:scenecut=0:bframes=3:open-gop=1 hevc.mp4");
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=2,format=yuv420p -c:v libx264 -g 12 -bf 3 -x264-params "
               "open-gop=1:scenecut=0 open.mp4");
  for (int i = 0; i < 4; i++)
    shell(FFMPEG "-ss 0.6 -i %s.mp4 -c copy %s", i < 2 ? "hevc" : "open", names[i]);
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=2,format=yuv420p -c:v libx264 -g 40 -bf 3 closed.mp4; " FFMPEG
               "-ss 0.2 -i closed.mp4 -c copy edited.mp4");
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=2,format=yuv420p -c:v libx264 -g 12 -bf 3 whole.ts; "
               "tail -c +7521 whole.ts > headless.ts");
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=0.6,format=yuv420p -c:v libx264 -bf 2 small.ts");
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x160:r=25:d=0.6,format=yuv420p -output_ts_offset 0.6 -c:v libx264 -bf 2 "
               "tall.ts; cat small.ts tall.ts > sizes.ts");
  for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++)
    compare(names[i / 2], "", &(struct source_options){.live = i % 2});
  assert_int_equal(different, 0);
}

/* Hardware is opened once, not in each round; if the decoder has to be flushed, once for each flush. */
static void test_hardware(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double start, duration;
    int asked;
  } clips[] = {{"closed.mp4", 0, 0, 1},       {"closed.mp4", 0.3, 0, 1}, {"closed.mp4", 0, 0.4, 1},
               {"closed.mp4", 0.2, 0.3, 1},   {"whole.ts", 0, 0, 1},     {"edited.mp4", 0, 0, 1},
               {"recovery.mp4", 0, 0, ROUNDS}};
  for (size_t i = 0; i < 2 * sizeof clips / sizeof *clips; i++) {
    const struct source_options options = {.live = i % 2,
                                           .start = clips[i / 2].start,
                                           .duration = clips[i / 2].duration,
                                           .hardware = &fake_hardware,
                                           .gpu = fake_gpu};
    compare(clips[i / 2].name, "", &options);
    hardware_state.asked = 0;
    struct source_options looping = options;
    looping.loop = true;
    play(clips[i / 2].name, &looping, ROUNDS * once.count, &rounds);
    if (hardware_state.asked != clips[i / 2].asked)
      fail_msg("%s: hardware was asked for %d times", clips[i / 2].name, hardware_state.asked);
  }
  assert_int_equal(different, 0);
}

int main(int count, char **args) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_beginnings), cmocka_unit_test(test_hardware),
                                     cmocka_unit_test(test_sound),      cmocka_unit_test(test_order),
                                     cmocka_unit_test(test_starts),     cmocka_unit_test(test_kinds)};
  av_log_set_level(AV_LOG_QUIET);
  if (count > 1)
    runs = atoi(args[1]);
  seed = count > 2 ? strtoull(args[2], NULL, 10) : (uint64_t)platform_now_ns();
  printf("seed %llu\n", (unsigned long long)seed);
  if (!clips_open())
    return 77;
  int status = fake_hardware_open() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
  fake_hardware_close();
  clips_close();
  return status;
}
