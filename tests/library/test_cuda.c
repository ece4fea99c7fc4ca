/* The library with frames and pictures in CUDA memory: the pixels are those of the host's memory, streams wait for each
 * other, and memory stays as it is. Skipped without a GPU.
 *
 *   test_cuda [PATTERN]      only the tests whose names match */
#include "cuda_util.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/rigs/resident.h"

enum { KINDS = 5 };

static uint8_t expected[KINDS][BYTES_MOST], made[BYTES_MOST];

/* --- the same pixels in both memories --- */

/* Frames of each format, of which the rows of some have odd lengths, and pictures of some formats. */
static void pixels_are_the_hosts(void **state) {
  (void)state;
  static const int outputs[] = {REVERIE_RGBA, REVERIE_NV12, REVERIE_P010, REVERIE_I420};
  cudaStream_t stream;
  cudaEvent_t event;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    struct reverie *host = open_on_gpu((struct reverie_config){.format = outputs[i]});
    struct reverie *cuda = open_on_gpu((struct reverie_config){.format = outputs[i], .memory = REVERIE_CUDA});
    for (int format = REVERIE_RGBA; format <= REVERIE_YUYV; format++) {
      struct frames frames = make_frames(format, format, format == REVERIE_P010 ? 6 : format);
      struct reverie_picture picture = picture_of(host, &frames.host);
      assert_true(picture.memory == REVERIE_HOST && !picture.ready);
      size_t bytes = copy_picture(&picture, expected[0]);
      reverie_release(&picture);
      copy_frames(&frames, stream);
      CUDA(cudaEventRecord(event, stream));
      for (int how = 0; how < 3; how++) { /* an event, a stream, and neither */
        frames.cuda.event = how == 0 ? event : NULL;
        frames.cuda.stream = how == 1 ? stream : NULL;
        picture = picture_of(cuda, &frames.cuda);
        assert_true(picture.memory == REVERIE_CUDA && picture.device == 0 && !picture.ready);
        assert_int_equal(copy_picture(&picture, made), bytes);
        assert_memory_equal(made, expected[0], bytes);
        reverie_release(&picture);
      }
      picture = picture_of(cuda, &frames.host);
      copy_picture(&picture, made);
      assert_memory_equal(made, expected[0], bytes);
      reverie_release(&picture);
      picture = picture_of(host, &frames.cuda);
      copy_picture(&picture, made);
      assert_memory_equal(made, expected[0], bytes);
      reverie_release(&picture);
      free_frames(&frames);
    }
    reverie_destroy(&host);
    reverie_destroy(&cuda);
  }
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

/* Makes the pictures of KINDS frames, and stores them in `expected`. */
static void make_all(struct reverie *reverie, struct frames frames[KINDS]) {
  for (int i = 0; i < KINDS; i++) {
    frames[i] = make_frames(REVERIE_RGBA, i, 0);
    copy_frames(&frames[i], cudaStreamLegacy);
    CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    struct reverie_picture picture = picture_of(reverie, &frames[i].host);
    MUST(reverie_wait_on(&picture, cudaStreamLegacy, error));
    copy_picture(&picture, expected[i]);
    reverie_release(&picture);
    assert_true(i == 0 || memcmp(expected[i], expected[i - 1], sizeof made));
  }
}

static void free_all(struct frames frames[KINDS]) {
  for (int i = 0; i < KINDS; i++)
    free_frames(&frames[i]);
}

/* --- many frames --- */

