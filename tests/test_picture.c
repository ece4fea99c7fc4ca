/* Tests pictures and their pools: reference counts, owners, fences, pools that are closed before their pictures are
 * released. */
#include "tests/rigs/cmocka_all.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unet/base/picture.h"

/* Every format, odd sizes, and rows in reverse order (a negative pitch). */
static void test_copies(void **state) {
  (void)state;
  struct host_pictures pictures = {0}, others = {0};
  for (int format = 0; format < PIXEL_FORMATS; format++) {
    struct frame from, to;
    assert_int_equal(host_pictures_take(&pictures, (enum pixel_format)format, 37, 21, &from, NULL), 0);
    for (int i = 0; i < frame_planes(from.format); i++)
      for (int y = 0; y < frame_rows(from.format, i, 21); y++)
        memset(frame_plane(&from, i) + y * from.pitch[i], y * 7 + i, (size_t)from.pitch[i]);
    from.pts = 1234567;
    from.serial = 89;
    struct frame turned = from;
    turned.plane[0] += (frame_rows(turned.format, 0, 21) - 1) * turned.pitch[0];
    turned.pitch[0] = -turned.pitch[0];
    assert_int_equal(host_pictures_copy(&others, &turned, &to, NULL), 0);
    assert_true(to.pts == 1234567 && to.serial == 89 && to.pitch[0] > 0 && to.picture != from.picture);
    for (int i = 0; i < frame_planes(from.format); i++) {
      int rows = frame_rows(from.format, i, 21), last = frame_row_bytes(from.format, i, 37) - 1;
      assert_int_equal((uintptr_t)to.plane[i] % 64, 0);
      for (int y = 0; y < rows; y++) {
        int want = (i ? y : rows - 1 - y) * 7 + i;
        assert_int_equal(to.plane[i][y * to.pitch[i]], want);
        assert_int_equal(to.plane[i][y * to.pitch[i] + last], want);
      }
    }
    frame_release(&from);
    frame_release(&to);
  }
  host_pictures_free(&pictures);
  host_pictures_free(&others);
}

/* Released memory is used again before more is allocated. Another size needs another pool; held pictures of the old
 * pool stay valid. */
static void test_memory_circles(void **state) {
  (void)state;
  struct host_pictures pictures = {0};
  struct frame held, frame;
  const uint8_t *first = NULL;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, 16, 16, &held, NULL), 0);
  memset(frame_plane(&held, 0), 77, (size_t)held.pitch[0] * 16);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, 16, 16, &frame, NULL), 0);
    assert_ptr_not_equal(frame.plane[0], held.plane[0]);
    assert_true(!i || frame.plane[0] == first);
    first = frame.plane[0];
    frame_release(&frame);
    assert_null(frame.plane[0]);
  }
  assert_int_equal(host_pictures_take(&pictures, PIXEL_YUV420P, 31, 7, &frame, NULL), 0);
  assert_true(frame.format == PIXEL_YUV420P && frame.width == 31 && frame.height == 7);
  host_pictures_free(&pictures);
  memset(frame_plane(&frame, 2), 1, (size_t)frame.pitch[2] * 4);
  assert_int_equal(held.plane[0][15 * held.pitch[0] + 63], 77);
  frame_release(&frame);
  frame_release(&held);
}

static void test_frames_share_a_picture(void **state) {
  (void)state;
  struct host_pictures pictures = {0};
  struct frame one, plain = {.plane = {(const uint8_t *)"x"}};
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, 4, 4, &one, NULL), 0);
  one.pts = 1;
  struct frame two = frame_hold(&one);
  two.pts = 2; /* the frame has its own time and shares the pixels */
  assert_true(two.plane[0] == one.plane[0] && one.pts == 1);
  frame_release(&one);
  frame_plane(&two, 0)[0] = 9;
  assert_int_equal(two.picture->holds, 1);
  frame_release(&two);
  struct frame same = frame_hold(&plain); /* this memory belongs to no picture */
  assert_true(!same.picture && frame_wait(&same, MEMORY_HOST, NULL) == 0 && frame_ready(&same, MEMORY_HOST));
  frame_release(&same);
  frame_release(&same);
  host_pictures_free(&pictures);
}

