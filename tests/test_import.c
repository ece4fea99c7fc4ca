/* Tests which of a GPU's pictures are imported into OpenGL, cached and held. OpenGL is a fake, whose fences pass when
 * the test says so. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>

#include <string.h>

#include "app/window/import.h"

static const struct gpu_id ours = {.uuid = {1, 2, 3}}, other = {.uuid = {9}};

struct played {
  int renewed, suit_questions, opened, closed, fences, fences_freed;
  int passed; /* number of fences that have passed, from the oldest one on */
  bool refuses, has_lost_context;
  char line[300]; /* last line of the log */
  int lines;
};

static bool suits(void *opaque, const struct gpu_id *gpu) {
  struct played *played = opaque;
  played->suit_questions++;
  return gpu_same(gpu, &ours);
}

static int open_one(void *opaque, int share, size_t bytes, struct imported *imported, struct error *err) {
  struct played *played = opaque;
  assert_true(share >= 0 && bytes >= 4096);
  if (played->refuses)
    return error_set(err, STATUS_OUTPUT, "no");
  imported->memory = (unsigned)++played->opened;
  imported->buffer = 100 + imported->memory;
  return 0;
}

static void close_one(void *opaque, const struct imported *imported) {
  struct played *played = opaque;
  assert_true(imported->buffer == 100 + imported->memory);
  played->closed++;
}

static void renew(void *opaque) {
  struct played *played = opaque;
  played->renewed++;
}

static void *make_fence(void *opaque) {
  struct played *played = opaque;
  return played->has_lost_context ? NULL : (void *)(intptr_t)++played->fences;
}

static bool has_passed(void *opaque, void *fence) {
  const struct played *played = opaque;
  return (intptr_t)fence <= played->passed;
}

static void free_fence(void *opaque, void *fence) {
  struct played *played = opaque;
  assert_true((intptr_t)fence == ++played->fences_freed);
}

static const struct import_impl impl = {suits, open_one, close_one, renew, make_fence, has_passed, free_fence};

static void note(void *opaque, enum log_level level, const char *text) {
  struct played *played = opaque;
  assert_int_equal(level, LOG_DEBUG);
  snprintf(played->line, sizeof played->line, "%s", text);
  played->lines++;
}

/* Makes a picture that says it is in this GPU's memory. */
static int make_picture(void *opaque, struct picture *picture, struct error *err) {
  static uint8_t pixels[64 * 16];
  (void)err;
  picture->memory = MEMORY_HOST | MEMORY_DEVICE | MEMORY_SHARED;
  picture->template.format = PIXEL_RGBA;
  picture->template.width = picture->template.height = 16;
  picture->template.pitch[0] = 64;
  picture->template.plane[0] = pixels;
  picture->template.picture = picture;
  picture->device_plane[0] = pixels;
  picture->gpu = *(const struct gpu_id *)opaque;
  picture->share = 0;
  picture->share_bytes = 4096;
  return 0;
}

static void destroy_picture(struct picture *picture) {
  (void)picture;
}

/* Waits for a picture. A picture whose descriptor is below 0 turns out not to be shareable. */
static int wait_for_picture(struct picture *picture, enum memory kind, struct error *err) {
  return kind == MEMORY_SHARED && picture->share < 0 ? error_set(err, STATUS_DEVICE, "no memory to share") : 0;
}

static const struct picture_owner owner = {
    .bytes = sizeof(struct picture), .make = make_picture, .destroy = destroy_picture, .wait = wait_for_picture};

struct setting {
  struct played played;
  struct log log;
  struct import *import;
  struct picture_pool *pool;
};

static void begin(struct setting *s, const struct gpu_id *gpu) {
  *s = (struct setting){.log = {note, NULL}};
  s->log.opaque = &s->played;
  assert_int_equal(import_open(&s->import, "pictures", IMPORT_HOLDS, &impl, &s->played, &s->log, NULL), 0);
  assert_int_equal(picture_pool_open(&s->pool, &owner, (void *)gpu, 0, 0, NULL), 0);
}

