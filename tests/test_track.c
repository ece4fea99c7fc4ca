/* Tests the levels of a source's own sound at the time of each of its pictures: through loops, changes of the source,
 * and while pictures stand still. The sound is a low tone in the second of three seconds, and a high one throughout in
 * another file. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <unistd.h>

#include <libavutil/log.h>

#include "app/source/source.h"
#include "app/source/track.h"
#include "tests/rigs/clips.h"
#include "unet/base/platform.h"

enum { PATIENCE_MS = 60000, FPS = 25, SECOND = 1000000000 };

struct rig {
  struct sound_tap *tap;
  struct track *track;
  struct source *source;
  uint64_t serial;
  int64_t now_ns;
  int lines;
};

static void count_line(void *opaque, enum log_level level, const char *text) {
  (void)level, (void)text;
  ((struct rig *)opaque)->lines++;
}

static struct source *open_source(struct rig *rig, const char *name, bool loop) {
  struct source *source;
  struct error err;
  const struct source_options options = {.live = true, .loop = loop, .tap = rig->tap};
  if (source_open(&source, name, &options, &err))
    fail_msg("%s", err.message);
  return source;
}

static void begin(struct rig *rig, struct log *log, const char *name, bool loop) {
  *rig = (struct rig){.now_ns = SECOND};
  *log = (struct log){count_line, rig};
  assert_int_equal(sound_tap_open(&rig->tap, NULL), 0);
  assert_int_equal(track_start(&rig->track, rig->tap, log, NULL), 0);
  rig->source = open_source(rig, name, loop);
}

static void end(struct rig *rig) {
  source_close(&rig->source);
  track_stop(&rig->track);
  assert_null(rig->track);
  sound_tap_close(&rig->tap);
  assert_int_equal(rig->lines, 0);
}

/* Returns the next picture, with the serial that a reader would give it. */
static struct frame next(struct rig *rig) {
  struct frame frame;
  assert_int_equal(source_read(rig->source, &frame, NULL), 1);
  frame_release(&frame);
  frame.serial = ++rig->serial;
  return frame;
}

static bool is_silent(const double values[SOUND_VALUES]) {
  for (int i = 0; i < SOUND_VALUES; i++)
    if (values[i] > 0.05)
      return false;
  return true;
}

static bool is_deep(const double values[SOUND_VALUES]) {
  return values[SOUND_LEVEL] > 0.7 && values[SOUND_BASS] > 0.7 && values[SOUND_TREBLE] < 0.3;
}

static bool is_high(const double values[SOUND_VALUES]) {
  return values[SOUND_LEVEL] > 0.7 && values[SOUND_TREBLE] > 0.7 && values[SOUND_BASS] < 0.3;
}

/* Waits until the levels fit, because the thread may still be analysing. */
static void expect(struct rig *rig, const struct frame *frame, bool (*is)(const double *)) {
  double values[SOUND_VALUES];
  track_get(rig->track, frame, rig->now_ns, values);
  for (int i = 0; i < PATIENCE_MS && !is(values); i++) {
    usleep(1000);
    track_get(rig->track, frame, rig->now_ns, values);
  }
  if (!is(values))
    fail_msg("at %g s: level %g, bass %g, treble %g, beat %g", (double)frame->pts / 1000, values[SOUND_LEVEL],
             values[SOUND_BASS], values[SOUND_TREBLE], values[SOUND_BEAT]);
}

/* Checks the levels at a picture; a tone is recognised with a short delay, and so is its end. */
static void expect_as_filmed(struct rig *rig, const struct frame *frame) {
  double at = (double)(frame->pts % 3000) / 1000;
  rig->now_ns += SECOND / FPS;
  if (at > 1.1 && at < 1.97)
    expect(rig, frame, is_deep);
  else if (at < 0.97 || at > 2.3)
    expect(rig, frame, is_silent);
}

static void levels_are_those_of_the_picture(void **state) {
  (void)state;
  struct rig rig;
  struct log log;
  struct frame frames[6 * FPS];
  begin(&rig, &log, clip("deep.mkv"), true);
  for (int i = 0; i < 6 * FPS; i++) {
    frames[i] = next(&rig);
    expect_as_filmed(&rig, &frames[i]);
  }
  /* The engine is behind: sound of later pictures was analysed already, but does not count yet. */
  for (int i = 6 * FPS - 10; i >= 0; i -= 3)
    expect_as_filmed(&rig, &frames[i]);
  track_get(rig.track, NULL, rig.now_ns, (double[SOUND_VALUES]){0});
  end(&rig);
}

