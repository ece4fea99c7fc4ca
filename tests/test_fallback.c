/* Tests the file that is shown while a camera is lost, and the mixer, which passes on the frames of the one or the
 * other. A fake source replaces the real ones: pictures of the camera are numbered from 0 on, those of the file from
 * 200. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/source/fallback.h"
#include "tests/rigs/fake_source.h"
#include "unet/base/platform.h"

enum { PATIENCE_MS = 60000, FIRST_SPARE = 200 };

static struct {
  struct mailbox frames;
  struct mixer *mixer;
  struct reader *reader;
  struct fallback *fallback;
  struct source_options options;
  double after_s;
  int got;             /* what mailbox_take returned last */
  struct frame newest; /* the last picture, of which only the numbers are still valid */
  int value;           /* value of the bytes of the last picture */
} rig;

static void begin(const struct fake_source_script *script) {
  struct source *source = NULL;
  struct error err;
  memset(&rig, 0, sizeof rig);
  rig.options.live = true;
  fake_source_begin(script);
  mailbox_init(&rig.frames);
  assert_int_equal(source_open(&source, "camera", &rig.options, &err), 0);
  assert_int_equal(mixer_open(&rig.mixer, &rig.frames, &rig.options.gpu, NULL, &err), 0);
  assert_int_equal(reader_start_mixed(&rig.reader, &source, "camera", &rig.options, false, rig.mixer, MIXER_LIST, &err),
                   0);
  assert_int_equal(fallback_open(&rig.fallback, "spare", &rig.options, rig.mixer, &err), 0);
}

static void end(void) {
  fallback_close(&rig.fallback);
  reader_stop(&rig.reader, NULL);
  mixer_close(&rig.mixer);
  mailbox_free(&rig.frames);
  assert_int_equal(fake_source_open_now(), 0);
}

/* Does one pass of the main loop. Checks that serial numbers rise whichever source gives the frames, and that a change
 * of the source begins another stretch. */
static void turn(void) {
  struct reader_status status;
  const struct mail *mail;
  reader_get_status(rig.reader, &status);
  fallback_turn(rig.fallback, &status, rig.after_s, platform_now_ns());
  rig.got = mailbox_take(&rig.frames, &mail, 5);
  if (rig.got != 1)
    return;
  int value = mail->frame.plane[0][0];
  bool other = (value >= FIRST_SPARE) != (rig.value >= FIRST_SPARE);
  assert_true(!rig.newest.stretch || mail->frame.serial > rig.newest.serial);
  assert_true(!rig.newest.stretch || !other || mail->frame.stretch > rig.newest.stretch);
  rig.newest = mail->frame;
  rig.value = value;
}

