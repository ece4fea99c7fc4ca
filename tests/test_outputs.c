/* Tests recordings and streams of the live window, with a fake sink in place of files and networks. */
#include "tests/rigs/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/heard.h"
#include "app/run/outputs.h"
#include "app/sink/target.h"
#include "tests/rigs/hidden_picture.h"
#include "unet/base/platform.h"

enum { WRITES_MAX = 4000, MANY = 100, PATIENCE_MS = 60000 };
/* Start of the times at which pictures are shown, an hour ahead, so that the last picture does not last until the end
 * of the test. */
static const int64_t ahead_ns = INT64_C(3600000000000);

struct written {
  uint64_t serial;
  int64_t pts;
  int width;
  /* arguments of sink_place_sound when the frame was written: a position in the sound, and its time in the output */
  int64_t placed;
  double placed_at;
};

/* Instructions for all sinks of one name, and what they did. */
struct fake {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool shut;            /* true: calls that write a frame wait */
  int refusals;         /* number of openings, from the first on, that fail */
  atomic_long fails_at; /* number of the write that fails; -1: none does */
  atomic_int openings, attempts, finished, closed;
  bool whole;
  struct sink_options options;
  long count;
  struct written written[WRITES_MAX];
  int64_t placed; /* arguments of the last call of sink_place_sound: placed and placed_at */
  double placed_at;
};

static struct fake fakes[2];
static struct host_pictures pictures;

struct fake_sink {
  struct sink sink;
  struct fake *fake;
  long here;
};

int sink_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  struct fake *fake = &fakes[strstr(spec, "second") != NULL];
  int status = 0;
  pthread_mutex_lock(&fake->lock);
  fake->options = *options;
  if (fake->attempts++ < fake->refusals)
    status = error_set(err, STATUS_OUTPUT, "%s: nobody there", spec);
  else
    fake->openings++;
  pthread_cond_broadcast(&fake->changed);
  pthread_mutex_unlock(&fake->lock);
  if (status)
    return -1;
  struct fake_sink *to = calloc(1, sizeof *to);
  to->fake = fake;
  *sink = &to->sink;
  return 0;
}

int sink_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct fake_sink *to = (struct fake_sink *)sink;
  struct fake *fake = to->fake;
  int status = 0;
  pthread_mutex_lock(&fake->lock);
  while (fake->shut && !(fake->options.stop && atomic_load(fake->options.stop)))
    pthread_cond_wait(&fake->changed, &fake->lock);
  if (to->here++ == fake->fails_at)
    status = error_set(err, STATUS_OUTPUT, "fake: no space left");
  else if (fake->count < WRITES_MAX)
    fake->written[fake->count++] =
        (struct written){frame->serial, frame->pts, frame->width, fake->placed, fake->placed_at};
  pthread_cond_broadcast(&fake->changed);
  pthread_mutex_unlock(&fake->lock);
  return status;
}

void sink_place_sound(struct sink *sink, int64_t source_pts, double seconds) {
  struct fake *fake = ((struct fake_sink *)sink)->fake;
  fake->placed = source_pts;
  fake->placed_at = seconds;
}

int sink_finish(struct sink *sink, bool whole, struct error *err) {
  struct fake *fake = ((struct fake_sink *)sink)->fake;
  (void)err;
  fake->whole = whole;
  fake->finished++;
  return 0;
}

/* Returns the number of pictures that can be read. The fake encoder keeps one frame back when a write has failed. */
long sink_pictures(const struct sink *sink) {
  const struct fake_sink *to = (const struct fake_sink *)sink;
  return to->here - (to->fake->fails_at >= 0 && to->here > to->fake->fails_at ? 2 : 0);
}

void sink_close(struct sink **sink) {
  if (*sink)
    ((struct fake_sink *)*sink)->fake->closed++;
  free(*sink);
  *sink = NULL;
}

static int begin(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    memset(&fakes[i], 0, sizeof fakes[i]);
    pthread_mutex_init(&fakes[i].lock, NULL);
    pthread_cond_init(&fakes[i].changed, NULL);
    fakes[i].fails_at = -1;
  }
  return 0;
}

static int end(void **state) {
  (void)state;
  host_pictures_free(&pictures);
  return 0;
}

static void set_shut(struct fake *fake, bool shut) {
  pthread_mutex_lock(&fake->lock);
  fake->shut = shut;
  pthread_cond_broadcast(&fake->changed);
  pthread_mutex_unlock(&fake->lock);
}

