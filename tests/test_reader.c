/* Tests the thread that reads frames, with a fake source: pace, pauses, and sources that end, fail or are lost. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include "unet/base/platform.h"
#include "tests/rigs/reader_rig.h"

/* A file's frames come at its own pace up to the last one, and its end closes the mailbox. Frames say by how much they
 * are late; their due times are as far apart as their time stamps, except where time stamps begin again. */
static void file_is_paced(void **state) {
  (void)state;
  struct reading reading;
  int64_t before_ns = 0;
  bool exact = false;
  int64_t before = platform_now_ns();
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 10, .frames = 12});
  const struct mail *mail = NULL;
  int count = 0;
  uint64_t last = 0;
  for (int got; (got = mailbox_take(&reading.mailbox, &mail, PATIENCE_MS)) == 1; count++) {
    assert_true(platform_now_ns() - before >= (int64_t)mail->frame.serial * 10000000);
    assert_true(platform_now_ns() - mail->frame.captured_ns >= 0);
    assert_true(mail->frame.late_ns >= 0);
    assert_true(mail->frame.captured_ns - mail->frame.late_ns >= before);
    last = mail->frame.serial;
    int64_t due_ns = mail->frame.captured_ns - mail->frame.late_ns - (int64_t)last * 10000000;
    exact |= count && due_ns == before_ns;
    before_ns = due_ns;
  }
  assert_true(exact || count < 2);
  assert_int_equal(last, 11);
  assert_int_equal(count + mailbox_count(&reading.mailbox).dropped, 12);
  reading_finish(&reading, 0, NULL);
}

/* A clip that starts again keeps its pace. */
static void looped_file_keeps_its_pace(void **state) {
  (void)state;
  struct reading reading;
  int64_t before = platform_now_ns();
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 10, .frames = 15, .jump_at = 5});
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    assert_int_equal(mail->frame.stretch, 1 + mail->frame.serial / 5); /* each round has a stretch number of its own */
  assert_true(platform_now_ns() - before >= 14 * 10000000);
  assert_int_equal(mailbox_count(&reading.mailbox).put, 15);
  reading_finish(&reading, 0, NULL);
}

/* Returns true if reading of some frame began at least (later) or less than 3 ms after the due time of the second frame
 * before it. On a busy machine this fails for some of the 90 frames, but not for all. */
static bool begins(const char *hardware, bool later) {
  enum { FRAME_MS = 40, FRAMES = 90 };
  const int64_t later_ns = 3000000, period_ns = FRAME_MS * (int64_t)1000000;
  struct reading reading;
  const struct mail *mail = NULL;
  bool seen = false;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = FRAME_MS, .frames = FRAMES, .hardware = hardware});
  while (!seen && mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1) {
    int64_t serial = (int64_t)mail->frame.serial, due_ns = mail->frame.captured_ns - mail->frame.late_ns;
    int64_t after_ns = fake_source_begun_ns((long)serial) - (due_ns - 2 * period_ns);
    seen = serial > 1 && (after_ns >= later_ns) == later;
  }
  reading_finish(&reading, 0, NULL);
  return seen;
}

/* With hardware decoding, reading begins later, once the timetable knows the times, which is from the third frame
 * on. */
static void hardware_begins_later(void **state) {
  (void)state;
  assert_true(begins("nvdec", true));
  assert_true(begins(NULL, false));
}

/* Reading a slow frame begins a period early. If it began when the frame before was delivered, the frame would be at
 * least 15 ms late. On a busy machine some of the twelve are late, but not all. */
static void slow_frame_is_in_time(void **state) {
  (void)state;
  enum { FRAME_MS = 30, EVERY = 5, FRAMES = 61 };
  struct reading reading;
  const struct mail *mail = NULL;
  int64_t least_ns = INT64_MAX;
  reading_start(&reading,
                &(struct fake_source_script){
                    .frame_ms = FRAME_MS, .frames = FRAMES, .slow_every = EVERY, .slow_ms = FRAME_MS * 3 / 2});
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    if (mail->frame.serial && mail->frame.serial % EVERY == 0 && mail->frame.late_ns < least_ns)
      least_ns = mail->frame.late_ns;
  reading_finish(&reading, 0, NULL);
  assert_true(least_ns < 10000000);
}

static void broken_file_says_why(void **state) {
  (void)state;
  struct reading reading;
  struct error err = {0};
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 3, .ends_in_error = true});
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  reading_finish(&reading, -1, &err);
  assert_int_equal(err.status, STATUS_INPUT);
  assert_non_null(strstr(err.message, "breaks as told"));
}

