/* Tests the mailbox, which hands frames from one thread to another: the newest replaces one that was not taken, each
 * loss is counted, and frames are never mixed. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>
#include <time.h>

#include "app/flow/mailbox.h"
#include "unet/base/platform.h"

enum { WIDTH = 61, HEIGHT = 33 };

static struct host_pictures pictures;

/* Returns a picture all of whose pixels have this value. */
static struct frame flat_frame(uint8_t value, int width, int height) {
  struct frame frame;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, width, height, &frame, NULL), 0);
  for (int y = 0; y < height; y++)
    memset(frame_plane(&frame, 0) + y * frame.pitch[0], value, (size_t)width * 4);
  frame.serial = value;
  return frame;
}

static void assert_flat(const struct frame *frame, uint8_t value) {
  for (int y = 0; y < frame->height; y++)
    for (int x = 0; x < frame->width * 4; x++)
      assert_int_equal(frame->plane[0][y * frame->pitch[0] + x], value);
}

static void newest_wins(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 0);
  for (int i = 1; i <= 3; i++)
    mailbox_put(&mailbox, &(struct mail){.frame = flat_frame((uint8_t)i, WIDTH, HEIGHT), .submitted_ns = i});
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_int_equal(mail->frame.serial, 3);
  assert_int_equal(mail->submitted_ns, 3);
  assert_flat(&mail->frame, 3);
  assert_null(mail->input.plane[0]);
  assert_int_equal(mailbox_count(&mailbox).put, 3);
  assert_int_equal(mailbox_count(&mailbox).dropped, 2);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 0);
  mailbox_free(&mailbox);
}

/* Pictures that were made again of a frame, because values change while no frame comes, are no frames that were
 * dropped. */
static void pictures_made_again_are_not_dropped(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  for (int i = 1; i <= 4; i++)
    mailbox_put(&mailbox, &(struct mail){.frame = flat_frame((uint8_t)i, WIDTH, HEIGHT), .again = i > 1});
  assert_int_equal(mailbox_count(&mailbox).put, 4);
  assert_int_equal(mailbox_count(&mailbox).dropped, 1);
  mailbox_free(&mailbox);
}

/* A frame that was taken does not change while the writer goes on. */
static void taken_frame_lasts(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(7, WIDTH, HEIGHT)});
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  for (int i = 10; i < 20; i++)
    mailbox_put(&mailbox, &(struct mail){.frame = flat_frame((uint8_t)i, WIDTH, HEIGHT)});
  assert_flat(&mail->frame, 7);
  mailbox_free(&mailbox);
}

static void carries_the_input_too(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(1, WIDTH, HEIGHT), .input = flat_frame(2, 16, 8)});
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_int_equal(mail->input.width, 16);
  assert_flat(&mail->input, 2);
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(3, WIDTH, HEIGHT)});
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_null(mail->input.plane[0]);
  mailbox_free(&mailbox);
}

/* The same memory that was put in is taken out. The mailbox holds only the waiting frame and the one taken last, so
 * with the writer's own three pictures suffice. */
static void nothing_is_copied(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  const uint8_t *seen[3] = {0};
  for (int i = 0; i < 30; i++) {
    const struct mail put = {.frame = flat_frame((uint8_t)i, WIDTH, HEIGHT)};
    int known = 0;
    mailbox_put(&mailbox, &put);
    if (i % 3)
      assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
    if (i % 3)
      assert_ptr_equal(mail->frame.plane[0], put.frame.plane[0]);
    while (known < 3 && seen[known] && seen[known] != put.frame.plane[0])
      known++;
    assert_true(known < 3);
    seen[known] = put.frame.plane[0];
  }
  mailbox_free(&mailbox);
}

static void peek_leaves_it_there(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  struct frame seen = {0};
  const struct mail *mail = NULL;
  assert_false(mailbox_peek(&mailbox, &seen));
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(5, WIDTH, HEIGHT)});
  assert_true(mailbox_peek(&mailbox, &seen));
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_int_equal(mailbox_count(&mailbox).dropped, 0);
  assert_ptr_equal(seen.plane[0], mail->frame.plane[0]);
  mailbox_free(&mailbox);
  assert_flat(&seen, 5);
  frame_release(&seen);
}

static void waiting_ends_in_time(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  int64_t before = platform_now_ns();
  assert_int_equal(mailbox_take(&mailbox, &mail, 30), 0);
  assert_true(platform_now_ns() - before >= 29 * 1000000);
  mailbox_free(&mailbox);
}

static void *wake_later(void *opaque) {
  platform_sleep_ns(20 * 1000000);
  mailbox_wake(opaque);
  return NULL;
}