/* A thousand frames, two in flight; neither memory grows. */
static void memory_is_flat(void **state) {
  (void)state;
  enum { FRAMES = 1000, WARM = 100, ALLOWED_KB = 4096 };
  for (int early = 0; early < 2; early++) {
    struct reverie *reverie =
        open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA, .pictures = 2, .flags = early ? REVERIE_EARLY : 0});
    struct reverie_picture picture = {.size = sizeof picture};
    struct frames frames[KINDS];
    size_t left = 0, left_now, all;
    long resident = 0;
    make_all(reverie, frames);
    for (int i = 0; i < FRAMES + 1; i++) {
      if (i < FRAMES)
        MUST(reverie_submit(reverie, &frames[i % KINDS].cuda, error));
      if (i == WARM) {
        CUDA(cudaMemGetInfo(&left, &all));
        resident = resident_kb();
      }
      if (i == 0)
        continue;
      MUST(reverie_collect(reverie, &picture, error));
      MUST(reverie_wait_on(&picture, cudaStreamLegacy, error));
      size_t bytes = copy_picture(&picture, made);
      assert_memory_equal(made, expected[(i - 1) % KINDS], bytes);
      reverie_release(&picture);
    }
    CUDA(cudaMemGetInfo(&left_now, &all));
    print_message("%d frames%s: %ld KB more, %ld bytes of the GPU's memory less\n", FRAMES, early ? ", early" : "",
                  resident_kb() - resident, (long)(left - left_now));
    assert_true(left_now == left && resident_kb() <= resident + ALLOWED_KB);
    free_all(frames);
    reverie_destroy(&reverie);
  }
}

/* --- streams that wait for each other --- */

/* Planes are written late, by a stream that the frame names by itself, by an event, or by the library's own stream: the
 * run waits, and the thread does not. */
static void runs_wait_for_frames(void **state) {
  (void)state;
  enum { FRAMES = 30 };
  struct reverie *reverie = open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA});
  struct reverie_info info = {.size = sizeof info};
  struct frames frames[KINDS];
  cudaStream_t stream;
  cudaEvent_t event;
  MUST(reverie_get_info(reverie, &info, error));
  assert_true(info.gpu == 0 && info.stream);
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  make_all(reverie, frames);
  for (int i = 0; i < FRAMES; i++) {
    struct frames *now = &frames[i % KINDS];
    CUDA(cudaMemset(now->memory, 0, BYTES_MOST));
    CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    slow_down(stream);
    copy_frames(now, stream);
    CUDA(cudaEventRecord(event, stream));
    if (i % 3 == 2)
      CUDA(cudaStreamWaitEvent(info.stream, event, 0));
    now->cuda.event = i % 3 == 0 ? event : NULL;
    now->cuda.stream = i % 3 == 1 ? stream : i % 3 == 2 ? info.stream : NULL;
    struct reverie_picture picture = picture_of(reverie, &now->cuda);
    size_t bytes = copy_picture(&picture, made);
    assert_memory_equal(made, expected[i % KINDS], bytes);
    reverie_release(&picture);
  }
  free_all(frames);
  reverie_destroy(&reverie);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

/* Pictures are read late, by a stream that the thread does not wait for. Each stream waits for the picture (by turns by
 * the library's function and by the event), and runs wait until it has read it: there is memory for one picture more
 * than there are runs. By turns, two streams read a picture. */
static void pictures_wait_for_readers(void **state) {
  (void)state;
  enum { FRAMES = 40 };
  struct reverie *reverie = open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA, .flags = REVERIE_EARLY});
  struct frames frames[KINDS];
  cudaStream_t streams[2];
  uint8_t *copies;
  size_t bytes = 4 * SIDE * SIDE;
  make_all(reverie, frames);
  for (int i = 0; i < 2; i++)
    CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
  CUDA(cudaHostAlloc((void **)&copies, 2 * FRAMES * bytes, cudaHostAllocDefault));
  memset(copies, 0, 2 * FRAMES * bytes);
  for (int i = 0; i < FRAMES; i++) {
    struct reverie_picture picture = picture_of(reverie, &frames[i % KINDS].cuda);
    void *tensor = NULL;
    assert_non_null(picture.ready);
    if (i % 2)
      CUDA(cudaStreamWaitEvent(streams[0], picture.ready, 0));
    else
      MUST(reverie_wait_on(&picture, streams[0], error));
    MUST(reverie_to_dlpack(&picture, 0, streams[1], &tensor, error));
    for (int j = 0; j < 2; j++) {
      if (j == i % 2)
        slow_down(streams[j]);
      copy_picture_on(&picture, copies + (size_t)(2 * i + j) * bytes, streams[j]);
    }
    /* in this struct of DLPack the deleter is the last field, behind the tensor's 48 bytes and the owner */
    void (*deleter)(void *) = *(void (**)(void *))((char *)tensor + 56);
    if (i % 3 == 0)
      deleter(tensor);
    MUST(reverie_release_on(&picture, streams[0], error));
    if (i % 3)
      deleter(tensor);
  }
  for (int i = 0; i < 2; i++)
    CUDA(cudaStreamSynchronize(streams[i]));
  for (int i = 0; i < 2 * FRAMES; i++)
    assert_memory_equal(copies + (size_t)i * bytes, expected[i / 2 % KINDS], bytes);
  cudaFreeHost(copies);
  free_all(frames);
  reverie_destroy(&reverie);
  for (int i = 0; i < 2; i++)
    cudaStreamDestroy(streams[i]);
}

