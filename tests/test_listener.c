/* Tests the thread that analyses sound: files, devices, and inputs that are missing. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/source/listener.h"
#include "app/source/sound_tap.h"
#include "tests/rigs/fixture.h"
#include "unet/base/platform.h"

enum { PATIENCE_MS = 60000, LINES = 16 };

/* Lines logged by the listener's thread. */
struct said {
  pthread_mutex_t lock;
  char line[LINES][300];
  int count;
};

static void note_line(void *opaque, enum log_level level, const char *text) {
  struct said *said = opaque;
  (void)level;
  pthread_mutex_lock(&said->lock);
  if (said->count < LINES)
    snprintf(said->line[said->count++], sizeof said->line[0], "%s", text);
  pthread_mutex_unlock(&said->lock);
}

static int count_said(struct said *said, const char *words) {
  int count = 0;
  pthread_mutex_lock(&said->lock);
  for (int i = 0; i < said->count; i++)
    count += strstr(said->line[i], words) != NULL;
  pthread_mutex_unlock(&said->lock);
  return count;
}

static void expect_said(struct said *said, const char *words) {
  for (int i = 0; i < PATIENCE_MS && !count_said(said, words); i++)
    usleep(1000);
  if (!count_said(said, words))
    fail_msg("'%s' was not said, but '%s' last", words, said->count ? said->line[said->count - 1] : "");
}

static struct listener *start(const char *input, struct log *log) {
  struct listener *listener;
  const struct listener_params params = {input, 2, log};
  assert_int_equal(listener_start(&listener, &params, NULL), 0);
  return listener;
}

static bool is_in(const double values[SOUND_VALUES], enum sound_value band) {
  bool found = values[SOUND_LEVEL] > 0.5 && values[band] > 0.7;
  for (enum sound_value other = SOUND_BASS; other <= SOUND_TREBLE; other++)
    found = found && (other == band || values[other] < 0.5);
  return found;
}

/* Waits until this band has sound. A tone's beginning is heard in every band. */
static void expect_loud(struct listener *listener, enum sound_value band) {
  double values[SOUND_VALUES] = {0};
  for (int i = 0; i < PATIENCE_MS && !is_in(values, band); i++) {
    usleep(1000);
    listener_get(listener, values);
  }
  assert_true(is_in(values, band));
}

static void expect_silent(struct listener *listener) {
  double values[SOUND_VALUES] = {1};
  for (int i = 0; i < PATIENCE_MS && values[SOUND_LEVEL] > 0; i++) {
    usleep(1000);
    listener_get(listener, values);
  }
  for (int i = 0; i < SOUND_VALUES; i++)
    assert_true(values[i] == 0);
}

static void put16(uint8_t *at, unsigned value) {
  at[0] = (uint8_t)value;
  at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, unsigned value) {
  put16(at, value & 0xffff);
  put16(at + 2, value >> 16);
}

/* Begins a WAV file of 16-bit samples. */
static FILE *begin_wav(const char *path, int rate, int channels, double seconds) {
  unsigned bytes = (unsigned)(rate * seconds) * (unsigned)channels * 2;
  uint8_t head[44] = "RIFF....WAVEfmt ....";
  put32(head + 4, 36 + bytes);
  put32(head + 16, 16);
  put16(head + 20, 1);
  put16(head + 22, (unsigned)channels);
  put32(head + 24, (unsigned)rate);
  put32(head + 28, (unsigned)(rate * channels * 2));
  put16(head + 32, (unsigned)channels * 2);
  put16(head + 34, 16);
  memcpy(head + 36, "data", 4);
  put32(head + 40, bytes);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fwrite(head, 1, sizeof head, file);
  return file;
}

/* Writes a tone with the same samples for all channels. */
static void write_tone(FILE *file, int rate, int channels, double frequency, double seconds) {
  for (unsigned i = 0; i < (unsigned)(rate * seconds) * (unsigned)channels; i++) {
    uint8_t sample[2];
    int value = (int)lrint(10000 * sin(2 * M_PI * frequency * (i / (unsigned)channels) / rate));
    put16(sample, (unsigned)value & 0xffff);
    fwrite(sample, 1, 2, file);
  }
}

/* Writes a WAV file under another name and renames it, so that the listener never reads half of it. */
static void write_wav(const char *path, int rate, int channels, double frequency, double seconds) {
  char beside[300];
  snprintf(beside, sizeof beside, "%s.new", path);
  FILE *file = begin_wav(beside, rate, channels, seconds);
  write_tone(file, rate, channels, frequency, seconds);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(rename(beside, path), 0);
}

static void filter_graph(void **state) {
  (void)state;
  struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct log log = {note_line, &said};
  struct listener *listener = start("lavfi:sine=frequency=80:sample_rate=22050", &log);
  expect_loud(listener, SOUND_BASS);
  listener_limit(listener, &(struct sound_limits){.bass_below = 30, .treble_above = 2500});
  expect_loud(listener, SOUND_MID);
  listener_stop(&listener);
  assert_null(listener);
  assert_int_equal(said.count, 0);
}