#define UNTIL(condition)                                                                                               \
  do {                                                                                                                 \
    int64_t until_ns = platform_now_ns() + PATIENCE_MS * INT64_C(1000000);                                             \
    do {                                                                                                               \
      turn();                                                                                                          \
      if (platform_now_ns() > until_ns)                                                                                \
        fail_msg("never came: %s", #condition);                                                                        \
    } while (!(condition));                                                                                            \
  } while (0)

/* The file is shown when the camera is lost, ends with the camera's first picture, and is shown again at the next
 * loss. */
static void test_camera_dies_twice(void **state) {
  (void)state;
  begin(&(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = 20});
  UNTIL(rig.got == 1 && rig.value < FIRST_SPARE);
  for (int i = 0; i < 2; i++) {
    fake_source_go();
    rig.after_s = 0;
    UNTIL(rig.got == 1 && rig.value >= FIRST_SPARE);
    assert_true(fallback_is_shown(rig.fallback));
    rig.after_s = 3600; /* from now on every loss is shorter than this, so the file is not shown */
    fake_source_come();
    UNTIL(rig.got == 1 && rig.value < FIRST_SPARE);
    UNTIL(!fallback_is_shown(rig.fallback));
    for (int count = 0; count < 40; count += rig.got == 1) {
      turn();
      assert_true(rig.value < FIRST_SPARE);
    }
  }
  end();
}

/* After a loss that is shorter than after_s the file is not shown. When the camera's reader ends, the mailbox is
 * closed, even while the file is shown. */
static void test_short_loss(void **state) {
  (void)state;
  begin(&(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = 20});
  rig.after_s = 3600;
  for (int count = 0; count < 60; count += rig.got == 1) {
    turn();
    assert_true(rig.value < FIRST_SPARE && !fallback_is_shown(rig.fallback));
  }
  fake_source_go();
  rig.after_s = 0;
  UNTIL(rig.got == 1 && rig.value >= FIRST_SPARE);
  reader_end(rig.reader);
  UNTIL(rig.got < 0);
  end();
}

static struct reader_status status_now(void) {
  struct reader_status status;
  reader_get_status(rig.reader, &status);
  reader_tend(rig.reader);
  return status;
}

/* opened: true: the source is handed over open; false: the reader opens it. */
static void switch_to(const char *name, bool opened) {
  struct source *source = NULL;
  struct error err;
  if (opened)
    assert_int_equal(source_open(&source, name, &rig.options, &err), 0);
  assert_int_equal(reader_switch(rig.reader, &source, name, &rig.options, READER_NOW, &err), 0);
}

/* Begins with the source "camera" and lets another one fade in. Returns false if the camera was closed at once instead
 * of being read on, which happens if a read took too long. */
static bool fade_in(int sources, bool opened) {
  mixer_set_fade(rig.mixer, 0, 0);
  switch_to("camera", opened);
  UNTIL(status_now().sources == sources + 1 && status_now().moves && fake_source_open_now() == 1);
  mixer_set_fade(rig.mixer, 3600, 0);
  switch_to("other", true);
  UNTIL(status_now().sources == sources + 2 && status_now().moves);
  return fake_source_open_now() == 2;
}

/* While a source fades in, the one before it is still read; after that it is closed. */
static void test_source_that_leaves(void **state) {
  (void)state;
  int sources = 1;
  begin(&(struct fake_source_script){.frame_ms = 2, .frames = -1});
  rig.after_s = 3600;
  for (; !fade_in(sources, true); sources += 2)
    assert_true(sources < 100);
  /* the fade takes an hour, so the pictures seen are those of the first source, and they change */
  for (int change = 0, before = rig.value; change < 20; before = rig.value) {
    UNTIL(rig.got == 1);
    change += rig.value != before;
  }
  assert_int_equal(fake_source_open_now(), 2);
  mixer_set_fade(rig.mixer, 0, 0);
  switch_to("other", true);
  UNTIL(status_now().sources == sources + 3 && status_now().moves && fake_source_open_now() == 1);
  assert_false(mixer_fades(rig.mixer));
  end();
}

/* A camera that the reader has opened itself, as after a loss, is read on likewise, and not opened anew for that. */
static void test_camera_that_leaves(void **state) {
  (void)state;
  int sources = 1;
  begin(&(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = -1});
  rig.after_s = 3600;
  for (; !fade_in(sources, false); sources += 2)
    assert_true(sources < 100);
  int attempts = fake_source_attempts();
  for (int change = 0, before = rig.value; change < 20; before = rig.value) {
    UNTIL(rig.got == 1);
    change += rig.value != before;
  }
  assert_int_equal(fake_source_attempts(), attempts);
  assert_int_equal(attempts, sources + 2);
  end();
}

static void test_missing_file(void **state) {
  (void)state;
  struct fallback *fallback = NULL;
  struct error err;
  begin(&(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = -1});
  assert_int_equal(fallback_open(&fallback, "missing", &rig.options, rig.mixer, &err), -1);
  assert_null(fallback);
  end();
}

/* A file that can no longer be opened when the camera is lost is not said to be shown. */
static void test_file_gone(void **state) {
  (void)state;
  begin(&(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = 20});
  fake_source_lose_spares();
  fake_source_go();
  do {
    turn();
    assert_false(fallback_is_shown(rig.fallback));
  } while (!fake_source_spares_refused());
  turn();
  assert_false(fallback_is_shown(rig.fallback));
  fake_source_come();
  UNTIL(rig.got == 1 && rig.value < FIRST_SPARE);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_camera_dies_twice),  cmocka_unit_test(test_short_loss),
      cmocka_unit_test(test_source_that_leaves), cmocka_unit_test(test_camera_that_leaves),
      cmocka_unit_test(test_missing_file),       cmocka_unit_test(test_file_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
