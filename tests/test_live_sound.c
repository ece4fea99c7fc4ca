/* Tests the sound of a recording: it must be the sound of the pictures' positions in the source, at the times at which
 * they were shown, also with pauses and when the source starts again. The source has a click in the middle of each
 * second. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/log.h>

#include "app/sink/sink.h"
#include "app/source/sound_tap.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"

enum { SIDE = 16, FPS = 25, RATE = 8000, CLICKS_MAX = 32 };

static const double close_enough = 0.09; /* tolerance of a click's time, and length of a frame, in seconds */

static double speed = 1; /* how fast the source is played */

static void write_until(struct source *source, struct sink *sink, struct frame *frame, double *clock, double position) {
  static uint8_t black[SIDE * SIDE * 4];
  while ((double)frame->pts / 1000 < position - 1e-6) {
    assert_int_equal(source_read(source, frame, NULL), 1);
    struct frame shown = {.format = PIXEL_RGBA,
                          .width = SIDE,
                          .height = SIDE,
                          .plane = {black},
                          .pitch = {SIDE * 4},
                          .pts = llrint(*clock * 1e6)};
    sink_place_sound(sink, frame->pts, *clock);
    assert_int_equal(sink_write(sink, &shown, NULL), 0);
    *clock += 1.0 / FPS / speed;
    frame_release(frame);
  }
}

static int find_clicks(const char *name, double at[CLICKS_MAX]) {
  size_t size;
  int16_t *samples = (int16_t *)(void *)shell_output(
      &size, "ffmpeg -nostdin -v error -i %s -f s16le -ac 1 -ar %d -af aresample=async=1:first_pts=0 -", name, RATE);
  int clicks = 0;
  double last = -1;
  for (size_t i = 0; i < size / 2; i++)
    if (abs(samples[i]) > 4000) {
      double time = (double)i / RATE;
      if (time - last > 0.3 && clicks < CLICKS_MAX)
        at[clicks++] = time;
      last = time;
    }
  free(samples);
  return clicks;
}

/* Records a source of 3 s that starts again and again: 2 s are shown, then a pause of 1.5 s, then 3 s more. */
static void record(const char *name) {
  struct sound_tap *tap;
  struct source *source;
  struct sink *sink;
  struct error err = {0};
  struct frame frame = {.pts = -1};
  double clock = 0;
  assert_int_equal(sound_tap_open(&tap, &err), 0);
  const struct source_options source_options = {.live = true, .loop = true, .tap = tap};
  if (source_open(&source, clip("clicks.mkv"), &source_options, &err))
    fail_msg("%s", err.message);
  assert_true(sound_tap_has_sound(tap));
  sound_tap_set_speed(tap, speed);
  const struct sink_options options = {.format = PIXEL_RGBA,
                                       .width = SIDE,
                                       .height = SIDE,
                                       .time_base_num = 1,
                                       .time_base_den = 1000000,
                                       .fps = FPS,
                                       .quality = -1,
                                       .realtime = true,
                                       .sound_options = &source_options,
                                       .tap = tap};
  if (sink_open(&sink, clip(name), &options, &err))
    fail_msg("%s", err.message);
  write_until(source, sink, &frame, &clock, 1.96);
  clock += 1.5;
  write_until(source, sink, &frame, &clock, 4.96);
  assert_int_equal(sink_finish(sink, true, &err), 0);
  sink_close(&sink);
  source_close(&source);
  sound_tap_close(&tap);
}

static void test_sound_is_in_step(void **state) {
  (void)state;
  static const char *const names[] = {"step.mp4", "step.mkv"};
  /* the clicks at 2.5, 3.5 and 4.5 s of the source come 1.5 s later */
  static const double wanted[] = {0.5, 1.5, 4, 5, 6};
  for (int f = 0; f < 2; f++) {
    double at[CLICKS_MAX];
    record(names[f]);
    int clicks = find_clicks(names[f], at);
    if (clicks != 5)
      fail_msg("%s: %d clicks, the first at %g %g %g %g", names[f], clicks, at[0], at[1], at[2], at[3]);
    for (int i = 0; i < 5; i++)
      if (fabs(at[i] - wanted[i]) > close_enough)
        fail_msg("%s: click %d is at %g s, not at %g", names[f], i + 1, at[i], wanted[i]);
    assert_in_range(clip_count_frames(names[f]), 123, 125);
  }
}

/* The sound of a source that is played faster or slower is shorter or longer, and in step with the pictures. */
static void test_sound_at_another_speed(void **state) {
  (void)state;
  static const double speeds[] = {2, 0.5};
  for (int s = 0; s < 2; s++) {
    double at[CLICKS_MAX];
    speed = speeds[s];
    record("speed.mkv");
    double wanted[] = {0.5 / speed, 1.5 / speed, 2.5 / speed + 1.5, 3.5 / speed + 1.5, 4.5 / speed + 1.5};
    speed = 1;
    int clicks = find_clicks("speed.mkv", at);
    if (clicks != 5)
      fail_msg("speed %g: %d clicks, the first at %g %g %g %g", speeds[s], clicks, at[0], at[1], at[2], at[3]);
    for (int i = 0; i < 5; i++)
      if (fabs(at[i] - wanted[i]) > close_enough / speeds[s])
        fail_msg("speed %g: click %d is at %g s, not at %g", speeds[s], i + 1, at[i], wanted[i]);
  }
}