/* mailbox_take returns early when the reader is woken; the next frame can still be taken. */
static void a_reader_is_woken(void **state) {
  (void)state;
  struct mailbox mailbox;
  pthread_t thread;
  const struct mail *mail = NULL;
  mailbox_init(&mailbox);
  assert_int_equal(pthread_create(&thread, NULL, wake_later, &mailbox), 0);
  assert_int_equal(mailbox_take(&mailbox, &mail, 60000), 0);
  pthread_join(thread, NULL);
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(8, WIDTH, HEIGHT)});
  mailbox_wake(&mailbox);
  mailbox_rest(&mailbox, 60000);
  mailbox_rest(&mailbox, 1);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  mailbox_free(&mailbox);
}

static void *read_and_say(void *opaque) {
  struct mailbox *mailbox = opaque;
  const struct mail *mail;
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  assert_int_equal(mailbox_take(mailbox, &mail, 0), 1);
  mailbox_done(mailbox);
  return NULL;
}

/* mailbox_wait_done waits until the frame that was put last was taken and is done with, or until the time is over. */
static void a_writer_waits_until_it_is_done(void **state) {
  (void)state;
  enum { MOST_S = 600 };
  struct mailbox mailbox;
  const struct mail *mail;
  pthread_t reader;
  mailbox_init(&mailbox);
  int64_t far_ns = platform_now_ns() + MOST_S * INT64_C(1000000000);
  assert_false(mailbox_wait_done(&mailbox, far_ns));
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(1, WIDTH, HEIGHT)});
  mailbox_done(&mailbox);
  assert_true(mailbox_wait_done(&mailbox, platform_now_ns() + 5000000));
  assert_int_equal(pthread_create(&reader, NULL, read_and_say, &mailbox), 0);
  assert_true(mailbox_wait_done(&mailbox, far_ns) && platform_now_ns() < far_ns);
  assert_int_equal(pthread_join(reader, NULL), 0);
  assert_false(mailbox_wait_done(&mailbox, far_ns));
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(2, WIDTH, HEIGHT)});
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(3, WIDTH, HEIGHT)});
  mailbox_done(&mailbox); /* refers to the frame that was taken, not to the waiting one */
  assert_true(mailbox_wait_done(&mailbox, platform_now_ns() + 1000000));
  mailbox_free(&mailbox);
}

static void closed_gives_the_last_one_first(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  mailbox_put(&mailbox, &(struct mail){.frame = flat_frame(8, WIDTH, HEIGHT)});
  mailbox_close(&mailbox);
  assert_int_equal(mailbox_take(&mailbox, &mail, 1000), 1);
  assert_int_equal(mailbox_take(&mailbox, &mail, 1000), -1);
  mailbox_free(&mailbox);
}

enum { MANY = 20000 };

static void *write_many(void *opaque) {
  struct mailbox *mailbox = opaque;
  for (int i = 0; i < MANY; i++) {
    struct mail put = {.frame = flat_frame((uint8_t)i, 8, 4)};
    put.frame.serial = (uint64_t)i;
    mailbox_put(mailbox, &put);
  }
  mailbox_close(mailbox);
  return NULL;
}

/* Two threads at full speed: serials rise, pixels match their serial, and taken + dropped = put. */
static void two_threads(void **state) {
  (void)state;
  struct mailbox mailbox;
  pthread_t writer;
  mailbox_init(&mailbox);
  assert_int_equal(pthread_create(&writer, NULL, write_many, &mailbox), 0);
  long taken = 0;
  int64_t last = -1;
  const struct mail *mail = NULL;
  for (int got; (got = mailbox_take(&mailbox, &mail, 1000)) >= 0;) {
    if (!got)
      continue;
    taken++;
    assert_true((int64_t)mail->frame.serial > last);
    last = (int64_t)mail->frame.serial;
    assert_flat(&mail->frame, (uint8_t)last);
  }
  pthread_join(writer, NULL);
  struct mailbox_counts counts = mailbox_count(&mailbox);
  assert_int_equal(last, MANY - 1);
  assert_int_equal(counts.put, MANY);
  assert_int_equal(taken + counts.dropped, MANY);
  mailbox_free(&mailbox);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(newest_wins),
      cmocka_unit_test(pictures_made_again_are_not_dropped),
      cmocka_unit_test(taken_frame_lasts),
      cmocka_unit_test(carries_the_input_too),
      cmocka_unit_test(nothing_is_copied),
      cmocka_unit_test(peek_leaves_it_there),
      cmocka_unit_test(waiting_ends_in_time),
      cmocka_unit_test(a_reader_is_woken),
      cmocka_unit_test(closed_gives_the_last_one_first),
      cmocka_unit_test(two_threads),
      cmocka_unit_test(a_writer_waits_until_it_is_done),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  host_pictures_free(&pictures);
  return failed;
}