static void end(struct setting *s) {
  import_close(&s->import);
  picture_pool_close(&s->pool);
  assert_int_equal(s->played.opened, s->played.closed);
  assert_int_equal(s->played.fences, s->played.fences_freed);
}

static struct frame take(struct setting *s) {
  struct frame frame;
  assert_int_equal(picture_pool_take(s->pool, &frame, NULL), 1);
  return frame;
}

/* Shows a picture in OpenGL and ends the caller's hold. */
static unsigned show(struct setting *s, struct frame *frame) {
  unsigned buffer = import_take(s->import, frame);
  if (buffer)
    import_told(s->import, frame);
  frame_release(frame);
  return buffer;
}

static void test_imported_once_and_held_until_read(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame first = take(&s);
  const struct picture *picture = first.picture;
  assert_int_equal(show(&s, &first), 101);
  import_follow(s.import);
  struct frame second = take(&s);
  assert_ptr_not_equal(second.picture, picture); /* OpenGL may still be reading the old picture */
  s.played.passed = 1;
  import_follow(s.import);
  first = take(&s);
  assert_ptr_equal(first.picture, picture);
  assert_int_equal(show(&s, &first), 101);
  assert_int_equal(show(&s, &second), 102);
  assert_int_equal(s.played.opened, 2);
  assert_int_equal(s.played.suit_questions, 1);
  assert_int_equal(s.played.renewed, 3);
  end(&s); /* releases what is held, or the pool would not be freed */
}

/* If OpenGL is far behind, pictures are uploaded from the host instead, until it has caught up. */
static void test_holds_no_more_than_it_says(void **state) {
  (void)state;
  struct setting s;
  struct frame frame;
  begin(&s, &ours);
  for (int i = 0; i < IMPORT_HOLDS; i++) {
    frame = take(&s);
    assert_true(show(&s, &frame) != 0);
  }
  frame = take(&s);
  assert_int_equal(import_take(s.import, &frame), 0);
  s.played.passed = 1;
  import_follow(s.import);
  assert_true(show(&s, &frame) != 0);
  assert_true(import_suits(s.import, &ours));
  end(&s);
}

static void test_refused_once_is_uploaded_from_then_on(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame frame = take(&s), another = take(&s);
  assert_true(show(&s, &frame) != 0);
  s.played.refuses = true;
  assert_int_equal(import_take(s.import, &another), 0);
  assert_int_equal(import_take(s.import, &another), 0);
  assert_false(import_suits(s.import, &ours));
  assert_int_equal(s.played.lines, 1);
  assert_string_equal(s.played.line, "pictures are uploaded to the window: no");
  assert_int_equal(s.played.closed, 1);
  frame_release(&another);
  end(&s);
}

static void test_other_memory_is_uploaded(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &other);
  struct frame frame = take(&s), host = {.format = PIXEL_RGBA};
  assert_int_equal(import_take(s.import, &frame), 0);
  assert_int_equal(import_take(s.import, &host), 0);
  assert_false(import_suits(s.import, &other));
  frame.picture->gpu = ours;
  frame.picture->memory = MEMORY_HOST | MEMORY_DEVICE;
  assert_int_equal(import_take(s.import, &frame), 0);
  frame.picture->memory = MEMORY_HOST;
  assert_int_equal(import_take(s.import, &frame), 0);
  assert_int_equal(s.played.opened, 0);
  assert_int_equal(s.played.lines, 0);
  frame_release(&frame);
  end(&s);
}

static void test_memory_that_could_not_be_had_is_asked_for_again(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame frame = take(&s);
  frame.picture->share = -1;
  for (int i = 0; i < 3; i++)
    assert_int_equal(import_take(s.import, &frame), 0);
  assert_int_equal(s.played.lines, 1);
  assert_string_equal(s.played.line, "pictures are uploaded to the window for now: no memory to share");
  assert_true(import_suits(s.import, &ours));
  frame.picture->share = 0;
  for (int i = 2; i < IMPORT_REST; i++)
    assert_int_equal(import_take(s.import, &frame), 0);
  assert_int_equal(import_take(s.import, &frame), 101);
  assert_int_equal(s.played.lines, 1);
  frame_release(&frame);
  end(&s);
}