/* The picture of one engine, which the GPU has still to make, is the frame of another. */
static void engines_follow_each_other(void **state) {
  (void)state;
  enum { FRAMES = 20 };
  struct reverie *first =
      open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA, .flags = REVERIE_EARLY, .pictures = 4});
  struct reverie *second = open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA});
  struct frames frames[KINDS];
  make_all(first, frames);
  for (int i = 0; i < KINDS; i++) {
    memcpy(frames[i].pixels, expected[i], 4 * SIDE * SIDE);
    struct reverie_picture picture = picture_of(second, &frames[i].host);
    copy_picture(&picture, expected[i]);
    reverie_release(&picture);
  }
  for (int i = 0; i < FRAMES; i++) {
    struct reverie_picture between = picture_of(first, &frames[i % KINDS].cuda);
    struct reverie_frame frame = frames[i % KINDS].cuda;
    frame.plane[0] = between.plane[0];
    frame.pitch[0] = between.pitch[0];
    frame.event = between.ready;
    struct reverie_picture picture = picture_of(second, &frame);
    reverie_release(&between);
    size_t bytes = copy_picture(&picture, made);
    assert_memory_equal(made, expected[i % KINDS], bytes);
    reverie_release(&picture);
  }
  free_all(frames);
  reverie_destroy(&first);
  reverie_destroy(&second);
}

/* --- memory that others import, and that outlives the engine --- */

/* A second mapping of the memory shows each picture, and the mapping of a number serves all its pictures. */
static void memory_is_exported(void **state) {
  (void)state;
  enum { FRAMES = 12, NUMBERS = 8 };
  struct reverie *reverie =
      open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA, .shares = 1, .flags = REVERIE_EARLY});
  struct frames frames[KINDS];
  struct mapping known[NUMBERS];
  uint64_t numbers[NUMBERS];
  int count = 0;
  make_all(reverie, frames);
  for (int i = 0; i < FRAMES; i++) {
    struct reverie_picture picture = picture_of(reverie, &frames[i % KINDS].cuda), other = picture;
    int descriptor, at = 0;
    size_t size;
    MUST(reverie_export(&picture, &descriptor, &size, error));
    assert_true(descriptor >= 0 && size >= (size_t)picture.pitch[0] * SIDE);
    while (at < count && numbers[at] != picture.number)
      at++;
    if (at == count) {
      assert_true(count < NUMBERS);
      numbers[count] = picture.number;
      known[count++] = map_memory(descriptor, size);
    } else {
      close(descriptor);
    }
    assert_ptr_not_equal(known[at].bytes, picture.plane[0]);
    other.plane[0] = known[at].bytes;
    size_t bytes = copy_picture(&other, made);
    assert_memory_equal(made, expected[i % KINDS], bytes);
    reverie_release(&picture);
  }
  print_message("%d pictures in %d mappings, made by %s\n", FRAMES, count,
                known[0].external ? "cudaImportExternalMemory" : "cuMemImportFromShareableHandle");
  for (int i = 0; i < count; i++)
    unmap_memory(&known[i]);
  free_all(frames);
  reverie_destroy(&reverie);
}

