/* The library's functions in a program that knows reverie.h alone: what is refused, what a change of values does, and
 * what several threads may do. */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include <reverie.h>

enum { SIDE = 64 };

static uint8_t pixels[SIDE][SIDE][4];
static const char *goldens; /* the folder of goldens */

static struct reverie_frame a_frame(void) {
  return (struct reverie_frame){.size = sizeof(struct reverie_frame),
                                .format = REVERIE_RGBA,
                                .width = SIDE,
                                .height = SIDE,
                                .plane = {pixels},
                                .pitch = {4 * SIDE}};
}

static struct reverie *made(const struct reverie_config *config) {
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  if (reverie_create(&reverie, config, &error) || reverie_open(reverie, &error) ||
      reverie_prepare(reverie, SIDE, SIDE, &error))
    fail_msg("%s", error.message);
  return reverie;
}

/* True if the call was refused with this status and a sentence that has these words. */
static bool refused(int returned, const struct reverie_error *error, int status, const char *words) {
  if (returned == status && error->status == status && strstr(error->message, words))
    return true;
  print_message("status %d and \"%s\" instead of %d and \"%s\"\n", returned, error->message, status, words);
  return false;
}

static uint64_t hash_of(const struct reverie_picture *picture) {
  uint64_t hash = 14695981039346656037u;
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < 4 * picture->width; x++)
      hash = (hash ^ ((const uint8_t *)picture->plane[0])[y * picture->pitch[0] + x]) * 1099511628211u;
  return hash;
}

/* Collects the oldest picture, and returns a checksum of its pixels. */
static uint64_t collected(struct reverie *reverie, int width) {
  struct reverie_picture picture = {.size = sizeof picture};
  struct reverie_error error = {.size = sizeof error};
  if (reverie_collect(reverie, &picture, &error))
    fail_msg("%s", error.message);
  assert_int_equal(picture.width, width);
  uint64_t hash = hash_of(&picture);
  reverie_release(&picture);
  assert_null(picture.plane[0]);
  reverie_release(&picture);
  return hash;
}

static void submit(struct reverie *reverie) {
  struct reverie_frame frame = a_frame();
  struct reverie_error error = {.size = sizeof error};
  if (reverie_submit(reverie, &frame, &error))
    fail_msg("%s", error.message);
}

static uint64_t picture_of(struct reverie *reverie) {
  submit(reverie);
  return collected(reverie, SIDE);
}

static void is(struct reverie *reverie, const char *name, const char *value) {
  char text[64];
  assert_int_equal(reverie_get(reverie, name, text, sizeof text, NULL), 0);
  assert_string_equal(text, value);
}

/* --- refused calls --- */

static void refuses_what_is_too_early(void **state) {
  (void)state;
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_frame frame = a_frame();
  struct reverie_picture picture = {.size = sizeof picture};
  struct reverie_config config = {.size = sizeof config, .format = 77};
  assert_true(refused(reverie_create(&reverie, &config, &error), &error, REVERIE_USAGE, "format 77"));
  struct reverie_config unsized = {.device = "cpu"};
  struct reverie_parameter parameter = {0};
  assert_true(
      refused(reverie_create(&reverie, &unsized, &error), &error, REVERIE_USAGE, "sizeof(struct reverie_config)"));
  assert_null(reverie);
  assert_true(refused(reverie_describe_parameter(0, &parameter, &error), &error, REVERIE_USAGE,
                      "sizeof(struct reverie_parameter)"));
  assert_null(reverie);
  config = (struct reverie_config){.size = sizeof config, .flags = 64};
  assert_true(refused(reverie_create(&reverie, &config, &error), &error, REVERIE_USAGE, "0x40"));
  assert_int_equal(reverie_create(&reverie, NULL, NULL), 0);
  assert_true(refused(reverie_submit(reverie, &frame, &error), &error, REVERIE_USAGE, "reverie_open comes first"));
  assert_true(refused(reverie_prepare(reverie, 64, 64, &error), &error, REVERIE_USAGE, "reverie_open comes first"));
  assert_true(refused(reverie_collect(reverie, &picture, &error), &error, REVERIE_USAGE, "no frame is in flight"));
  assert_int_equal(reverie_in_flight(reverie), 0);
  assert_int_equal(reverie_set(reverie, "model", "/nowhere", NULL), 0);
  assert_true(refused(reverie_open(reverie, &error), &error, REVERIE_MODEL, "/nowhere"));
  assert_int_equal(reverie_set(reverie, "model", NULL, NULL), 0);
  assert_int_equal(reverie_open(reverie, &error), 0);
  assert_string_equal(error.message, "");
  assert_true(refused(reverie_open(reverie, &error), &error, REVERIE_USAGE, "a model is open"));
  assert_true(refused(reverie_set(reverie, "vae", "x", &error), &error, REVERIE_USAGE, "reverie_open reads it"));
  reverie_destroy(&reverie);
  reverie_destroy(&reverie);
}