/* A camera that is lost is opened again until that succeeds; meanwhile the status says so. */
static void lost_camera_comes_back(void **state, bool in_error) {
  (void)state;
  struct reading reading;
  struct reader_status status = {0};
  reading_start(&reading, &(struct fake_source_script){
                              .realtime = true, .frame_ms = 2, .frames = 4, .ends_in_error = in_error, .refusals = 1});
  for (int i = 0; i < PATIENCE_MS && !status.lost; i++) {
    reader_get_status(reading.reader, &status);
    usleep(1000);
  }
  assert_true(status.lost);
  assert_true(strlen(status.reason) > 0);
  assert_int_equal(status.frames % 4, 0);
  wait_for_frames(&reading, status.frames + 1);
  assert_true(fake_source_openings() >= 2);
  assert_true(fake_source_attempts() >= 3);
  reading_finish(&reading, 0, NULL);
}

static void camera_that_ends(void **state) {
  lost_camera_comes_back(state, false);
}

static void camera_that_fails(void **state) {
  lost_camera_comes_back(state, true);
}

/* Stopping does not wait until the next try. */
static void stop_while_lost(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status = {0};
  reading_start(&reading, &(struct fake_source_script){.realtime = true, .frame_ms = 1, .frames = 1, .refusals = 1000});
  for (int i = 0; i < PATIENCE_MS && !status.lost; i++) {
    reader_get_status(reading.reader, &status);
    usleep(1000);
  }
  assert_true(status.lost);
  reading_finish(&reading, 0, NULL);
}

/* Pauses, and checks that no more frames come except the one in flight. Returns the number of frames so far. */
static long pause_reading(const struct reading *reading) {
  struct reader_status before, after;
  reader_pause(reading->reader, true);
  reader_get_status(reading->reader, &before);
  usleep(90000);
  reader_get_status(reading->reader, &after);
  assert_in_range(after.frames, before.frames, before.frames + 1);
  return after.frames;
}

/* While paused, a file stops and continues at the same place; a camera's frames are discarded. */
static void paused_file_waits(void **state) {
  (void)state;
  struct reading reading;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 5, .frames = 60});
  wait_for_frames(&reading, 3);
  pause_reading(&reading);
  reader_pause(reading.reader, false);
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  assert_int_equal(mailbox_count(&reading.mailbox).put, 60);
  reading_finish(&reading, 0, NULL);
}

/* The first frame of another source comes during a pause, and no further one. */
static void paused_file_shows_the_next(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 5, .frames = 60});
  wait_for_frames(&reading, 3);
  long frames = pause_reading(&reading);
  switch_to_other(&reading, READER_NOW);
  wait_for_frames(&reading, frames + 1);
  usleep(90000);
  reader_get_status(reading.reader, &status);
  assert_int_equal(status.frames, frames + 1);
  reader_pause(reading.reader, false);
  wait_for_frames(&reading, frames + 2);
  reading_finish(&reading, 0, NULL);
}

/* At another speed frames are due at other distances; a frame that waits is due sooner when the speed rises. */
static void file_at_another_speed(void **state) {
  (void)state;
  enum { SECONDS = 9 };
  struct reading reading;
  struct reader_status status;
  const struct mail *mail = NULL;
  int64_t before_ns = 0;
  bool exact = false;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = SECONDS * 1000, .frames = 12});
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
  int64_t first_ns = mail->frame.captured_ns;
  reader_set_speed(reading.reader, 0.5);
  reader_set_speed(reading.reader, 1000);
  for (uint64_t last = 0; last < 11; last = mail->frame.serial) {
    assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
    int64_t due_ns = mail->frame.captured_ns - mail->frame.late_ns - (int64_t)mail->frame.serial * SECONDS * 1000000;
    assert_true(last || mail->frame.captured_ns - first_ns < SECONDS * INT64_C(1000000000));
    exact |= due_ns == before_ns;
    before_ns = due_ns;
    reader_get_status(reading.reader, &status);
    assert_true(status.place >= SECONDS * ((double)mail->frame.serial - 1));
  }
  assert_true(exact);
  reading_finish(&reading, 0, NULL);
}

/* A source that begins anew by itself ends with its pass if it may not; its place is counted from each pass. */
static void looped_file_ends(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  const struct mail *mail = NULL;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 5, .frames = 100000, .jump_at = 40});
  wait_for_frames(&reading, 90);
  reader_get_status(reading.reader, &status);
  assert_true(status.place >= 0 && status.place < 0.2);
  reader_end_at(reading.reader, 2, 0, false); /* there is no second source yet */
  wait_for_frames(&reading, 130);
  reader_end_at(reading.reader, 1, 0, false);
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  reader_get_status(reading.reader, &status);
  assert_int_equal(status.frames % 40, 0);
  reading_finish(&reading, 0, NULL);
}

