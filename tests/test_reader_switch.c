/* Tests how the thread that reads frames goes from one source to the next, with a fake source. */
#include "tests/rigs/cmocka_all.h"

#include <unistd.h>

#include "unet/base/platform.h"
#include "tests/rigs/reader_rig.h"

/* Checks that serials rise and that another source begins another stretch. Returns the next frame's first byte. */
static int first_byte_of_next(struct reading *reading, int64_t *serial) {
  const struct mail *mail;
  int got = mailbox_take(&reading->mailbox, &mail, PATIENCE_MS);
  if (got != 1)
    return -1;
  assert_true((int64_t)mail->frame.serial > *serial);
  *serial = (int64_t)mail->frame.serial;
  assert_int_equal(mail->frame.stretch, mail->frame.plane[0][0] < 100 ? 1 : 2);
  return mail->frame.plane[0][0];
}

static void switched_at_once(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  int64_t serial = -1;
  int byte, frames = 0;
  /* A camera, a file whose next frame is far away, and a paused file. */
  for (int kind = 0; kind < 3; kind++) {
    reading_start(&reading,
                  &(struct fake_source_script){
                      .realtime = kind == 0, .frame_ms = kind == 1 ? 5000 : 10, .frames = 90, .gated = kind == 2});
    fake_source_let_read(1);
    wait_for_frames(&reading, 1);
    reader_pause(reading.reader, kind == 2);
    fake_source_let_read(90);
    switch_to_other(&reading, READER_NOW);
    wait_for_status(&reading, &status, has_second);
    reader_pause(reading.reader, false);
    serial = -1;
    while ((byte = first_byte_of_next(&reading, &serial)) < 100)
      frames++;
    assert_in_range(byte, 100, 190);
    for (int i = 0; i < PATIENCE_MS && fake_source_open_now() > 1; i++)
      usleep(1000); /* files are closed aside */
    assert_int_equal(fake_source_open_now(), 1);
    reading_finish(&reading, 0, NULL);
  }
  assert_in_range(frames, 0, 3 * 90);
}

static void switched_at_the_end(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  int64_t serial = -1;
  int byte, last = -1;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 5, .frames = 8, .gated = true});
  switch_to_other(&reading, READER_AT_END);
  reader_get_status(reading.reader, &status);
  assert_true(status.next);
  fake_source_let_read(8);
  while ((byte = first_byte_of_next(&reading, &serial)) >= 0)
    last = byte;
  assert_int_equal(last, 107);
  reader_get_status(reading.reader, &status);
  assert_true(status.frames == 16 && status.sources == 2 && !status.next);
  reading_finish(&reading, 0, NULL);
}

/* The last picture of a file stays for the usual time before the next source's first picture. The second picture of
 * that source is read only when the first is shown, because its sound begins then. */
static void the_next_keeps_the_pace(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  const struct mail *mail = NULL;
  int64_t before = platform_now_ns(), next_ns = 0;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 40, .frames = 4});
  switch_to_other(&reading, READER_AT_END);
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    if (mail->frame.serial == 4)
      next_ns = mail->frame.captured_ns;
  assert_true(fake_source_begun_ns(1) >= next_ns);
  assert_true(platform_now_ns() - before >= 7 * INT64_C(40000000));
  reader_get_status(reading.reader, &status);
  assert_true(status.sources == 2 && status.moves);
  reading_finish(&reading, 0, NULL);
}

/* The next source's pictures do not wait until files are closed: the last one, or one that was to come and did not. */
static void closing_is_not_waited_for(void **state) {
  (void)state;
  struct reading reading;
  int64_t serial;
  int byte;
  for (int left = 0; left < 2; left++) {
    reading_start(&reading,
                  &(struct fake_source_script){.frame_ms = 20, .frames = left ? 200 : 4, .close_gated = true});
    switch_to_other(&reading, READER_AT_END);
    wait_for_frames(&reading, 3);
    if (left)
      switch_to_other(&reading, READER_NOW);
    serial = -1;
    while ((byte = first_byte_of_next(&reading, &serial)) >= 0 && byte < 100)
      ;
    assert_true(byte >= 100);
    fake_source_let_close();
    reading_finish(&reading, 0, NULL);
  }
}

/* Sources that follow each other faster than files are closed do not pile up. */
static void few_files_are_closed_at_a_time(void **state) {
  (void)state;
  enum { CLOSE_MS = 100, SWITCHES = 20, OPEN_MOST = 8 };
  struct reading reading;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 10000, .close_ms = CLOSE_MS});
  for (int i = 0; i < SWITCHES; i++) {
    struct reader_status status;
    reader_get_status(reading.reader, &status);
    switch_to_other(&reading, READER_NOW);
    for (int sources = status.sources, j = 0; j < PATIENCE_MS && status.sources == sources; j++) {
      usleep(1000);
      reader_get_status(reading.reader, &status);
    }
    assert_in_range(fake_source_open_now(), 1, OPEN_MOST);
  }
  reading_finish(&reading, 0, NULL);
}

/* A next source that waits for the end of the current one can be started at once (reader_leave). */
static void left_before_the_end(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = -1});
  switch_to_other(&reading, READER_AT_END);
  reader_get_status(reading.reader, &status);
  assert_true(status.sources == 1 && status.next);
  reader_leave(reading.reader);
  wait_for_status(&reading, &status, has_second);
  reader_leave(reading.reader); /* no source is waiting */
  usleep(5000);
  reader_get_status(reading.reader, &status);
  assert_int_equal(status.sources, 2);
  reading_finish(&reading, 0, NULL);
}

/* With a list, the last picture of a file that ended or failed stays until the next source is given. */
static void end_waits_for_the_next(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  for (int in_error = 0; in_error < 2; in_error++) {
    reading_start(&reading,
                  &(struct fake_source_script){.frame_ms = 1, .frames = 8, .ends_in_error = in_error, .gated = true});
    reader_go_on(reading.reader, true);
    fake_source_let_read(8);
    wait_for_status(&reading, &status, stands);
    assert_int_equal(status.frames, 8);
    switch_to_other(&reading, READER_AT_END);
    wait_for_status(&reading, &status, has_second);
    wait_for_status(&reading, &status, stands);
    assert_int_equal(status.frames, 16);
    reading_finish(&reading, 0, NULL);
  }
}

/* If the next source cannot be opened, the current one goes on. */
static void switched_to_a_missing_one(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  struct source *none = NULL;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 8, .gated = true});
  reader_go_on(reading.reader, true);
  fake_source_let_read(8);
  assert_int_equal(reader_switch(reading.reader, &none, "missing", &reading.options, READER_AT_END, NULL), 0);
  wait_for_status(&reading, &status, has_second);
  wait_for_status(&reading, &status, stands);
  assert_int_equal(status.frames, 8);
  switch_to_other(&reading, READER_NOW);
  for (int i = 0; i < PATIENCE_MS && status.frames < 16; i++) {
    reader_get_status(reading.reader, &status);
    usleep(1000);
  }
  assert_int_equal(status.sources, 3);
  reading_finish(&reading, 0, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(switched_at_once),
      cmocka_unit_test(switched_at_the_end),
      cmocka_unit_test(the_next_keeps_the_pace),
      cmocka_unit_test(closing_is_not_waited_for),
      cmocka_unit_test(few_files_are_closed_at_a_time),
      cmocka_unit_test(left_before_the_end),
      cmocka_unit_test(end_waits_for_the_next),
      cmocka_unit_test(switched_to_a_missing_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