static void refuses_wrong_frames(void **state) {
  struct reverie *reverie = *state;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture small = {.size = 8};
  const struct {
    struct reverie_frame frame;
    int status;
    const char *words;
  } cases[] = {
      {{.size = 0}, REVERIE_USAGE, "sizeof(struct reverie_frame)"},
      {{.size = sizeof(struct reverie_frame)}, REVERIE_INPUT, "format 0"},
      {{.size = sizeof(struct reverie_frame), .format = REVERIE_RGBA, .width = 40000, .height = 2},
       REVERIE_INPUT,
       "40000x2"},
      {{.size = sizeof(struct reverie_frame),
        .format = REVERIE_NV12,
        .width = 8,
        .height = 8,
        .plane = {pixels},
        .pitch = {8}},
       REVERIE_INPUT,
       "plane 1"},
      {{.size = sizeof(struct reverie_frame),
        .format = REVERIE_RGBA,
        .width = 8,
        .height = 8,
        .plane = {pixels},
        .pitch = {31}},
       REVERIE_INPUT,
       "31 bytes"},
      {{.size = sizeof(struct reverie_frame),
        .format = REVERIE_RGBA,
        .width = 8,
        .height = 8,
        .plane = {pixels},
        .pitch = {32},
        .range = 5},
       REVERIE_INPUT,
       "range 5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_true(refused(reverie_submit(reverie, &cases[i].frame, &error), &error, cases[i].status, cases[i].words));
  assert_true(refused(reverie_submit(reverie, NULL, &error), &error, REVERIE_USAGE, "no frame was given"));
  assert_true(refused(reverie_prepare(reverie, 63, 64, &error), &error, REVERIE_USAGE, "63"));
  assert_int_equal(reverie_prepare(reverie, SIDE, SIDE, &error), 0);
  submit(reverie);
  submit(reverie);
  struct reverie_frame frame = a_frame();
  assert_true(refused(reverie_submit(reverie, &frame, &error), &error, REVERIE_USAGE, "2 frames are in flight"));
  assert_true(
      refused(reverie_collect(reverie, &small, &error), &error, REVERIE_USAGE, "sizeof(struct reverie_picture)"));
  assert_int_equal(reverie_in_flight(reverie), 2);
  assert_true(collected(reverie, SIDE) == collected(reverie, SIDE));
  assert_true(refused(reverie_set_style(reverie, 1, &frame, &error), &error, REVERIE_USAGE, "ip-adapter"));
  assert_true(refused(reverie_set_style(reverie, 9, &frame, &error), &error, REVERIE_USAGE, "1 to 4"));
}

static void refuses_more_pictures_than_said(void **state) {
  struct reverie *reverie = *state;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture held[8];
  struct reverie_frame frame = a_frame();
  int status = 0, count = 0;
  while (count < 8 && !status) {
    held[count] = (struct reverie_picture){.size = sizeof *held};
    status = reverie_submit(reverie, &frame, &error);
    if (!status)
      assert_int_equal(reverie_collect(reverie, &held[count++], NULL), 0);
  }
  assert_true(count >= 1 && count < 8);
  assert_int_equal(status, REVERIE_HELD);
  while (count > 0)
    reverie_release(&held[--count]);
  picture_of(reverie);
}

/* --- frames --- */

static uint64_t picture_of_frame(struct reverie *reverie, const struct reverie_frame *frame) {
  struct reverie_error error = {.size = sizeof error};
  if (reverie_submit(reverie, frame, &error))
    fail_msg("%s", error.message);
  return collected(reverie, SIDE);
}

/* Rows that are far apart give the picture of rows that follow each other, also beyond the 2 GiB that an int counts. */
static void reads_planes_of_4_gigabytes(void **state) {
  struct reverie *reverie = *state;
  enum { ROWS = 4096, PITCH = 1 << 20, ROW = 4 * SIDE };
  const size_t bytes = (size_t)ROWS * PITCH;
  uint8_t *packed = malloc((size_t)ROWS * ROW);
  uint8_t *apart = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_non_null(packed);
  if (apart == MAP_FAILED) { /* the memory of a process is limited here */
    free(packed);
    skip();
  }
  struct reverie_frame frame = a_frame();
  frame.height = ROWS;
  for (size_t y = 0; y < ROWS; y++) {
    memset(packed + y * ROW, y < ROWS / 2 ? 20 + (int)y % 64 : 160 + (int)y % 64, ROW);
    memcpy(apart + y * PITCH, packed + y * ROW, ROW);
  }
  frame.plane[0] = packed;
  frame.pitch[0] = ROW;
  uint64_t expected = picture_of_frame(reverie, &frame);
  frame.plane[0] = apart;
  frame.pitch[0] = PITCH;
  assert_true(picture_of_frame(reverie, &frame) == expected);
  munmap(apart, bytes);
  free(packed);
}

/* --- values --- */

static void shows_what_was_set_before(void **state) {
  struct reverie *reverie = *state;
  assert_int_equal(reverie_set(reverie, "prompt[1]", "ink drawing", NULL), 0);
  uint64_t ink = picture_of(reverie), blueprint;
  assert_int_equal(reverie_set(reverie, "prompt[1]", "blueprint", NULL), 0);
  submit(reverie);
  assert_int_equal(reverie_set(reverie, "prompt[1]", "ink drawing", NULL), 0);
  submit(reverie);
  blueprint = collected(reverie, SIDE);
  assert_true(blueprint != ink);
  assert_true(collected(reverie, SIDE) == ink);
  assert_int_equal(reverie_set_number(reverie, "strength", 0.25, NULL), 0);
  assert_true(picture_of(reverie) != ink);
  is(reverie, "strength", "0.25");
  assert_int_equal(reverie_set(reverie, "strength", NULL, NULL), 0);
  assert_true(picture_of(reverie) == ink);
  is(reverie, "strength", "1"); /* the default that fits the mini model */
  char text[4];
  struct reverie_error error = {.size = sizeof error};
  assert_true(refused(reverie_get(reverie, "prompt[1]", text, sizeof text, &error), &error, REVERIE_USAGE, "12 bytes"));
}

static void changes_size_between_frames(void **state) {
  struct reverie *reverie = *state;
  struct reverie_info info = {.size = sizeof info};
  uint64_t first = picture_of(reverie);
  submit(reverie);
  for (int i = 1; i <= 5; i++) { /* more sizes than the engine keeps prepared */
    char size[16];
    snprintf(size, sizeof size, "%dx%d", SIDE + 32 * i, SIDE);
    assert_int_equal(reverie_set(reverie, "size", size, NULL), 0);
    submit(reverie);
    collected(reverie, SIDE + 32 * (i - 1));
  }
  collected(reverie, SIDE + 32 * 5);
  assert_int_equal(reverie_get_info(reverie, &info, NULL), 0);
  assert_true(info.width == SIDE + 32 * 5 && info.height == SIDE && info.size_multiple > 0 && info.sees_frame);
  assert_string_equal(info.model, "mini");
  int width = 100, height = 90;
  assert_int_equal(reverie_nearest_size(reverie, &width, &height, NULL), 0);
  assert_true(width % info.size_multiple == 0 && height % info.size_multiple == 0);
  assert_int_equal(reverie_prepare(reverie, SIDE, SIDE, NULL), 0);
  assert_true(picture_of(reverie) == first);
}

/* --- threads, and pictures that outlive the library's object --- */

static void count_line(void *opaque, int level, const char *line) {
  if (level == REVERIE_LOG_WARNING || *line)
    ++*(int *)opaque;
}

static void picture_outlives_its_engine(void **state) {
  (void)state;
  int lines = 0;
  struct reverie_config config = {.size = sizeof config, .log = count_line, .log_opaque = &lines, .threads = 1};
  struct reverie *reverie = made(&config);
  struct reverie_picture picture = {.size = sizeof picture};
  struct reverie_frame frame = a_frame();
  frame.time_ns = 40;
  frame.opaque = &lines;
  assert_int_equal(reverie_set(reverie, "prompt[1]", "qwerty", NULL), 0);
  assert_int_equal(reverie_submit(reverie, &frame, NULL), 0);
  assert_int_equal(reverie_collect(reverie, &picture, NULL), 0);
  assert_true(picture.time_ns == 40 && picture.opaque == &lines && picture.whole);
  assert_true(lines > 0);
  uint64_t before = hash_of(&picture);
  submit(reverie); /* this frame is never collected */
  reverie_destroy(&reverie);
  assert_true(hash_of(&picture) == before);
  reverie_release(&picture);
}

struct worker {
  struct reverie *reverie;
  uint64_t first;
  int wrong;
};

/* Makes pictures while another thread sets values and prepares sizes. */
static void *work(void *opaque) {
  struct worker *worker = opaque;
  struct reverie_frame frame = a_frame();
  for (int i = 0; i < 6; i++) {
    struct reverie_picture picture = {.size = sizeof picture};
    int failed = reverie_submit(worker->reverie, &frame, NULL) || reverie_collect(worker->reverie, &picture, NULL);
    worker->wrong += failed || (picture.width == SIDE && hash_of(&picture) != worker->first);
    reverie_release(&picture);
  }
  return NULL;
}

static void threads_work_side_by_side(void **state) {
  (void)state;
  const struct reverie_config config = {.size = sizeof config, .threads = 1};
  struct worker workers[2] = {{made(&config), 0, 0}, {made(&config), 0, 0}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    workers[i].first = picture_of(workers[i].reverie);
  assert_true(workers[0].first == workers[1].first);
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(reverie_prepare(workers[0].reverie, SIDE + 32 * i, SIDE, NULL), 0);
    assert_int_equal(reverie_set(workers[1].reverie, "prompt[2]", i % 2 ? "neon" : "mosaic", NULL), 0);
    is(workers[1].reverie, "prompt[2]", i % 2 ? "neon" : "mosaic");
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(workers[i].wrong, 0);
    reverie_destroy(&workers[i].reverie);
  }
}

/* --- style pictures --- */

static struct reverie *opened_own(const char *folder, const char *adapter) {
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  if (reverie_create(&reverie, NULL, &error) || reverie_set(reverie, "model", folder, &error) ||
      (adapter && reverie_set(reverie, "ip-adapter", adapter, &error)) || reverie_open(reverie, &error) ||
      reverie_prepare(reverie, SIDE, SIDE, &error))
    fail_msg("%s", error.message);
  return reverie;
}

/* A model whose folder has an IP-Adapter of its own takes style pictures if "ip-adapter" is "own". */
static void takes_style_pictures(void **state) {
  (void)state;
  char folder[] = "/tmp/reverie-use-XXXXXX", command[2048];
  struct reverie_error error = {.size = sizeof error};
  struct reverie_frame frame = a_frame();
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "ln -s '%s'/pix2pix/* '%s'/own/i* %s", goldens, goldens, folder);
  assert_int_equal(system(command), 0);
  struct reverie *plain = opened_own(folder, NULL), *own = opened_own(folder, "own"), *other;
  snprintf(command, sizeof command, "%s/pix2pix", goldens);
  assert_true(!reverie_create(&other, NULL, NULL) && !reverie_set(other, "model", command, NULL) &&
              !reverie_set(other, "ip-adapter", "own", NULL));
  assert_true(refused(reverie_open(other, &error), &error, REVERIE_USAGE, "has no IP-Adapter of its own"));
  reverie_destroy(&other);
  assert_true(refused(reverie_set_style(plain, 1, &frame, &error), &error, REVERIE_USAGE,
                      "names: \"own\" for this model's, set before reverie_open"));
  uint64_t without = picture_of(plain);
  assert_true(picture_of(own) == without);
  assert_int_equal(reverie_set_style(own, 1, &frame, &error), REVERIE_OK);
  assert_true(picture_of(own) != without);
  reverie_set(own, "style[1].weight", "0", &error);
  assert_true(picture_of(own) == without);
  reverie_destroy(&plain);
  reverie_destroy(&own);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

static int set_up(void **state) {
  for (int i = 0; i < SIDE * SIDE * 4; i++)
    ((uint8_t *)pixels)[i] = (uint8_t)(i * 7 + i / 256);
  *state = made(NULL);
  return 0;
}

static int tear_down(void **state) {
  reverie_destroy((struct reverie **)state);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  goldens = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_what_is_too_early),
      cmocka_unit_test(refuses_wrong_frames),
      cmocka_unit_test(refuses_more_pictures_than_said),
      cmocka_unit_test(reads_planes_of_4_gigabytes),
      cmocka_unit_test(shows_what_was_set_before),
      cmocka_unit_test(changes_size_between_frames),
      cmocka_unit_test(picture_outlives_its_engine),
      cmocka_unit_test(threads_work_side_by_side),
      cmocka_unit_test(takes_style_pictures),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
