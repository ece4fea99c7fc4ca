/* The queue between two threads: order, loss, blocking at both ends, closing; and pictures, which it carries. */
#include "tests/cmocka_all.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "app/flow/picture.h"
#include "app/flow/queue.h"

enum { ITEMS = 20000 };

static void *put_numbers(void *opaque) {
  for (intptr_t i = 1; i <= ITEMS; i++)
    if (!queue_put(opaque, (void *)i))
      return (void *)i;
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
    for (intptr_t i = 1; i <= ITEMS; i++)
      assert_int_equal((intptr_t)queue_take(&queue), i);
    assert_null(queue_take(&queue));
    pthread_join(thread, &left);
    assert_null(left);
    queue_finish(&queue);
  }
}

struct putter {
  struct queue *queue;
  atomic_int done;
};

static void *put_one_more(void *opaque) {
  struct putter *putter = opaque;
  bool put = queue_put(putter->queue, "late");
  atomic_store(&putter->done, put ? 1 : 2);
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
  assert_true(queue_put(&queue, "a") && queue_put(&queue, "b"));
  struct putter putter = {&queue, 0};
  pthread_create(&thread, NULL, put_one_more, &putter);
  nap();
  assert_int_equal(atomic_load(&putter.done), 0);
  assert_string_equal(queue_take(&queue), "a");
  pthread_join(thread, NULL);
  assert_int_equal(atomic_load(&putter.done), 1);
  assert_string_equal(queue_take(&queue), "b");
  assert_string_equal(queue_take(&queue), "late");
  queue_finish(&queue);
}

static void test_closing_lets_the_rest_out(void **state) {
  (void)state;
  struct queue queue;
  queue_init(&queue, 4);
  queue_put(&queue, "a");
  queue_put(&queue, "b");
  queue_close(&queue);
  queue_close(&queue);
  assert_false(queue_put(&queue, "c"));
  assert_string_equal(queue_take(&queue), "a");
  assert_string_equal(queue_take(&queue), "b");
  assert_null(queue_take(&queue));
  queue_finish(&queue);
}

static void test_abort_frees_a_blocked_writer(void **state) {
  (void)state;
  struct queue queue;
  pthread_t thread;
  queue_init(&queue, 1);
  queue_put(&queue, "a");
  struct putter putter = {&queue, 0};
  pthread_create(&thread, NULL, put_one_more, &putter);
  nap();
  queue_abort(&queue);
  pthread_join(thread, NULL);
  assert_int_equal(atomic_load(&putter.done), 2);
  assert_null(queue_take(&queue));
  queue_finish(&queue);
}

static void *take_one(void *opaque) {
  return queue_take(opaque);
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
  queue_finish(&queue);
}

/* Every format, odd sizes, and source rows that run backwards. */
static void test_pictures_copy(void **state) {
  (void)state;
  struct picture from = {0}, to = {0};
  for (int format = 0; format < PIXEL_FORMATS; format++) {
    assert_int_equal(picture_resize(&from, (enum pixel_format)format, 37, 21, NULL), 0);
    for (int i = 0; i < frame_planes(from.frame.format); i++)
      for (int y = 0; y < frame_rows(from.frame.format, i, 21); y++)
        memset(picture_plane(&from, i) + y * from.frame.pitch[i], y * 7 + i, (size_t)from.frame.pitch[i]);
    from.frame.pts = 1234567;
    from.frame.serial = 89;
    struct frame turned = from.frame;
    turned.plane[0] += (frame_rows(turned.format, 0, 21) - 1) * turned.pitch[0];
    turned.pitch[0] = -turned.pitch[0];
    assert_int_equal(picture_copy(&to, &turned, NULL), 0);
    assert_true(to.frame.pts == 1234567 && to.frame.serial == 89 && to.frame.pitch[0] > 0);
    for (int i = 0; i < frame_planes(from.frame.format); i++) {
      int rows = frame_rows(from.frame.format, i, 21), last = frame_row_bytes(from.frame.format, i, 37) - 1;
      for (int y = 0; y < rows; y++) {
        int want = (i ? y : rows - 1 - y) * 7 + i;
        assert_int_equal(to.frame.plane[i][y * to.frame.pitch[i]], want);
        assert_int_equal(to.frame.plane[i][y * to.frame.pitch[i] + last], want);
      }
    }
  }
  const uint8_t *kept = to.buffer;
  assert_int_equal(picture_resize(&to, PIXEL_YUV420P, 16, 16, NULL), 0);
  assert_ptr_equal(to.buffer, kept);
  picture_free(&from);
  picture_free(&to);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_without_loss),           cmocka_unit_test(test_full_queue_blocks),
      cmocka_unit_test(test_closing_lets_the_rest_out),    cmocka_unit_test(test_abort_frees_a_blocked_writer),
      cmocka_unit_test(test_close_frees_a_blocked_reader), cmocka_unit_test(test_pictures_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