/* --- a GPU --- */

static struct {
  int allocated, freed;
  bool full;
} pinning;

static void *alloc_pinned(const struct gpu *gpu, size_t bytes) {
  assert_int_equal(gpu->id.ordinal, 3);
  pinning.allocated += !pinning.full;
  return pinning.full ? NULL : malloc(bytes);
}

static void free_pinned(const struct gpu *gpu, void *memory) {
  assert_int_equal(gpu->id.ordinal, 3);
  pinning.freed++;
  free(memory);
}

/* Page-locked memory is returned to the GPU that allocated it, also after the pictures' pool was closed; if none is
 * left, ordinary memory is used. */
static void test_pinned_memory(void **state) {
  (void)state;
  static const struct gpu_impl impl = {.alloc_host = alloc_pinned, .free_host = free_pinned};
  struct host_pictures pictures = {.gpu = {.impl = &impl, .id = {.ordinal = 3}}}, plain = {.width = 0};
  struct frame one, two, three;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_NV12, 33, 5, &one, NULL), 0);
  pinning.full = true;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_NV12, 33, 5, &two, NULL), 0);
  assert_int_equal(host_pictures_take(&plain, PIXEL_NV12, 33, 5, &three, NULL), 0);
  assert_true(frame_pinned(&one) && !frame_pinned(&two) && !frame_pinned(&three));
  assert_int_equal(frame_wait(&one, MEMORY_HOST, NULL), 0);
  memset(frame_plane(&one, 0), 1, (size_t)one.pitch[0] * 5);
  memset(frame_plane(&two, 0), 1, (size_t)two.pitch[0] * 5);
  host_pictures_free(&pictures);
  host_pictures_free(&plain);
  assert_true(pinning.allocated == 1 && pinning.freed == 0);
  frame_release(&one);
  frame_release(&two);
  frame_release(&three);
  assert_int_equal(pinning.freed, 1);
}

/* --- pictures of an owner --- */

struct owned {
  struct picture base;
  bool alive;
};

static struct {
  atomic_int made, recycled, destroyed, waits;
  int fail_make; /* number of the call that fails, from 1; 0: none */
  bool ready, broken;
  pthread_t recycler;
} owner_log;

static int make_owned(void *opaque, struct picture *picture, struct error *err) {
  if (owner_log.made + 1 == owner_log.fail_make)
    return error_set(err, STATUS_DEVICE, "no more of that memory");
  picture->memory = *(unsigned *)opaque;
  picture->template.width = 3;
  ((struct owned *)picture)->alive = true;
  owner_log.made++;
  return 0;
}

static void recycle_owned(struct picture *picture) {
  assert_true(((struct owned *)picture)->alive);
  owner_log.recycler = pthread_self();
  owner_log.recycled++;
}

static void destroy_owned(struct picture *picture) {
  ((struct owned *)picture)->alive = false;
  owner_log.destroyed++;
}

static int wait_owned(struct picture *picture, enum memory kind, struct error *err) {
  (void)picture, (void)kind;
  owner_log.waits++;
  return owner_log.broken ? error_set(err, STATUS_DEVICE, "the copy has failed") : 0;
}

static bool ready_owned(struct picture *picture, enum memory kind) {
  (void)picture, (void)kind;
  return owner_log.ready;
}

static const struct picture_owner owner = {.bytes = sizeof(struct owned),
                                           .make = make_owned,
                                           .recycle = recycle_owned,
                                           .destroy = destroy_owned,
                                           .wait = wait_owned,
                                           .ready = ready_owned};

static int forget(void **state) {
  (void)state;
  memset(&owner_log, 0, sizeof owner_log);
  return 0;
}