static void await_writes(struct fake *fake, long count) {
  int64_t until = platform_now_ns() + (int64_t)PATIENCE_MS * 1000000;
  pthread_mutex_lock(&fake->lock);
  while (fake->count < count && platform_now_ns() < until) {
    pthread_mutex_unlock(&fake->lock);
    platform_sleep_ns(1000000);
    pthread_mutex_lock(&fake->lock);
  }
  bool there = fake->count >= count;
  pthread_mutex_unlock(&fake->lock);
  assert_true(there);
}

/* Waits until that picture is written. Returns how many pictures are written then. */
static long await_serial(struct fake *fake, uint64_t serial) {
  uint64_t last = 0;
  long count = 0;
  while (last != serial) {
    await_writes(fake, ++count);
    pthread_mutex_lock(&fake->lock);
    last = fake->written[count - 1].serial;
    pthread_mutex_unlock(&fake->lock);
  }
  return count;
}

static struct outputs *opened(double fps) {
  struct outputs *outputs;
  assert_int_equal(outputs_open(&outputs, &(struct outputs_params){.fps = fps, .quality = -1, .retry_ms = 20}, NULL),
                   0);
  return outputs;
}

static void show_captured(struct outputs *outputs, uint64_t serial, int64_t shown_ns, int width, int64_t captured_ns) {
  struct frame frame;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, width, 8, &frame, NULL), 0);
  frame.serial = serial;
  frame.captured_ns = captured_ns;
  outputs_show(outputs, &(struct covered){.picture = frame}, shown_ns);
  frame_release(&frame);
}

static void show_sized(struct outputs *outputs, uint64_t serial, int64_t shown_ns, int width) {
  show_captured(outputs, serial, shown_ns, width, 0);
}

static void show(struct outputs *outputs, uint64_t serial, int64_t shown_ns) {
  show_sized(outputs, serial, shown_ns, 16);
}

static void await_news(struct outputs *outputs, const char *words, char line[200]) {
  enum log_level level;
  for (int waited = 0; waited < PATIENCE_MS; waited++) {
    if (outputs_follow(outputs, line, 200, &level) && strstr(line, words))
      return;
    platform_sleep_ns(1000000);
  }
  fail_msg("never said: %s", words);
}

static void test_kinds(void **state) {
  (void)state;
  assert_int_equal(output_kind_of("show.mp4", NULL), OUTPUT_RECORDING);
  assert_int_equal(output_kind_of("f%04d.png", NULL), OUTPUT_RECORDING);
  assert_int_equal(output_kind_of("srt://host:9000", NULL), OUTPUT_STREAM);
  assert_int_equal(output_kind_of("rtmp://host/live", NULL), OUTPUT_STREAM);
  assert_int_equal(output_kind_of("udp://host:9000", NULL), OUTPUT_STREAM);
  assert_int_equal(output_kind_of("http://host/x.ts", NULL), OUTPUT_STREAM);
  assert_int_equal(output_kind_of("icecast://host/x", NULL), OUTPUT_STREAM);
  assert_int_equal(output_kind_of("-", NULL), OUTPUT_STREAM);
  assert_int_equal(output_kind_of("/dev/video9", NULL), OUTPUT_STREAM);
}

/* A web address with a file's extension is a stream only if FFmpeg has its protocol; an unknown protocol is not taken
 * for a file. */