/* Imports of pictures that are no longer shown are released. */
static void test_idle_imports_end(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame frame = take(&s);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(import_take(s.import, &frame), 101 + round);
    for (int i = 1; i < IMPORT_REST; i++)
      import_follow(s.import);
    assert_int_equal(import_take(s.import, &frame), 101 + round);
    for (int i = 1; i < IMPORT_REST; i++)
      import_follow(s.import);
    assert_int_equal(s.played.closed, round);
    import_follow(s.import);
    assert_int_equal(s.played.closed, round + 1);
  }
  frame_release(&frame);
  end(&s);
}

/* If the memory behind a picture is replaced, it is imported again. */
static void test_larger_memory_is_imported_anew(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame frame = take(&s);
  assert_int_equal(import_take(s.import, &frame), 101);
  assert_int_equal(import_take(s.import, &frame), 101);
  frame.picture->share_bytes *= 2;
  assert_int_equal(import_take(s.import, &frame), 102);
  assert_int_equal(s.played.closed, 1);
  frame_release(&frame);
  end(&s);
}

/* Imports of pictures of another size are not kept. */
static void test_another_pool_ends_the_imports(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame a = take(&s), b = take(&s);
  show(&s, &a);
  show(&s, &b);
  assert_int_equal(s.played.closed, 0);
  picture_pool_close(&s.pool);
  assert_int_equal(picture_pool_open(&s.pool, &owner, (void *)&ours, 0, 0, NULL), 0);
  a = take(&s);
  assert_int_equal(show(&s, &a), 103);
  assert_int_equal(s.played.closed, 2);
  end(&s);
}

/* If there are more pictures than imports are kept, the least recently used import is released. */
static void test_keeps_the_ones_in_use(void **state) {
  (void)state;
  struct setting s;
  struct frame frames[IMPORT_CACHE + 1];
  begin(&s, &ours);
  for (int i = 0; i <= IMPORT_CACHE; i++) {
    frames[i] = take(&s);
    struct frame shown = frame_hold(&frames[i]), kept = frame_hold(&frames[0]);
    s.played.passed = s.played.fences;
    import_follow(s.import);
    show(&s, &shown);
    show(&s, &kept);
  }
  assert_int_equal(s.played.opened, IMPORT_CACHE + 1);
  assert_int_equal(s.played.closed, 1);
  s.played.passed = s.played.fences;
  import_follow(s.import);
  assert_int_equal(import_take(s.import, &frames[0]), 101);
  assert_int_equal(import_take(s.import, &frames[1]), 100 + IMPORT_CACHE + 2);
  for (int i = 0; i <= IMPORT_CACHE; i++)
    frame_release(&frames[i]);
  end(&s);
}

static void test_nothing_is_held_without_a_context(void **state) {
  (void)state;
  struct setting s;
  begin(&s, &ours);
  struct frame frame = take(&s);
  const struct picture *picture = frame.picture;
  s.played.has_lost_context = true;
  assert_true(show(&s, &frame) != 0);
  frame = take(&s);
  assert_ptr_equal(frame.picture, picture);
  frame_release(&frame);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_imported_once_and_held_until_read),
      cmocka_unit_test(test_holds_no_more_than_it_says),
      cmocka_unit_test(test_refused_once_is_uploaded_from_then_on),
      cmocka_unit_test(test_other_memory_is_uploaded),
      cmocka_unit_test(test_another_pool_ends_the_imports),
      cmocka_unit_test(test_keeps_the_ones_in_use),
      cmocka_unit_test(test_nothing_is_held_without_a_context),
      cmocka_unit_test(test_memory_that_could_not_be_had_is_asked_for_again),
      cmocka_unit_test(test_idle_imports_end),
      cmocka_unit_test(test_larger_memory_is_imported_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