/* Formats without sound, and sources without it, are recorded without sound. */
static void test_without_sound(void **state) {
  (void)state;
  struct sound_tap *tap;
  struct source *source;
  assert_int_equal(sound_tap_open(&tap, NULL), 0);
  const struct source_options silent = {.live = true, .tap = tap};
  assert_int_equal(source_open(&source, clip("silent.mkv"), &silent, NULL), 0);
  assert_false(sound_tap_has_sound(tap));
  source_close(&source);
  sound_tap_close(&tap);
  record("step.y4m");
  assert_true(clip_count_frames("step.y4m") > 0);
}

/* Returns the number of packets; *last becomes the position of the last one in seconds. */
static int take_sound(struct sound_tap *tap, double *last) {
  struct sound_cursor cursor = {0};
  AVPacket *packet = av_packet_alloc();
  int count = 0;
  assert_non_null(packet);
  for (double position; sound_tap_take(tap, &cursor, 1e9, packet, &position); count++) {
    av_packet_unref(packet);
    *last = position;
  }
  av_packet_free(&packet);
  return count;
}

/* A stream's sound has the positions of its pictures, whatever its clock says. */
static void test_sound_of_a_stream(void **state) {
  (void)state;
  struct sound_tap *tap;
  struct source *source;
  struct source_info info;
  struct frame frame;
  struct error err;
  double sound = -1, pictures = -1;
  shell("ffmpeg -nostdin -v error -y -i clicks.mkv -c:v mpeg4 -c:a copy -output_ts_offset 1000 late.ts");
  shell("mkfifo pipe");
  shell("cat late.ts >pipe &");
  assert_int_equal(sound_tap_open(&tap, NULL), 0);
  const struct source_options options = {.live = true, .tap = tap};
  if (source_open(&source, clip("pipe"), &options, &err))
    fail_msg("%s", err.message);
  assert_true(sound_tap_has_sound(tap));
  source_get_info(source, &info);
  while (source_read(source, &frame, NULL) == 1) {
    pictures = (double)frame.pts * source_tick(&info);
    frame_release(&frame);
  }
  assert_in_range(take_sound(tap, &sound), 100, 132); /* three seconds of AAC have 130 packets; some may be missing */
  if (fabs(sound - pictures) > 0.1)
    fail_msg("pictures end at %g s, the sound at %g s", pictures, sound);
  source_close(&source);
  sound_tap_close(&tap);
}

/* A source that was opened ahead does not take the tap (the buffer of recorded sound) from the source that is shown; it
 * gets the tap with its second frame. */
static void test_the_sound_of_what_is_shown(void **state) {
  (void)state;
  struct sound_tap *tap;
  struct source *shown, *next;
  struct frame frame;
  assert_int_equal(sound_tap_open(&tap, NULL), 0);
  const struct source_options options = {.live = true, .tap = tap};
  assert_int_equal(source_open(&shown, clip("clicks.mkv"), &options, NULL), 0);
  assert_int_equal(source_open(&next, clip("silent.mkv"), &options, NULL), 0);
  assert_int_equal(source_read(next, &frame, NULL), 1);
  frame_release(&frame);
  assert_true(sound_tap_has_sound(tap));
  assert_int_equal(source_read(next, &frame, NULL), 1);
  frame_release(&frame);
  assert_false(sound_tap_has_sound(tap));
  source_close(&shown);
  source_close(&next);
  sound_tap_close(&tap);
}

/* A simulated microphone with a clock of its own. */
struct microphone {
  struct sound_tap *tap;
  int rate;
  double next; /* time of the machine's clock, in seconds, at which its next packet begins */
  int64_t samples;
};

enum { LATENCY_MS = 60, UNPLUGGED_S = 20, PLUGGED_S = 22, GONE_S = 29, SHOWN_S = 30, BEGUN_S = 1000 };
static const double too_fast = 1.003;

static void plug_in(struct microphone *microphone, int rate, double now) {
  AVCodecParameters *codec = avcodec_parameters_alloc();
  assert_non_null(codec);
  codec->codec_type = AVMEDIA_TYPE_AUDIO;
  codec->codec_id = AV_CODEC_ID_PCM_S16LE;
  codec->sample_rate = rate;
  av_channel_layout_default(&codec->ch_layout, 1);
  microphone->rate = rate;
  microphone->next = now;
  sound_tap_leave(microphone->tap, microphone);
  sound_tap_begin(microphone->tap, &(struct sound_origin){microphone, "microphone", codec, {1, rate}, 1e-9}, true);
  avcodec_parameters_free(&codec);
}