static void test_urls(void **state) {
  (void)state;
  static const struct {
    const char *url, *container;
  } cases[] = {
      {"http://host:8080", "mpegts"}, {"http://host/live", "mpegts"}, {"http://host/x.mkv?to=x.mp4", "matroska"},
      {"icecast://host/x", "webm"},   {"tcp://host/x.mkv", "mpegts"}, {"file:x.mkv", "matroska"},
      {"nosuch://host/x.mkv", NULL},  {"nosuch:x.mkv", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct target target;
    struct error err;
    if (!target_choose(&target, cases[i].url, NULL, &err))
      assert_string_equal(target.container->name, cases[i].container);
    else if (cases[i].container || !strstr(err.message, "no protocol nosuch"))
      fail_msg("%s", err.message);
  }
}

/* The recording has the pictures that were shown, each at the time when it was shown, at any pace. */
static void test_records_what_is_shown(void **state) {
  (void)state;
  static const int64_t times_ms[] = {5000, 5040, 5050, 5900, 9000};
  char line[200];
  int number;
  struct outputs *outputs = opened(0);
  int64_t begun_ns = platform_now_ns() + ahead_ns;
  assert_int_equal(outputs_add(outputs, "first.mp4", &number, NULL), 0);
  for (int i = 0; i < 5; i++) {
    show(outputs, 40 + (uint64_t)i, begun_ns + (times_ms[i] - times_ms[0]) * 1000000);
    await_writes(&fakes[0], i + 1);
  }
  outputs_end(outputs, number);
  await_news(outputs, "first.mp4: 5 pictures", line);
  assert_false(outputs_has(outputs, number));
  assert_int_equal(fakes[0].count, 5);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(fakes[0].written[i].serial, 40 + i);
    double seconds = (double)fakes[0].written[i].pts * fakes[0].options.time_base_num / fakes[0].options.time_base_den;
    assert_true(seconds > (double)(times_ms[i] - 5000) / 1000 - 1e-5);
    assert_true(seconds < (double)(times_ms[i] - 5000) / 1000 + 1e-5);
  }
  assert_int_equal(fakes[0].finished, 1);
  assert_int_equal(fakes[0].closed, 1);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
}

/* A microphone's sound is that of the moment when the picture was captured; while the same picture stays, sound goes on
 * with the same delay. */
static void test_a_microphone_goes_on(void **state) {
  (void)state;
  static const int64_t ms = 1000000;
  struct outputs *outputs;
  const struct outputs_params params = {.quality = -1, .tap_by_clock = true};
  assert_int_equal(outputs_open(&outputs, &params, NULL), 0);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, NULL), 0);
  int64_t begun_ns = platform_now_ns();
  show_captured(outputs, 1, begun_ns, 16, begun_ns - 50 * ms);
  await_writes(&fakes[0], 1);
  assert_true(fakes[0].options.tap_by_clock);
  show_captured(outputs, 2, begun_ns + 40 * ms, 16, begun_ns - 50 * ms); /* another picture of the same frame */
  long more = await_serial(&fakes[0], 2);
  await_writes(&fakes[0], more + 3); /* while the picture stays, sound is written as time passes */
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  const struct written *written = fakes[0].written;
  assert_true(written[0].placed == begun_ns - 50 * ms);
  for (long i = 1; i < fakes[0].count; i++) {
    double since_s = (double)(written[i].placed - written[0].placed) * 1e-9;
    assert_true(written[i].serial >= written[i - 1].serial);
    assert_true(written[i].pts > written[i - 1].pts);
    assert_true(since_s > written[i].placed_at - 1e-3 && since_s < written[i].placed_at + 1e-3);
  }
  assert_int_equal(written[more + 2].serial, 2);
  assert_true(written[more + 2].pts > 350000);
}

/* One picture with a longer latency, and one that stays, do not move the sound. */
static void test_latency_is_smoothed(void **state) {
  (void)state;
  static const int64_t ms = 1000000;
  struct heard heard = {0};
  int64_t now_ns = 5000 * ms;
  for (int i = 0; i < 50; i++, now_ns += 40 * ms) {
    int64_t latency_ns = i == 30 ? 250 * ms : 50 * ms, usual_ns = now_ns - 50 * ms;
    int64_t at_ns = heard_with(&heard, &(struct frame){.captured_ns = now_ns - latency_ns}, now_ns);
    assert_true(i >= 30 || at_ns == usual_ns);
    assert_true(at_ns <= usual_ns && at_ns >= usual_ns - 10 * ms);
  }
  const struct frame still = {.captured_ns = now_ns - 90000 * ms}, none = {0};
  for (int i = 0; i < 3; i++) {
    now_ns += 1000 * ms;
    assert_true(heard_with(&heard, i ? &still : &none, now_ns) <= now_ns - 50 * ms);
    assert_true(heard_with(&heard, i ? &still : &none, now_ns) >= now_ns - 60 * ms);
  }
}

/* A picture that was shown for some time when the recording ended lasts that long in it. */
static void test_keeps_the_time_a_picture_stood(void **state) {
  (void)state;
  struct outputs *outputs = opened(0);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, NULL), 0);
  show(outputs, 1, platform_now_ns() - (int64_t)5000000000);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  assert_int_equal(fakes[0].count, 2);
  assert_int_equal(fakes[0].written[1].serial, 1);
  assert_true(fakes[0].written[1].pts >= 5 * (int64_t)fakes[0].options.time_base_den);
}

