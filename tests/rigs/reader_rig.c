#include "tests/rigs/cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include "tests/rigs/reader_rig.h"

void reading_start(struct reading *reading, const struct fake_source_script *script) {
  memset(reading, 0, sizeof *reading);
  fake_source_begin(script);
  mailbox_init(&reading->mailbox);
  struct source *source = NULL;
  assert_int_equal(source_open(&source, "fake", &reading->options, NULL), 0);
  assert_int_equal(reader_start(&reading->reader, &source, "fake", &reading->options, &reading->mailbox, NULL), 0);
  assert_null(source);
}

void reading_finish(struct reading *reading, int expected, struct error *err) {
  assert_int_equal(reader_stop(&reading->reader, err), expected);
  assert_null(reading->reader);
  assert_int_equal(fake_source_open_now(), 0);
  mailbox_free(&reading->mailbox);
}

void wait_for_frames(const struct reading *reading, long frames) {
  struct reader_status status = {0};
  for (int i = 0; i < PATIENCE_MS && status.frames < frames; i++) {
    usleep(1000);
    reader_get_status(reading->reader, &status);
  }
  assert_true(status.frames >= frames);
}

void wait_for_status(const struct reading *reading, struct reader_status *status,
                     bool (*wanted)(const struct reader_status *)) {
  for (int i = 0; i < PATIENCE_MS; i++) {
    reader_get_status(reading->reader, status);
    if (wanted(status))
      return;
    usleep(1000);
  }
  fail_msg("it did not come to that: %ld frames, %s", status->frames, status->reason);
}

void switch_to_other(struct reading *reading, enum reader_when when) {
  struct source *other = NULL;
  assert_int_equal(source_open(&other, "other", &reading->options, NULL), 0);
  assert_int_equal(reader_switch(reading->reader, &other, "other", &reading->options, when, NULL), 0);
  assert_null(other);
}

bool stands(const struct reader_status *status) {
  return status->stands;
}

bool has_second(const struct reader_status *status) {
  return status->sources == 2;
}