/* A bounded pool gives no more pictures than its bound, all of which were allocated at the start. */
static void test_bounded_pool(void **state) {
  (void)state;
  enum { MOST = 3 };
  struct picture_pool *pool;
  struct frame frames[MOST + 1];
  unsigned memory = MEMORY_HOST;
  assert_int_equal(picture_pool_open(&pool, &owner, &memory, MOST, MOST, NULL), 0);
  assert_int_equal(owner_log.made, MOST);
  for (int i = 0; i < MOST; i++) {
    assert_int_equal(picture_pool_take(pool, &frames[i], NULL), 1);
    assert_int_equal(frames[i].width, 3);
  }
  assert_int_equal(picture_pool_take(pool, &frames[MOST], NULL), 0);
  frame_release(&frames[1]);
  assert_int_equal(picture_pool_take(pool, &frames[1], NULL), 1);
  assert_int_equal(picture_pool_take(pool, &frames[MOST], NULL), 0);
  assert_int_equal(owner_log.made, MOST);
  frame_release(&frames[0]);
  picture_pool_close(&pool);
  assert_null(pool);
  assert_int_equal(owner_log.destroyed, 1);
  frame_release(&frames[2]);
  frame_release(&frames[1]);
  assert_int_equal(owner_log.destroyed, MOST);
  assert_int_equal(owner_log.recycled, MOST + 1);
}

static void test_memory_that_is_not_there(void **state) {
  (void)state;
  struct picture_pool *pool;
  struct frame frame, other;
  struct error err = {0};
  unsigned memory = MEMORY_HOST;
  owner_log.fail_make = 3;
  assert_int_equal(picture_pool_open(&pool, &owner, &memory, 4, 4, &err), -1);
  assert_null(pool);
  assert_int_equal(err.status, STATUS_DEVICE);
  assert_int_equal(owner_log.destroyed, 2);
  forget(NULL);
  owner_log.fail_make = 2;
  assert_int_equal(picture_pool_open(&pool, &owner, &memory, 0, 0, &err), 0);
  assert_int_equal(picture_pool_take(pool, &frame, &err), 1);
  assert_int_equal(picture_pool_take(pool, &other, &err), -1);
  owner_log.fail_make = 0;
  assert_int_equal(picture_pool_take(pool, &other, &err), 1);
  frame_release(&frame);
  frame_release(&other);
  picture_pool_close(&pool);
  assert_int_equal(owner_log.destroyed, 2);
}

/* A reader waits for the owner's fence, and gets an error if the picture will never be complete. */
static void test_fence(void **state) {
  (void)state;
  struct picture_pool *pool;
  struct frame frame;
  struct error err = {0};
  unsigned memory = MEMORY_HOST | MEMORY_DEVICE;
  assert_int_equal(picture_pool_open(&pool, &owner, &memory, 1, 1, NULL), 0);
  assert_int_equal(picture_pool_take(pool, &frame, NULL), 1);
  assert_false(frame_ready(&frame, MEMORY_HOST));
  assert_int_equal(frame_wait(&frame, MEMORY_HOST, &err), 0);
  assert_int_equal(frame_wait(&frame, MEMORY_DEVICE, &err), 0);
  assert_int_equal(owner_log.waits, 2);
  owner_log.ready = true;
  assert_true(frame_ready(&frame, MEMORY_HOST));
  owner_log.broken = true;
  assert_int_equal(frame_wait(&frame, MEMORY_HOST, &err), -1);
  assert_string_equal(err.message, "the copy has failed");
  frame.picture->memory = MEMORY_DEVICE;
  assert_int_equal(frame_wait(&frame, MEMORY_HOST, &err), -1);
  assert_non_null(strstr(err.message, "not in the host's memory"));
  assert_int_equal(owner_log.waits, 3);
  frame_release(&frame);
  picture_pool_close(&pool);
}