/* When a disk blocks, the window goes on, pictures that cannot be queued are counted, and no more pictures are held
 * than announced. */
static void test_slow_recording_drops_and_counts(void **state) {
  (void)state;
  struct outputs *outputs = opened(0);
  struct outputs_figures figures;
  int64_t begun_ns = platform_now_ns() + ahead_ns;
  set_shut(&fakes[0], true);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, NULL), 0);
  assert_int_equal(outputs_add(outputs, "second.mkv", NULL, NULL), 0);
  for (int i = 0; i < MANY; i++) {
    show(outputs, (uint64_t)i, begun_ns + (int64_t)i * 20000000);
    await_writes(&fakes[1], i + 1); /* the other recording has all pictures */
  }
  outputs_get_figures(outputs, &figures);
  assert_int_equal(figures.recordings, 2);
  assert_true(figures.dropped >= MANY - OUTPUT_RECORDING_HOLDS);
  assert_true(figures.dropped < MANY);
  set_shut(&fakes[0], false);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  assert_int_equal(fakes[0].count + figures.dropped, MANY);
  assert_int_equal(fakes[1].count, MANY);
}

static int make_picture(void *opaque, struct picture *picture, struct error *err) {
  static const uint8_t row[16 * 4];
  (void)opaque;
  (void)err;
  picture->memory = MEMORY_HOST;
  picture->template = (struct frame){.format = PIXEL_RGBA, .width = 16, .height = 1, .plane = {row}, .pitch = {64}};
  return 0;
}

static void keep(struct picture *picture) {
  (void)picture;
}

/* A pool of as many pictures as outputs may hold, plus the one shown, always suffices, however slow the outputs are. */
static void test_holds_are_bounded(void **state) {
  (void)state;
  static const struct picture_owner owner = {.bytes = sizeof(struct picture), .make = make_picture, .destroy = keep};
  struct picture_pool *pool;
  struct outputs *outputs = opened(100);
  assert_int_equal(picture_pool_open(&pool, &owner, NULL, 0, OUTPUT_RECORDING_HOLDS + OUTPUT_STREAM_HOLDS + 1, NULL),
                   0);
  set_shut(&fakes[0], true);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, NULL), 0);
  assert_int_equal(outputs_add(outputs, "udp://second", NULL, NULL), 0);
  for (int i = 0; i < MANY; i++) {
    struct frame frame;
    assert_int_equal(picture_pool_take(pool, &frame, NULL), 1);
    frame.serial = (uint64_t)i;
    outputs_show(outputs, &(struct covered){.picture = frame}, (int64_t)i * 20000000);
    frame_release(&frame);
    await_writes(&fakes[1], i / 10); /* the stream writes one picture in ten */
  }
  set_shut(&fakes[0], false);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  picture_pool_close(&pool);
}

static void test_full_disk_ends_the_recording(void **state) {
  (void)state;
  char line[200];
  int number;
  struct outputs *outputs = opened(0);
  fakes[0].fails_at = 3;
  assert_int_equal(outputs_add(outputs, "first.mp4", &number, NULL), 0);
  for (int i = 0; i < 3; i++) {
    show(outputs, (uint64_t)i, (int64_t)i * 20000000);
    await_writes(&fakes[0], i + 1);
  }
  show(outputs, 3, 3 * 20000000);
  await_news(outputs, "no space left", line);
  assert_non_null(strstr(line, "recording ends after 2 pictures"));
  show(outputs, 4, 4 * 20000000);
  assert_false(outputs_has(outputs, number));
  /* a recording that has failed is not opened again, because that would empty the file */
  assert_int_equal(fakes[0].attempts, 1);
  assert_int_equal(fakes[0].finished, 1);
  struct outputs_figures figures;
  outputs_get_figures(outputs, &figures);
  assert_non_null(strstr(figures.broken, "no space left"));
  assert_int_equal(outputs_add(outputs, "udp://second", NULL, NULL), 0);
  outputs_get_figures(outputs, &figures);
  assert_non_null(strstr(figures.broken, "no space left"));
  assert_int_equal(outputs_add(outputs, "third.mp4", NULL, NULL), 0);
  outputs_get_figures(outputs, &figures);
  assert_string_equal(figures.broken, "");
  struct error err;
  assert_int_equal(outputs_close(&outputs, NULL, &err), -1);
  assert_int_equal(err.status, STATUS_OUTPUT);
  assert_string_equal(err.message, "first.mp4: the recording ended early, after 2 pictures");
}