/* Returns how many of this process's file descriptors a program would inherit that it starts. */
static int count_inherited(void) {
  enum { DESCRIPTORS = 4096 };
  int count = 0;
  for (int i = 0; i < DESCRIPTORS; i++) {
    int flags = fcntl(i, F_GETFD);
    count += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return count;
}

/* A program that is started while pictures are there does not inherit their memory, and so does not keep it. */
static void memory_is_not_inherited(void **state) {
  (void)state;
  int inherited[2];
  for (int shares = 0; shares < 2; shares++) {
    struct reverie *reverie = open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA, .shares = shares});
    struct frames frames = make_frames(REVERIE_RGBA, 0, 0);
    struct reverie_picture picture = picture_of(reverie, &frames.host);
    int descriptor = -1;
    size_t size;
    if (shares)
      MUST(reverie_export(&picture, &descriptor, &size, error));
    inherited[shares] = count_inherited();
    if (shares)
      close(descriptor);
    reverie_release(&picture);
    reverie_destroy(&reverie);
    free_frames(&frames);
  }
  assert_int_equal(inherited[1], inherited[0]);
}

static void picture_outlives_its_engine(void **state) {
  (void)state;
  for (int early = 0; early < 2; early++) {
    struct reverie *reverie =
        open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA, .flags = early ? REVERIE_EARLY : 0});
    struct frames frames[KINDS];
    make_all(reverie, frames);
    struct reverie_picture picture = picture_of(reverie, &frames[3].cuda);
    MUST(reverie_submit(reverie, &frames[1].cuda, error)); /* this one is never collected */
    reverie_destroy(&reverie);
    MUST(reverie_wait_on(&picture, cudaStreamLegacy, error));
    size_t bytes = copy_picture(&picture, made);
    assert_memory_equal(made, expected[3], bytes);
    MUST(reverie_release_on(&picture, cudaStreamLegacy, error));
    free_all(frames);
  }
}

/* --- the current GPU of a program's threads --- */

struct late_picture {
  struct reverie_picture picture;
  get_context_function get_context;
  void *before, *after; /* the context of the thread that uses the picture, before and after that */
  int status;           /* sum of the statuses of the functions that the thread calls */
};

/* Does all that may be done with a picture after its engine is gone. */
static void *use_and_release(void *opaque) {
  struct late_picture *late = opaque;
  int descriptor = -1;
  size_t size;
  int status = late->get_context(&late->before);
  status += reverie_wait_on(&late->picture, cudaStreamLegacy, NULL);
  status += reverie_export(&late->picture, &descriptor, &size, NULL);
  status += reverie_release_on(&late->picture, cudaStreamLegacy, NULL);
  close(descriptor);
  late->status = status + late->get_context(&late->after);
  return NULL;
}

/* Makes a picture that the GPU is still to write, and destroys its engine. */
static struct reverie_picture make_late(const char *device) {
  struct reverie *reverie = open_on_gpu(
      (struct reverie_config){.device = device, .memory = REVERIE_CUDA, .shares = 1, .flags = REVERIE_EARLY});
  struct frames frames = make_frames(REVERIE_RGBA, 3, 0);
  struct reverie_picture picture = picture_of(reverie, &frames.host);
  reverie_destroy(&reverie);
  free_frames(&frames);
  return picture;
}

/* A thread that has no context of CUDA, and so none of a GPU's memory, has none afterwards. */
static void threads_get_no_context(void **state) {
  (void)state;
  struct late_picture late = {.picture = make_late("cuda"), .get_context = find_get_context()};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, use_and_release, &late), 0);
  pthread_join(thread, NULL);
  assert_int_equal(late.status, 0);
  assert_null(late.before);
  assert_null(late.after);
}