static void paused_camera_runs_on(void **state) {
  (void)state;
  struct reading reading;
  reading_start(&reading, &(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = 100000});
  wait_for_frames(&reading, 3);
  long paused = pause_reading(&reading);
  reader_pause(reading.reader, false);
  wait_for_frames(&reading, paused + 2);
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
  reading_finish(&reading, 0, NULL);
}

static bool is_opened(const struct reader_status *status) {
  return status->opened;
}

static bool is_lost(const struct reader_status *status) {
  return status->lost;
}

static void reading_start_late(struct reading *reading, const char *spec, const struct fake_source_script *script) {
  struct source *none = NULL;
  memset(reading, 0, sizeof *reading);
  fake_source_begin(script);
  mailbox_init(&reading->mailbox);
  assert_int_equal(reader_start(&reading->reader, &none, spec, &reading->options, &reading->mailbox, NULL), 0);
}

/* If a sender does not send yet, opening it is repeated; the status says so, and the reader can be stopped. */
static void sender_comes_late(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  struct source_info info;
  reading_start_late(&reading, "fake", &(struct fake_source_script){.frame_ms = 1, .frames = 3, .late = true});
  wait_for_status(&reading, &status, is_lost);
  assert_false(status.opened);
  assert_non_null(strstr(status.reason, "not there yet"));
  assert_false(reader_get_info(reading.reader, &info));
  fake_source_come();
  wait_for_status(&reading, &status, is_opened);
  assert_true(reader_get_info(reading.reader, &info));
  assert_string_equal(info.description, "fake");
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  reader_get_status(reading.reader, &status);
  assert_int_equal(status.frames, 3);
  assert_false(status.lost);
  reading_finish(&reading, 0, NULL);

  reading_start_late(&reading, "fake", &(struct fake_source_script){.late = true});
  wait_for_status(&reading, &status, is_lost);
  reading_finish(&reading, 0, NULL);
}

/* A stream that is joined in its middle has its size only with the first picture, and its description names the size
 * from then on. */
static void a_size_that_comes_later_is_told(void **state) {
  (void)state;
  struct reading reading;
  struct source_info info = {.name = "udp://x: h264"};
  source_describe(&info);
  assert_string_equal(info.description, "udp://x: h264");
  info.fps = 25;
  source_describe(&info);
  assert_string_equal(info.description, "udp://x: h264, 25 fps");
  reading_start_late(&reading, "fake", &(struct fake_source_script){.frame_ms = 40, .frames = 3, .shapeless = true});
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  assert_true(reader_get_info(reading.reader, &info));
  char wanted[64];
  snprintf(wanted, sizeof wanted, "fake: grey %dx%d, 25 fps", info.width, info.height);
  assert_true(info.width > 0);
  assert_string_equal(info.description, wanted);
  reading_finish(&reading, 0, NULL);
}

static void mistaken_name_ends_it(void **state) {
  (void)state;
  struct reading reading;
  struct error err = {0};
  const struct mail *mail;
  reading_start_late(&reading, "missing", &(struct fake_source_script){0});
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), -1);
  assert_int_equal(fake_source_attempts(), 1);
  reading_finish(&reading, -1, &err);
  assert_non_null(strstr(err.message, "nowhere"));
}

/* A source of one picture shows it on and does not end. */
static void still_picture_stays(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  const struct mail *mail;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 1});
  wait_for_status(&reading, &status, stands);
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, 20), 0);
  reading_finish(&reading, 0, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(file_is_paced),
      cmocka_unit_test(looped_file_keeps_its_pace),
      cmocka_unit_test(hardware_begins_later),
      cmocka_unit_test(slow_frame_is_in_time),
      cmocka_unit_test(broken_file_says_why),
      cmocka_unit_test(camera_that_ends),
      cmocka_unit_test(camera_that_fails),
      cmocka_unit_test(stop_while_lost),
      cmocka_unit_test(paused_file_waits),
      cmocka_unit_test(paused_file_shows_the_next),
      cmocka_unit_test(file_at_another_speed),
      cmocka_unit_test(looped_file_ends),
      cmocka_unit_test(paused_camera_runs_on),
      cmocka_unit_test(sender_comes_late),
      cmocka_unit_test(a_size_that_comes_later_is_told),
      cmocka_unit_test(mistaken_name_ends_it),
      cmocka_unit_test(still_picture_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