static void test_stream_has_a_constant_rate(void **state) {
  (void)state;
  struct outputs *outputs = opened(100);
  assert_int_equal(outputs_add(outputs, "udp://first", NULL, NULL), 0);
  show(outputs, 7, platform_now_ns());
  await_writes(&fakes[0], 5); /* the same picture, repeated */
  show(outputs, 8, platform_now_ns());
  await_serial(&fakes[0], 8);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  assert_true(fakes[0].options.realtime);
  assert_int_equal(fakes[0].options.time_base_num, 1);
  assert_int_equal(fakes[0].options.time_base_den, 100);
  for (long i = 1; i < fakes[0].count; i++) {
    assert_true(fakes[0].written[i].pts > fakes[0].written[i - 1].pts);
    assert_true(fakes[0].written[i].serial >= fakes[0].written[i - 1].serial);
  }
}

static void test_stream_is_tried_again(void **state) {
  (void)state;
  char line[200];
  struct outputs *outputs = opened(100);
  struct outputs_figures figures;
  fakes[0].refusals = 2;
  fakes[0].fails_at = 12;
  assert_int_equal(outputs_add(outputs, "udp://first", NULL, NULL), 0);
  show(outputs, 1, platform_now_ns());
  await_news(outputs, "nobody there", line);
  outputs_get_figures(outputs, &figures);
  assert_int_equal(figures.streams, 1);
  await_news(outputs, "is sent to again", line);
  await_news(outputs, "no space left; trying again", line);
  fakes[0].fails_at = -1;
  await_news(outputs, "is sent to again", line);
  assert_true(fakes[0].openings >= 2);
  assert_true(fakes[0].finished >= 1);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  assert_int_equal(fakes[0].closed, fakes[0].openings);
}

/* Closing does not wait for a stream that was never connected. */
static void test_close_while_nobody_is_there(void **state) {
  (void)state;
  char line[200];
  enum log_level level;
  struct outputs *outputs = opened(100);
  fakes[0].refusals = 1000000;
  assert_int_equal(outputs_add(outputs, "udp://first", NULL, NULL), 0);
  assert_int_equal(outputs_add(outputs, "udp://second", NULL, NULL), 0);
  set_shut(&fakes[1], true);
  show(outputs, 1, platform_now_ns());
  await_news(outputs, "nobody there", line);
  int said = 0;
  while (fakes[0].attempts < 2)
    said += outputs_follow(outputs, line, sizeof line, &level) && strstr(line, "nobody");
  assert_int_equal(said, 0); /* the failure is logged once, not for each try */
  struct outputs_figures figures;
  outputs_get_figures(outputs, &figures);
  assert_int_equal(figures.failing, 1);
  pthread_cond_broadcast(&fakes[1].changed);
  set_shut(&fakes[1], false);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
}

static void test_ends_without_a_picture(void **state) {
  (void)state;
  struct outputs *outputs = opened(0);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, NULL), 0);
  assert_int_equal(outputs_add(outputs, "udp://second", NULL, NULL), 0);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  assert_null(outputs);
  assert_int_equal(fakes[0].attempts + fakes[1].attempts, 0);
}

static struct frame plain(enum pixel_format format, int width, int height, const uint8_t color[4]) {
  struct frame frame;
  assert_int_equal(host_pictures_take(&pictures, format, width, height, &frame, NULL), 0);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < 4 * width; x++)
      frame_plane(&frame, 0)[y * frame.pitch[0] + x] = color[x % 4];
  return frame;
}

static void expect_pixel(const struct frame *frame, int x, int y, int red, int green, int blue) {
  const uint8_t *pixel = frame->plane[0] + (ptrdiff_t)y * frame->pitch[0] + 4 * x;
  assert_in_range(pixel[0] + 2, red, red + 4);
  assert_in_range(pixel[1] + 2, green, green + 4);
  assert_in_range(pixel[2] + 2, blue, blue + 4);
}