/* Whoever uses a picture when its engine is gone keeps his current GPU, be it the picture's or another one. */
static void current_gpu_stays(void **state) {
  (void)state;
  int count, now;
  CUDA(cudaGetDeviceCount(&count));
  if (count < 2)
    skip();
  for (int gpu = 0; gpu < 2; gpu++)
    for (int current = 0; current < 2; current++) {
      struct late_picture late = {.picture = make_late(gpu ? "cuda:1" : "cuda:0"), .get_context = find_get_context()};
      assert_int_equal(late.picture.device, gpu);
      CUDA(cudaSetDevice(current));
      use_and_release(&late);
      CUDA(cudaGetDevice(&now));
      assert_int_equal(now, current);
      assert_int_equal(late.status, 0);
      assert_ptr_equal(late.after, late.before);
    }
  CUDA(cudaSetDevice(0));
}

/* --- what is refused --- */

static bool refused(int returned, const struct reverie_error *error, const char *words) {
  if (returned == REVERIE_INPUT && strstr(error->message, words))
    return true;
  print_message("status %d and \"%s\" instead of \"%s\"\n", returned, error->message, words);
  return false;
}

static void wrong_frames_are_refused(void **state) {
  (void)state;
  struct reverie *reverie = open_on_gpu((struct reverie_config){.memory = REVERIE_CUDA});
  struct reverie_error told = {.size = sizeof told};
  struct frames frames = make_frames(REVERIE_P010, 1, 0);
  struct reverie_picture picture = {.size = sizeof picture};
  static uint8_t pageable[4 * SIDE * SIDE];
  int descriptor;
  size_t bytes;
  struct reverie_frame frame = frames.cuda;
  frame.device = 63;
  assert_true(refused(reverie_submit(reverie, &frame, &told), &told, "GPU 63"));
  frame = frames.cuda;
  frame.event = frame.stream = &frame;
  assert_true(refused(reverie_submit(reverie, &frame, &told), &told, "an event and a stream"));
  frame = frames.cuda;
  frame.plane[1] = (const uint8_t *)frame.plane[1] + 1;
  assert_true(refused(reverie_submit(reverie, &frame, &told), &told, "plane 1 of the frame: 16-bit"));
  frame = frames.cuda;
  frame.plane[1] = pageable;
  assert_true(refused(reverie_submit(reverie, &frame, &told), &told, "plane 1 of the frame: "));
  frame = frames.cuda;
  frame.pitch[0] = SIDE;
  assert_true(refused(reverie_submit(reverie, &frame, &told), &told, "plane 0"));
  frame = frames.cuda;
  frame.pitch[0] = 1 << 30; /* the last row is beyond all memory of the GPU */
  assert_true(refused(reverie_submit(reverie, &frame, &told), &told, "plane 0 of the frame: the last of its "));
  assert_int_equal(reverie_in_flight(reverie), 0);
  MUST(reverie_submit(reverie, &frames.cuda, error));
  MUST(reverie_submit(reverie, &frames.host, error));
  MUST(reverie_collect(reverie, &picture, error));
  assert_int_equal(reverie_export(&picture, &descriptor, &bytes, &told), REVERIE_USAGE);
  assert_non_null(strstr(told.message, "reverie_config.shares"));
  reverie_release(&picture);
  MUST(reverie_collect(reverie, &picture, error));
  reverie_release(&picture);
  reverie_destroy(&reverie);
  free_frames(&frames);
  CUDA(cudaGetLastError());
}

int main(int argc, char **argv) {
  int skipped = look_for_gpu();
  if (skipped)
    return skipped;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pixels_are_the_hosts),      cmocka_unit_test(memory_is_flat),
      cmocka_unit_test(runs_wait_for_frames),      cmocka_unit_test(pictures_wait_for_readers),
      cmocka_unit_test(engines_follow_each_other), cmocka_unit_test(memory_is_exported),
      cmocka_unit_test(memory_is_not_inherited),   cmocka_unit_test(picture_outlives_its_engine),
      cmocka_unit_test(threads_get_no_context),    cmocka_unit_test(current_gpu_stays),
      cmocka_unit_test(wrong_frames_are_refused),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove_folder();
  return failed;
}
