/* The one-slot hand-over: the newest wins, nothing is lost uncounted, nothing tears. */
#include "cmocka_all.h"

#include <string.h>
#include <time.h>

#include "app/flow/mailbox.h"
#include "app/flow/stats.h"

enum { WIDTH = 61, HEIGHT = 33 };

/* A frame all of whose pixels hold the same value. */
static struct frame flat_frame(uint8_t *pixels, uint8_t value, int width, int height) {
  memset(pixels, value, (size_t)(width * height * 4));
  return (struct frame){
      .format = PIXEL_RGBA, .width = width, .height = height, .plane = {pixels}, .pitch = {width * 4}, .serial = value};
}

static void assert_flat(const struct frame *frame, uint8_t value) {
  for (int y = 0; y < frame->height; y++)
    for (int x = 0; x < frame->width * 4; x++)
      assert_int_equal(frame->plane[0][y * frame->pitch[0] + x], value);
}

static void newest_wins(void **state) {
  (void)state;
  static uint8_t pixels[WIDTH * HEIGHT * 4];
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 0);
  for (int i = 1; i <= 3; i++) {
    struct mail put = {.frame = flat_frame(pixels, (uint8_t)i, WIDTH, HEIGHT), .submitted_ns = i};
    assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  }
  memset(pixels, 99, sizeof pixels); /* the pixels were copied */
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_int_equal(mail->frame.serial, 3);
  assert_int_equal(mail->submitted_ns, 3);
  assert_flat(&mail->frame, 3);
  assert_null(mail->input.plane[0]);
  assert_int_equal(mailbox_count(&mailbox).put, 3);
  assert_int_equal(mailbox_count(&mailbox).dropped, 2);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 0);
  mailbox_finish(&mailbox);
}

/* What was taken stays as it is while the writer goes on. */
static void taken_frame_lasts(void **state) {
  (void)state;
  static uint8_t pixels[WIDTH * HEIGHT * 4];
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  struct mail put = {.frame = flat_frame(pixels, 7, WIDTH, HEIGHT)};
  assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  for (int i = 10; i < 20; i++) {
    put.frame = flat_frame(pixels, (uint8_t)i, WIDTH, HEIGHT);
    assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  }
  assert_flat(&mail->frame, 7);
  mailbox_finish(&mailbox);
}

static void carries_the_input_too(void **state) {
  (void)state;
  static uint8_t pixels[WIDTH * HEIGHT * 4], input[16 * 8 * 4];
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  struct mail put = {.frame = flat_frame(pixels, 1, WIDTH, HEIGHT), .input = flat_frame(input, 2, 16, 8)};
  assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_int_equal(mail->input.width, 16);
  assert_flat(&mail->input, 2);
  put.input = (struct frame){0};
  assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_null(mail->input.plane[0]);
  mailbox_finish(&mailbox);
}

/* Sizes change from frame to frame; memory is made only when they grow. */
static void buffers_are_reused(void **state) {
  (void)state;
  static uint8_t pixels[WIDTH * HEIGHT * 4];
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  const uint8_t *seen[3] = {0};
  int distinct = 0;
  for (int i = 0; i < 30; i++) {
    int width = i < 6 ? WIDTH : WIDTH - i;
    struct mail put = {.frame = flat_frame(pixels, (uint8_t)i, width, HEIGHT)};
    assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
    assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
    assert_int_equal(mail->frame.width, width);
    assert_flat(&mail->frame, (uint8_t)i);
    bool known = false;
    for (int j = 0; j < distinct; j++)
      known = known || seen[j] == mail->frame.plane[0];
    if (!known) {
      assert_true(distinct < 3);
      seen[distinct++] = mail->frame.plane[0];
    }
  }
  mailbox_finish(&mailbox);
}

static void peek_leaves_it_there(void **state) {
  (void)state;
  static uint8_t pixels[WIDTH * HEIGHT * 4];
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  struct picture copy = {0};
  const struct mail *mail = NULL;
  assert_false(mailbox_peek(&mailbox, &copy));
  struct mail put = {.frame = flat_frame(pixels, 5, WIDTH, HEIGHT)};
  assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  assert_true(mailbox_peek(&mailbox, &copy));
  assert_flat(&copy.frame, 5);
  assert_int_equal(mailbox_take(&mailbox, &mail, 0), 1);
  assert_int_equal(mailbox_count(&mailbox).dropped, 0);
  picture_free(&copy);
  mailbox_finish(&mailbox);
}

static void waiting_ends_in_time(void **state) {
  (void)state;
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  int64_t before = clock_now_ns();
  assert_int_equal(mailbox_take(&mailbox, &mail, 30), 0);
  assert_true(clock_now_ns() - before >= 29 * 1000000);
  mailbox_finish(&mailbox);
}

static void closed_gives_the_last_one_first(void **state) {
  (void)state;
  static uint8_t pixels[WIDTH * HEIGHT * 4];
  struct mailbox mailbox;
  mailbox_init(&mailbox);
  const struct mail *mail = NULL;
  struct mail put = {.frame = flat_frame(pixels, 8, WIDTH, HEIGHT)};
  assert_int_equal(mailbox_put(&mailbox, &put, NULL), 0);
  mailbox_close(&mailbox);
  assert_int_equal(mailbox_take(&mailbox, &mail, 1000), 1);
  assert_int_equal(mailbox_take(&mailbox, &mail, 1000), -1);
  mailbox_finish(&mailbox);
}

enum { MANY = 20000 };

static void *write_many(void *opaque) {
  struct mailbox *mailbox = opaque;
  uint8_t pixels[8 * 4 * 4];
  for (int i = 0; i < MANY; i++) {
    struct mail put = {.frame = flat_frame(pixels, (uint8_t)i, 8, 4)};
    put.frame.serial = (uint64_t)i;
    if (mailbox_put(mailbox, &put, NULL))
      break;
  }
  mailbox_close(mailbox);
  return NULL;
}

/* Two threads at full speed: serials rise, pixels belong to their serial, and taken + dropped = put. */
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
  mailbox_finish(&mailbox);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(newest_wins),
      cmocka_unit_test(taken_frame_lasts),
      cmocka_unit_test(carries_the_input_too),
      cmocka_unit_test(buffers_are_reused),
      cmocka_unit_test(peek_leaves_it_there),
      cmocka_unit_test(waiting_ends_in_time),
      cmocka_unit_test(closed_gives_the_last_one_first),
      cmocka_unit_test(two_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