/* Delivers what the microphone has recorded until `now`: a click in the middle of each second. */
static void hear_until(struct microphone *microphone, double now) {
  int count = microphone->rate / 50;
  double lasts = (double)count / microphone->rate / too_fast;
  for (; microphone->next + lasts <= now; microphone->next += lasts) {
    AVPacket *packet = av_packet_alloc();
    assert_int_equal(av_new_packet(packet, count * 2), 0);
    for (int i = 0; i < count; i++) {
      double off = fmod(microphone->next + lasts * i / count, 1) - 0.5;
      int16_t value = (int16_t)(fabs(off) < 0.01 ? 12000 * sin(6283 * off) : 0);
      memcpy(packet->data + 2 * (ptrdiff_t)i, &value, 2);
    }
    packet->pts = microphone->samples;
    microphone->samples += count;
    sound_tap_put(microphone->tap, microphone, packet, microphone->next - (double)packet->pts / microphone->rate);
    av_packet_free(&packet);
  }
}

static void record_microphone(const char *name) {
  static uint8_t black[SIDE * SIDE * 4];
  struct microphone microphone = {0};
  struct sink *sink;
  struct error err;
  assert_int_equal(sound_tap_open(&microphone.tap, NULL), 0);
  const struct source_options no_source = {0};
  const struct sink_options options = {.format = PIXEL_RGBA,
                                       .width = SIDE,
                                       .height = SIDE,
                                       .time_base_num = 1,
                                       .time_base_den = 1000000,
                                       .fps = FPS,
                                       .quality = -1,
                                       .realtime = true,
                                       .sound_options = &no_source,
                                       .tap = microphone.tap,
                                       .tap_by_clock = true};
  if (sink_open(&sink, clip(name), &options, &err))
    fail_msg("%s", err.message);
  plug_in(&microphone, 48000, BEGUN_S - 1);
  for (int i = 0; i < SHOWN_S * FPS; i++) {
    double time = (double)i / FPS, now = BEGUN_S + time;
    struct frame shown = {
        .format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {black}, .pitch = {SIDE * 4}, .pts = i * 40000};
    if (i == PLUGGED_S * FPS)
      plug_in(&microphone, 44100, now);
    if (i < UNPLUGGED_S * FPS || (i >= PLUGGED_S * FPS && i < GONE_S * FPS))
      hear_until(&microphone, now);
    sink_place_sound(sink, llrint((now - LATENCY_MS / 1000.0) * 1e9), time);
    assert_int_equal(sink_write(sink, &shown, NULL), 0);
  }
  assert_int_equal(sink_finish(sink, true, &err), 0);
  sink_close(&sink);
  sound_tap_close(&microphone.tap);
}

/* A microphone's sound goes with the pictures that were captured at the same time, although its clock is wrong and it
 * is unplugged at times; the gaps are silent. */
static void test_a_microphone(void **state) {
  (void)state;
  double at[CLICKS_MAX];
  record_microphone("microphone.mkv");
  int clicks = find_clicks("microphone.mkv", at), next = 0;
  for (int second = 0; second < GONE_S; second++) {
    double wanted = second + 0.5 + LATENCY_MS / 1000.0;
    if (second >= UNPLUGGED_S && second < PLUGGED_S)
      continue;
    if (next == clicks || fabs(at[next] - wanted) > 1.0 / FPS)
      fail_msg("click %d is at %g s, not at %g", next + 1, at[next], wanted);
    next++;
  }
  assert_int_equal(clicks, next);
  char *length = (char *)shell_output(NULL, "ffprobe -v error -select_streams a -show_entries packet=pts_time -of "
                                            "csv=p=0 microphone.mkv | tail -n 1");
  if (fabs(atof(length) - SHOWN_S) > 0.1)
    fail_msg("the sound ends at %s s", length);
  free(length);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sound_is_in_step),  cmocka_unit_test(test_without_sound),
      cmocka_unit_test(test_sound_of_a_stream), cmocka_unit_test(test_the_sound_of_what_is_shown),
      cmocka_unit_test(test_a_microphone),      cmocka_unit_test(test_sound_at_another_speed),
  };
  if (!clips_open())
    return 77;
  av_log_set_level(AV_LOG_QUIET);
  shell("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=s=64x64:r=25:d=3 -f lavfi -i "
        "\"aevalsrc='if(lt(abs(mod(t,1)-0.5),0.01),sin(6283*t),0)':d=3:s=44100\" -c:v mpeg4 -c:a aac clicks.mkv");
  shell("ffmpeg -nostdin -v error -y -i clicks.mkv -c copy -an silent.mkv");
  int failed = cmocka_run_group_tests_name("live sound", tests, NULL, NULL);
  clips_close();
  return failed;
}
