/* Tests the queue between two threads: order, loss, blocking at both ends, closing, and what happens to the frames'
 * holds. */
#include "tests/rigs/cmocka_all.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "app/flow/queue.h"

enum { ITEMS = 20000 };

static struct host_pictures pictures;

static struct frame numbered(uint64_t serial) {
  struct frame frame;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, 8, 4, &frame, NULL), 0);
  frame.serial = serial;
  return frame;
}

static bool put(struct queue *queue, uint64_t serial) {
  const struct frame frame = numbered(serial);
  return queue_put(queue, &frame);
}

static void expect(struct queue *queue, uint64_t serial) {
  struct frame frame;
  assert_true(queue_take(queue, &frame));
  assert_int_equal(frame.serial, serial);
  frame_release(&frame);
}

static void expect_end(struct queue *queue) {
  struct frame frame;
  assert_false(queue_take(queue, &frame));
}

static void *put_numbers(void *opaque) {
  for (uint64_t i = 1; i <= ITEMS; i++)
    if (!put(opaque, i))
      return opaque;
  queue_close(opaque);
  return NULL;
}

static void test_order_without_loss(void **state) {
  (void)state;
  const int capacities[] = {1, 3, QUEUE_MAX};
  for (int c = 0; c < 3; c++) {
    struct queue queue;
    pthread_t thread;
    void *left;
    queue_init(&queue, capacities[c]);
    assert_int_equal(pthread_create(&thread, NULL, put_numbers, &queue), 0);
    for (uint64_t i = 1; i <= ITEMS; i++)
      expect(&queue, i);
    expect_end(&queue);
    pthread_join(thread, &left);
    assert_null(left);
    queue_free(&queue);
  }
}

/* The picture that was put in comes out, uncopied and with the same hold. */
static void test_nothing_is_copied(void **state) {
  (void)state;
  struct queue queue;
  struct frame in = numbered(1), out;
  queue_init(&queue, 2);
  assert_true(queue_put(&queue, &in) && queue_take(&queue, &out));
  assert_ptr_equal(out.plane[0], in.plane[0]);
  assert_ptr_equal(out.picture, in.picture);
  assert_int_equal(out.picture->holds, 1);
  frame_release(&out);
  queue_free(&queue);
}

struct putter {
  struct queue *queue;
  atomic_int done;
};

static void *put_one_more(void *opaque) {
  struct putter *putter = opaque;
  atomic_store(&putter->done, put(putter->queue, 99) ? 1 : 2);
  return NULL;
}

static void nap(void) {
  nanosleep(&(struct timespec){0, 30000000}, NULL);
}

static void test_full_queue_blocks(void **state) {
  (void)state;
  struct queue queue;
  pthread_t thread;
  queue_init(&queue, 2);
  assert_true(put(&queue, 1) && put(&queue, 2));
  struct putter putter = {&queue, 0};
  pthread_create(&thread, NULL, put_one_more, &putter);
  nap();
  assert_int_equal(atomic_load(&putter.done), 0);
  expect(&queue, 1);
  pthread_join(thread, NULL);
  assert_int_equal(atomic_load(&putter.done), 1);
  expect(&queue, 2);
  expect(&queue, 99);
  queue_free(&queue);
}

static void test_closing_lets_the_rest_out(void **state) {
  (void)state;
  struct queue queue;
  queue_init(&queue, 4);
  put(&queue, 1);
  put(&queue, 2);
  queue_close(&queue);
  queue_close(&queue);
  assert_false(put(&queue, 3));
  expect(&queue, 1);
  expect(&queue, 2);
  expect_end(&queue);
  queue_free(&queue);
}

static void test_abort_frees_a_blocked_writer(void **state) {
  (void)state;
  struct queue queue;
  pthread_t thread;
  queue_init(&queue, 1);
  put(&queue, 1);
  struct putter putter = {&queue, 0};
  pthread_create(&thread, NULL, put_one_more, &putter);
  nap();
  queue_abort(&queue);
  pthread_join(thread, NULL);
  assert_int_equal(atomic_load(&putter.done), 2);
  expect_end(&queue);
  queue_free(&queue);
}

static void *take_one(void *opaque) {
  struct frame frame;
  return queue_take(opaque, &frame) ? opaque : NULL;
}

static void test_close_frees_a_blocked_reader(void **state) {
  (void)state;
  struct queue queue;
  pthread_t thread;
  void *taken = "something";
  queue_init(&queue, 1);
  pthread_create(&thread, NULL, take_one, &queue);
  nap();
  queue_close(&queue);
  pthread_join(thread, &taken);
  assert_null(taken);
  queue_free(&queue);
}

/* A frame's hold ends exactly once, whether the frame is taken, refused or dropped. */
static void test_holds_end(void **state) {
  (void)state;
  enum { WAYS = 4 };
  struct frame frames[WAYS], mine[WAYS];
  struct queue queue;
  for (uint64_t i = 0; i < WAYS; i++) {
    frames[i] = numbered(i);
    mine[i] = frame_hold(&frames[i]);
  }
  queue_init(&queue, 2);
  assert_true(queue_put(&queue, &frames[0]));
  queue_free(&queue);
  queue_init(&queue, 2);
  assert_true(queue_put(&queue, &frames[1]) && queue_put(&queue, &frames[2]));
  queue_abort(&queue);
  assert_false(queue_put(&queue, &frames[3]));
  queue_free(&queue);
  for (int i = 0; i < WAYS; i++) {
    assert_int_equal(mine[i].picture->holds, 1);
    frame_release(&mine[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_without_loss),
      cmocka_unit_test(test_nothing_is_copied),
      cmocka_unit_test(test_full_queue_blocks),
      cmocka_unit_test(test_closing_lets_the_rest_out),
      cmocka_unit_test(test_abort_frees_a_blocked_writer),
      cmocka_unit_test(test_close_frees_a_blocked_reader),
      cmocka_unit_test(test_holds_end),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  host_pictures_free(&pictures);
  return failed;
}