/* The sound begins at 1 s, so the onset's time is that at which the picture of 1 s was shown. */
static void onsets_are_those_of_the_picture(void **state) {
  (void)state;
  struct rig rig;
  struct log log;
  int64_t at_ns, began_ns = 0;
  begin(&rig, &log, clip("deep.mkv"), false);
  for (int i = 0; i < 2 * FPS; i++) {
    struct frame frame = next(&rig);
    if (frame.pts >= 1000 && !began_ns)
      began_ns = rig.now_ns + SECOND / FPS;
    expect_as_filmed(&rig, &frame);
    if (!began_ns)
      assert_int_equal(track_get_onset(rig.track, &at_ns), 0);
  }
  assert_int_equal(track_get_onset(rig.track, &at_ns), 1);
  if (llabs(at_ns - began_ns) > SECOND / 30)
    fail_msg("an onset %.3f s after the picture of its time", (double)(at_ns - began_ns) * 1e-9);
  end(&rig);
}

static struct frame go_to(struct rig *rig, double seconds) {
  struct frame frame = next(rig);
  while ((double)frame.pts / 1000 < seconds)
    frame = next(rig);
  return frame;
}

static void what_stands_is_silent(void **state) {
  (void)state;
  struct rig rig;
  struct log log;
  begin(&rig, &log, clip("deep.mkv"), true);
  struct frame frame = go_to(&rig, 1.5);
  go_to(&rig, 2.8);
  expect(&rig, &frame, is_deep);
  rig.now_ns += SECOND / 2;
  expect(&rig, &frame, is_deep);
  rig.now_ns += 10LL * SECOND;
  track_halt(rig.track, rig.now_ns);
  expect(&rig, &frame, is_deep);
  rig.now_ns += 10LL * SECOND;
  expect(&rig, &frame, is_silent);
  end(&rig);
}

/* Changes the source as the program does: the next source is opened and has given its first picture while the old one
 * is shown. */
static void change(struct rig *rig, const char *name) {
  struct source *former = rig->source;
  rig->source = open_source(rig, name, false);
  assert_int_equal(source_read_ahead(rig->source, NULL), 0);
  source_close(&former);
}

static void sources_change(void **state) {
  (void)state;
  struct rig rig;
  struct log log;
  struct frame frame;
  bool present;
  char name[SOUND_NAME_MAX];
  begin(&rig, &log, clip("deep.mkv"), false);
  frame = go_to(&rig, 1.5);
  expect(&rig, &frame, is_deep);
  unsigned number = sound_tap_number(rig.tap, &present, NULL);
  assert_true(present);
  change(&rig, clip("high.mkv"));
  frame = go_to(&rig, 0.5);
  expect(&rig, &frame, is_high);
  assert_int_equal(sound_tap_number(rig.tap, &present, NULL), number + 1);
  static const char *const silent[] = {"silent.mkv", "pattern:64x64"};
  for (int i = 0; i < 2; i++) {
    change(&rig, i ? silent[i] : clip(silent[i]));
    frame = (next(&rig), next(&rig));
    expect(&rig, &frame, is_silent);
    assert_int_equal(sound_tap_number(rig.tap, &present, name), number + 2 + (unsigned)i);
    assert_false(present);
    assert_string_equal(name, i ? "pattern" : "silent.mkv"); /* the old source is still shown */
  }
  end(&rig);
}

/* A stream's sound counts when it arrives, whatever its time stamps are. */
static void streams_are_heard(void **state) {
  (void)state;
  struct rig rig;
  struct log log;
  shell("mkfifo pipe");
  shell("ffmpeg -nostdin -v error -y -i high.mkv -c:v mpeg4 -c:a copy -output_ts_offset 1000 -f mpegts - >pipe &");
  begin(&rig, &log, clip("pipe"), false);
  struct frame frame = go_to(&rig, 0.5);
  rig.now_ns = platform_now_ns();
  expect(&rig, &frame, is_high);
  end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_are_those_of_the_picture),
      cmocka_unit_test(onsets_are_those_of_the_picture),
      cmocka_unit_test(what_stands_is_silent),
      cmocka_unit_test(sources_change),
      cmocka_unit_test(streams_are_heard),
  };
  if (!clips_open())
    return 77;
  av_log_set_level(AV_LOG_QUIET);
  shell("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=s=64x64:r=25:d=3 -f lavfi -i "
        "\"aevalsrc='if(between(t,1,2),0.5*sin(503*t),0)':d=3:s=44100\" -c:v mpeg4 -c:a aac deep.mkv");
  shell("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=s=64x64:r=25:d=3 -f lavfi -i "
        "\"sine=f=6000:d=3:sample_rate=22050\" -c:v mpeg4 -c:a ac3 -ac 2 high.mkv");
  shell("ffmpeg -nostdin -v error -y -i deep.mkv -c copy -an silent.mkv");
  int failed = cmocka_run_group_tests_name("track", tests, NULL, NULL);
  clips_close();
  return failed;
}