/* Covers in the window also cover recorded pictures: a frozen picture, then the source, then black. */
static void test_covers(void **state) {
  (void)state;
  struct cover_pixels cover_pixels = {{0}};
  struct frame out, red = plain(PIXEL_RGBA, 16, 8, (const uint8_t[]){200, 0, 0, 255});
  struct frame green = plain(PIXEL_RGBA, 16, 8, (const uint8_t[]){0, 200, 0, 255});
  struct frame blue = plain(PIXEL_BGRA, 64, 64, (const uint8_t[]){200, 0, 0, 255});
  hidden_replace(&red);
  hidden_replace(&green);
  hidden_replace(&blue);
  struct covered shown = {.picture = red, .held = green, .source = blue};
  assert_int_equal(cover_pixels_apply(&cover_pixels, &shown, &out, NULL), 0);
  assert_ptr_equal(out.picture, red.picture); /* without a cover the picture is not copied */
  frame_release(&out);
  shown.cover = (struct cover_levels){.held = 0.25f};
  assert_int_equal(cover_pixels_apply(&cover_pixels, &shown, &out, NULL), 0);
  expect_pixel(&out, 3, 3, 150, 50, 0);
  frame_release(&out);
  shown.cover = (struct cover_levels){.held = 1, .bypass = 0.5f, .blackout = 0.5f};
  assert_int_equal(cover_pixels_apply(&cover_pixels, &shown, &out, NULL), 0);
  expect_pixel(&out, 15, 7, 0, 50, 50);
  frame_release(&out);
  shown.cover = (struct cover_levels){.bypass = 1};
  shown.fit = FIT_AS_LETTERBOX;
  assert_int_equal(cover_pixels_apply(&cover_pixels, &shown, &out, NULL), 0);
  expect_pixel(&out, 8, 4, 0, 0, 200);
  expect_pixel(&out, 2, 4, 0, 0, 0);
  frame_release(&out);
  expect_pixel(&red, 0, 0, 200, 0, 0); /* the original picture is not changed */
  cover_pixels_free(&cover_pixels);
  frame_release(&red);
  frame_release(&green);
  frame_release(&blue);
}

static void test_there_is_a_most(void **state) {
  (void)state;
  struct error err;
  struct outputs *outputs = opened(0);
  for (int i = 0; i < OUTPUTS_MAX; i++)
    assert_int_equal(outputs_add(outputs, "first.mp4", NULL, &err), 0);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, &err), -1);
  assert_non_null(strstr(err.message, "8"));
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
}

/* The first picture's size is the sink's size; the sink scales later ones. */
static void test_size_is_that_of_the_first(void **state) {
  (void)state;
  struct outputs *outputs = opened(0);
  assert_int_equal(outputs_add(outputs, "first.mp4", NULL, NULL), 0);
  show_sized(outputs, 0, 0, 16);
  await_writes(&fakes[0], 1);
  show_sized(outputs, 1, 20000000, 32);
  await_writes(&fakes[0], 2);
  assert_int_equal(outputs_close(&outputs, NULL, NULL), 0);
  assert_int_equal(fakes[0].options.width, 16);
  assert_int_equal(fakes[0].written[1].width, 32);
  assert_int_equal(fakes[0].openings, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_kinds, begin, end),
      cmocka_unit_test_setup_teardown(test_urls, begin, end),
      cmocka_unit_test_setup_teardown(test_records_what_is_shown, begin, end),
      cmocka_unit_test_setup_teardown(test_a_microphone_goes_on, begin, end),
      cmocka_unit_test(test_latency_is_smoothed),
      cmocka_unit_test_setup_teardown(test_keeps_the_time_a_picture_stood, begin, end),
      cmocka_unit_test_setup_teardown(test_slow_recording_drops_and_counts, begin, end),
      cmocka_unit_test_setup_teardown(test_holds_are_bounded, begin, end),
      cmocka_unit_test_setup_teardown(test_full_disk_ends_the_recording, begin, end),
      cmocka_unit_test_setup_teardown(test_stream_has_a_constant_rate, begin, end),
      cmocka_unit_test_setup_teardown(test_stream_is_tried_again, begin, end),
      cmocka_unit_test_setup_teardown(test_close_while_nobody_is_there, begin, end),
      cmocka_unit_test_setup_teardown(test_ends_without_a_picture, begin, end),
      cmocka_unit_test_setup_teardown(test_covers, begin, end),
      cmocka_unit_test_setup_teardown(test_there_is_a_most, begin, end),
      cmocka_unit_test_setup_teardown(test_size_is_that_of_the_first, begin, end),
  };
  return cmocka_run_group_tests_name("outputs", tests, NULL, NULL);
}