/* A GPU reads device planes only from its own memory; each picture has a number of its own. */
static void test_device_pictures(void **state) {
  (void)state;
  const struct gpu_id none = {.ordinal = 0}, first = {.uuid = {1, 2}}, second = {.uuid = {1, 3}};
  const struct frame nobodys = {.width = 1};
  struct picture_pool *pool;
  struct frame frame, other;
  unsigned memory = MEMORY_HOST | MEMORY_DEVICE;
  assert_int_equal(picture_pool_open(&pool, &owner, &memory, 2, 2, NULL), 0);
  assert_int_equal(picture_pool_take(pool, &frame, NULL), 1);
  assert_int_equal(picture_pool_take(pool, &other, NULL), 1);
  assert_true(frame.picture->number && other.picture->number && frame.picture->number != other.picture->number);
  assert_true(frame.picture->share == -1 && !frame.picture->fence);
  assert_false(frame_on_gpu(&frame, &none));
  frame.picture->gpu = first;
  assert_true(frame_on_gpu(&frame, &first) && !frame_pinned(&frame));
  assert_false(frame_on_gpu(&frame, &second) || frame_on_gpu(&frame, &none) || frame_on_gpu(&nobodys, &first));
  frame.picture->memory = MEMORY_HOST;
  assert_false(frame_on_gpu(&frame, &first));
  frame_release(&frame);
  frame_release(&other);
  picture_pool_close(&pool);
}

static void *let_go(void *opaque) {
  frame_release(opaque);
  return NULL;
}

/* Whichever thread releases a picture last returns it to the pool. */
static void test_release_on_another_thread(void **state) {
  (void)state;
  struct picture_pool *pool;
  struct frame frame;
  pthread_t thread;
  unsigned memory = MEMORY_HOST;
  assert_int_equal(picture_pool_open(&pool, &owner, &memory, 0, 0, NULL), 0);
  assert_int_equal(picture_pool_take(pool, &frame, NULL), 1);
  struct frame other = frame_hold(&frame);
  frame_release(&frame);
  assert_int_equal(owner_log.recycled, 0);
  picture_pool_close(&pool);
  pthread_create(&thread, NULL, let_go, &other);
  pthread_join(thread, NULL);
  assert_int_equal(owner_log.recycled, 1);
  assert_true(pthread_equal(owner_log.recycler, thread));
  assert_int_equal(owner_log.destroyed, 1);
}

enum { SHARERS = 4, TURNS = 3000, EACH = 8 };

static void *share(void *opaque) {
  const struct frame *given = opaque;
  for (int i = 0; i < TURNS; i++) {
    struct frame mine = frame_hold(given);
    assert_int_equal(mine.plane[0][0], 5);
    frame_release(&mine);
  }
  struct frame last = *given;
  frame_release(&last); /* ends the hold that came with the frame */
  return NULL;
}

/* Many threads hold and release one picture while its pool is closed. */
static void test_many_threads(void **state) {
  (void)state;
  for (int round = 0; round < EACH; round++) {
    struct host_pictures pictures = {0};
    struct frame frame, given[SHARERS];
    pthread_t threads[SHARERS];
    assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, 8, 8, &frame, NULL), 0);
    frame_plane(&frame, 0)[0] = 5;
    for (int i = 0; i < SHARERS; i++) {
      given[i] = frame_hold(&frame);
      pthread_create(&threads[i], NULL, share, &given[i]);
    }
    frame_release(&frame);
    host_pictures_free(&pictures);
    for (int i = 0; i < SHARERS; i++)
      pthread_join(threads[i], NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_memory_circles),
      cmocka_unit_test(test_frames_share_a_picture),
      cmocka_unit_test(test_pinned_memory),
      cmocka_unit_test_setup(test_bounded_pool, forget),
      cmocka_unit_test_setup(test_memory_that_is_not_there, forget),
      cmocka_unit_test_setup(test_fence, forget),
      cmocka_unit_test_setup(test_device_pictures, forget),
      cmocka_unit_test_setup(test_release_on_another_thread, forget),
      cmocka_unit_test(test_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