/* A file is played at its own speed, so a file of half a second cannot end twice within that time, and starts again. */
static void files_begin_again(void **state) {
  (void)state;
  struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct log log = {note_line, &said};
  char *folder = fixture_make(), *path = fixture_path(folder, "tone.wav");
  write_wav(path, 8000, 2, 1000, 0.5);
  int64_t begun_ns = platform_now_ns();
  struct listener *listener = start(path, &log);
  expect_loud(listener, SOUND_MID);
  char reason[LISTENER_REASON_MAX];
  expect_said(&said, "has ended; it is opened again");
  assert_false(listener_is_away(listener, reason)); /* the end of a file does not count as a loss */
  assert_true(platform_now_ns() - begun_ns > 400000000);
  write_wav(path, 96000, 1, 9000, 0.5); /* the file gets another sound, which is heard from the next round on */
  expect_loud(listener, SOUND_TREBLE);
  assert_int_equal(count_said(&said, "has ended"), 1);
  assert_int_equal(unlink(path), 0);
  expect_said(&said, "No such file");
  expect_silent(listener);
  assert_true(listener_is_away(listener, reason));
  assert_non_null(strstr(reason, "No such file"));
  write_wav(path, 44100, 6, 60, 0.5);
  expect_said(&said, "is heard again");
  expect_loud(listener, SOUND_BASS);
  assert_false(listener_is_away(listener, reason));
  listener_stop(&listener);
  assert_int_equal(count_said(&said, "No such file"), 1);
  free(path);
  fixture_remove(folder);
}

/* A file that is still being written ends early again and again, which is not an error. */
static void file_that_grows(void **state) {
  (void)state;
  enum { PIECES = 40, PIECE_MS = 20, RATE = 48000 };
  struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct log log = {note_line, &said};
  char *folder = fixture_make(), *path = fixture_path(folder, "tone.wav");
  FILE *file = begin_wav(path, RATE, 1, 2.0 * PIECES * PIECE_MS / 1000);
  struct listener *listener = NULL;
  for (int i = 0; i < PIECES; i++) {
    write_tone(file, RATE, 1, 1000, PIECE_MS / 1000.0);
    fflush(file);
    usleep(PIECE_MS * 1000);
    listener = listener ? listener : start(path, &log);
  }
  expect_said(&said, "has ended; it is opened again");
  expect_loud(listener, SOUND_MID);
  listener_stop(&listener);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(count_said(&said, "it is tried again"), 0);
  free(path);
  fixture_remove(folder);
}

/* For recordings, packets have the position of the moment at which they were heard; no packets are kept if nothing
 * records. */
static void what_is_heard_is_kept(void **state) {
  (void)state;
  struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct log log = {note_line, &said};
  struct sound_cursor cursor = {0};
  struct listener *listener;
  char *folder = fixture_make(), *path = fixture_path(folder, "tone.wav");
  AVPacket *packet = av_packet_alloc();
  double begun = (double)platform_now_ns() * 1e-9, position, last = 0, lasts = 0;
  write_wav(path, 8000, 1, 1000, 0.4);
  struct listener_params params = {path, 2, &log, .option = "--record-sound"};
  assert_int_equal(sound_tap_open(&params.tap, NULL), 0);
  assert_int_equal(listener_start(&listener, &params, NULL), 0);
  expect_said(&said, "has ended; it is opened again");
  for (int packets = 0; packets < 8;) { /* until some packets of the second round have come */
    if (!sound_tap_take(params.tap, &cursor, 1e9, packet, &position)) {
      usleep(1000);
      continue;
    }
    double now = (double)platform_now_ns() * 1e-9;
    assert_true(position > begun && position < now + 0.05);
    assert_true(position > last + lasts - 0.05);
    last = position;
    lasts = (double)packet->duration / 8000;
    packets += last - begun > 0.4;
    av_packet_unref(packet);
  }
  assert_int_equal(unlink(path), 0);
  expect_said(&said, "--record-sound: ");
  expect_said(&said, "tried again, and recordings are silent until then");
  listener_stop(&listener);
  av_packet_free(&packet);
  sound_tap_close(&params.tap);
  free(path);
  fixture_remove(folder);
}

static void without_sound(void **state) {
  (void)state;
  struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct log log = {note_line, &said};
  struct listener *listener = start("lavfi:testsrc2=s=64x64", &log);
  expect_said(&said, "there is no sound in it; it is tried again");
  usleep(600000); /* two more attempts are not logged */
  listener_stop(&listener);
  assert_int_equal(said.count, 1);
}

/* No one sends to this address: stopping does not wait for it. */
static void listener_stops_at_once(void **state) {
  (void)state;
  struct log log = {0};
  struct listener *listener = start("udp://127.0.0.1:49517", &log);
  usleep(50000);
  listener_stop(&listener);
  listener_stop(&listener);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filter_graph),    cmocka_unit_test(files_begin_again),
      cmocka_unit_test(file_that_grows), cmocka_unit_test(what_is_heard_is_kept),
      cmocka_unit_test(without_sound),   cmocka_unit_test(listener_stops_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
