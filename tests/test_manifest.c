/* Tests manifests of render jobs: what was written is read again; a file that is cut off or damaged is read up to that
 * place; for different jobs a message says what differs. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/job/manifest.h"
#include "tests/rigs/scratch.h"

enum { PICTURES = 7 };

static char path[512];

static void fill(struct job *job) {
  struct error err;
  *job = (struct job){.width = 64, .height = 36, .tick = {1, 30000}, .origin = {1001, 30000}, .batch = 4};
  job->input.size = 12345;
  strcpy(job->input.hash, "00112233445566778899aabbccddeeff");
  strcpy(job->input.time, "2026-11-29T03:15:00Z");
  assert_int_equal(job_set_text(&job->input.name, "clip \"of\n\xff.mp4", &err), 0);
  assert_int_equal(job_set_text(&job->program, "0.2.0", &err), 0);
  assert_int_equal(job_set_text(&job->model, "mini", &err), 0);
  assert_int_equal(job_set_text(&job->encoder, "libx264 crf=18", &err), 0);
  assert_int_equal(job_set_text(&job->choices, "a b\tc", &err), 0);
  assert_int_equal(job_set_header(job, (const uint8_t[]){1, 0, 0xab, 255}, 4, &err), 0);
  assert_int_equal(job_add_option(job, "--prompt", "neon \xc3\xbc", &err), 0);
  assert_int_equal(job_add_option(job, "--prompt", "ink", &err), 0);
  assert_int_equal(job_add_option(job, "--strength", "0.5", &err), 0);
}

static struct job_picture picture_at(int i) {
  struct job_picture picture = {.time = 1001 * i, .source = 17 * i - 5};
  memset(picture.hash.bytes, 0x1f + i, JOB_HASH_BYTES);
  return picture;
}

/* Writes a manifest of two segments and one picture outside of them, and if `ended` also its end. */
static void write_all(bool ended) {
  struct job job;
  struct error err;
  struct manifest *manifest;
  const struct job_part part = {2, 4, false, 0, 0, {1, 3}, {2, 3}, false};
  snprintf(path, sizeof path, "%s/out.mp4.part.json", scratch);
  fill(&job);
  assert_int_equal(manifest_open(&manifest, fopen(path, "wb"), path, &job, &part, &err), 0);
  for (int i = 0; i < PICTURES; i++) {
    const struct job_picture picture = picture_at(i);
    assert_int_equal(manifest_add_picture(manifest, &picture, &err), 0);
    if (i == 3 || i == 5)
      assert_int_equal(manifest_add_segment(manifest, &(struct job_segment){i == 3 ? 0 : 4, i == 3 ? 4 : 2}, &err), 0);
  }
  if (ended) {
    assert_int_equal(manifest_add_segment(manifest, &(struct job_segment){6, 1}, &err), 0);
    assert_int_equal(manifest_add_end(manifest, &(struct job_end){7007, 7, true}, &err), 0);
  }
  manifest_close(&manifest);
  job_free(&job);
}

static void check(const struct job_record *record, int pictures, int segments) {
  struct job job;
  struct error err;
  fill(&job);
  if (job_compare(&job, &record->job, &err))
    fail_msg("%s", err.message);
  assert_string_equal(record->job.input.name, job.input.name);
  assert_string_equal(record->job.input.time, job.input.time);
  assert_int_equal(record->job.input.size, 12345);
  assert_memory_equal(record->job.header, job.header, 4);
  assert_string_equal(record->job.options[1].value, "ink");
  assert_int_equal(record->job.option_count, 3);
  assert_int_equal(record->job.batch, 4);
  assert_int_equal(job_time_compare(record->job.tick, job.tick), 0);
  assert_int_equal(record->part.index, 2);
  assert_int_equal(record->part.count, 4);
  assert_false(record->part.open);
  assert_int_equal(job_time_compare(record->part.end, (struct job_time){2, 3}), 0);
  assert_int_equal(record->picture_count, pictures);
  assert_int_equal(record->segment_count, segments);
  for (int i = 0; i < pictures; i++) {
    const struct job_picture wanted = picture_at(i);
    assert_int_equal(record->pictures[i].time, wanted.time);
    assert_int_equal(record->pictures[i].source, wanted.source);
    assert_memory_equal(record->pictures[i].hash.bytes, wanted.hash.bytes, JOB_HASH_BYTES);
  }
  job_free(&job);
}

static void test_written_is_read(void **state) {
  (void)state;
  struct job_record record;
  struct error err;
  write_all(true);
  assert_int_equal(job_record_read(&record, path, &err), 1);
  check(&record, PICTURES, 3);
  assert_int_equal(job_record_kept(&record), 7);
  assert_true(record.ended && record.end.whole);
  assert_int_equal(record.end.time, 7007);
  job_record_free(&record);
}

/* Cut off at any byte, the manifest gives a beginning of what was written, without an incomplete line. */
static void test_cut_off(void **state) {
  (void)state;
  struct job_record record;
  struct error err;
  write_all(false);
  size_t length;
  char *text = fixture_read(path, &length);
  size_t head = strcspn(text, "\n") + 1, most = 0;
  for (size_t cut = 0; cut <= length; cut++) {
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(text, 1, cut, file), cut);
    fclose(file);
    assert_int_equal(job_record_read(&record, path, &err), cut >= head);
    size_t kept = cut < head ? 0 : (size_t)job_record_kept(&record);
    assert_true(kept >= most && kept <= 6);
    most = kept;
    assert_false(record.ended);
    if (cut >= head)
      check(&record, (int)record.picture_count, kept == 6 ? 2 : kept == 4 ? 1 : 0);
    job_record_free(&record);
  }
  assert_int_equal(most, 6);
  free(text);
}

/* Reading ends before a line that is damaged or contradicts earlier ones. */
static void test_damaged(void **state) {
  (void)state;
  static const struct {
    const char *was, *is;
    int pictures, kept;
  } cases[] = {
      {"\"picture\":3", "\"picture\":2", 3, 0},     {"\"time\":4004", "\"time\":3003", 4, 4},
      {"\"source\":80", "\"source\":-9", 5, 4},     {"\"hash\":\"24", "\"hash\":\"2g", 5, 4},
      {"\"segment\":4", "\"segment\":3", 6, 4},     {"\"pictures\":4", "\"pictures\":5", 4, 0},
      {"{\"picture\":6", "[\"picture\",6", 6, 6},   {"\"time\":6006", "\"time\":6.5", 6, 6},
      {"\"pictures\":7,", "\"pictures\":8,", 7, 7}, {"\"end\":7007", "\"end\":6005", 7, 7},
  };
  struct job_record record;
  struct error err;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_all(true);
    char *text = fixture_read(path, NULL), *at = strstr(text, cases[i].was);
    assert_non_null(at);
    memcpy(at, cases[i].is, strlen(cases[i].is));
    if (strlen(cases[i].is) < strlen(cases[i].was))
      memmove(at + strlen(cases[i].is), at + strlen(cases[i].was), strlen(at + strlen(cases[i].was)) + 1);
    fixture_text(scratch, "out.mp4.part.json", text);
    free(text);
    assert_int_equal(job_record_read(&record, path, &err), 1);
    if ((int)record.picture_count != cases[i].pictures || job_record_kept(&record) != cases[i].kept || record.ended)
      fail_msg("%s: %zu pictures, %d kept", cases[i].is, record.picture_count, (int)job_record_kept(&record));
    job_record_free(&record);
  }
}

static void test_no_manifest(void **state) {
  (void)state;
  static const char *const others[] = {"",    "\n", "{}\n", "[1]\n", "{\"manifest\":\"1\"}\n", "{\"manifest\":1}\n",
                                       "RIFF"};
  struct job_record record;
  struct error err;
  snprintf(path, sizeof path, "%s/other", scratch);
  assert_int_equal(job_record_read(&record, path, &err), 0);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    fixture_text(scratch, "other", others[i]);
    assert_int_equal(job_record_read(&record, path, &err), 0);
  }
  fixture_text(scratch, "other", "{\"manifest\":2}\n");
  assert_int_equal(job_record_read(&record, path, &err), -1);
  assert_non_null(strstr(err.message, "another version"));
}

static void expect(const struct job *was, const struct job *is, const char *words) {
  struct error err = {0};
  assert_int_equal(job_compare(was, is, &err), words ? -1 : 0);
  if (words && !strstr(err.message, words))
    fail_msg("'%s' is not in: %s", words, err.message);
}

static void test_compared(void **state) {
  (void)state;
  struct job was, is;
  struct error err;
  fill(&was);
  assert_int_equal(job_copy(&is, &was, &err), 0);
  expect(&was, &is, NULL);
  strcpy(is.input.time, "2027");
  assert_int_equal(job_set_text(&is.input.name, "elsewhere.mp4", &err), 0);
  expect(&was, &is, NULL);
  is.batch = 1;
  expect(&was, &is, "--batch) differs: 4 then, 1 now");
  is.batch = 0;
  expect(&was, &is, NULL);
  is.origin = (struct job_time){2002, 60000};
  expect(&was, &is, NULL);
  is.origin = (struct job_time){1, 30};
  expect(&was, &is, "1001/30000 s");
  is.origin = was.origin;
  is.header[2] = 0;
  expect(&was, &is, "header");
  is.header[2] = 0xab;
  assert_int_equal(job_set_text(&is.options[2].value, "0.7", &err), 0);
  expect(&was, &is, "--strength differs: 0.5 then, 0.7 now");
  assert_int_equal(job_set_text(&is.options[2].value, "0.5", &err), 0);
  assert_int_equal(job_add_option(&is, "--seed", "7", &err), 0);
  expect(&was, &is, "--seed differs");
  expect(&is, &was, "--seed differs");
  is.input.size++;
  expect(&was, &is, "12345 then, 12346 now");
  job_free(&is);
  job_free(&was);
}

/* Files with the same contents count as the same input; one changed byte within the samples, or another size, makes
 * another one. */
static void test_files(void **state) {
  (void)state;
  struct job_file one, other;
  struct error err;
  char bytes[5000];
  memset(bytes, 'x', sizeof bytes);
  snprintf(path, sizeof path, "%s/a.mkv", scratch);
  fixture_write(scratch, "a.mkv", bytes, sizeof bytes);
  assert_int_equal(job_file_describe(&one, path, &err), 0);
  assert_int_equal(one.size, 5000);
  assert_int_equal(strlen(one.hash), 32);
  assert_int_equal(strlen(one.time), 20);
  snprintf(path, sizeof path, "%s/b.mkv", scratch);
  fixture_write(scratch, "b.mkv", bytes, sizeof bytes);
  assert_int_equal(job_file_describe(&other, path, &err), 0);
  assert_string_equal(one.hash, other.hash);
  job_file_free(&other);
  bytes[4999] = 'y';
  fixture_write(scratch, "b.mkv", bytes, sizeof bytes);
  assert_int_equal(job_file_describe(&other, path, &err), 0);
  assert_string_not_equal(one.hash, other.hash);
  job_file_free(&other);
  assert_int_equal(job_file_describe(&other, "https://me:secret@example.org/a.mkv?token=1", &err), 0);
  assert_string_equal(other.name, "https://example.org/a.mkv");
  assert_int_equal(other.size, -1);
  assert_string_equal(other.hash, "");
  job_file_free(&other);
  job_file_free(&one);
}

static void test_pictures(void **state) {
  (void)state;
  uint8_t pixels[2][16 * 4];
  struct job_hash hash[2];
  struct error err;
  for (int i = 0; i < 2; i++) {
    memset(pixels[i], 9 + i, sizeof pixels[i]); /* only the padding of rows differs */
    for (int y = 0; y < 4; y++)
      memset(pixels[i] + (ptrdiff_t)16 * y, 77, 12);
    const struct frame frame = {.format = PIXEL_RGBA, .width = 3, .height = 4, .plane = {pixels[i]}, .pitch = {16}};
    assert_int_equal(job_hash_picture(&hash[i], &frame, &err), 0);
    pixels[i][0] = 78;
  }
  assert_memory_equal(hash[0].bytes, hash[1].bytes, JOB_HASH_BYTES);
  const struct frame changed = {.format = PIXEL_RGBA, .width = 3, .height = 4, .plane = {pixels[0]}, .pitch = {16}};
  assert_int_equal(job_hash_picture(&hash[0], &changed, &err), 0);
  assert_memory_not_equal(hash[0].bytes, hash[1].bytes, JOB_HASH_BYTES);
}

static void test_parts(void **state) {
  (void)state;
  const struct job_part first = {1, 2, false, 0, 0, {0, 1}, {1001, 3000}, false},
                        last = {2, 2, false, 0, 0, {1001, 3000}, {0, 0}, true};
  const struct job_time at = {2002, 6000}, before = {10009, 30000};
  assert_true(job_part_has(&first, (struct job_time){0, 7}));
  assert_true(job_part_has(&first, before) && !job_part_has(&last, before));
  assert_true(!job_part_has(&first, at) && job_part_has(&last, at));
  assert_true(job_part_has(&last, (struct job_time){INT64_MAX, 1}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_written_is_read), cmocka_unit_test(test_cut_off),  cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_no_manifest),     cmocka_unit_test(test_compared), cmocka_unit_test(test_files),
      cmocka_unit_test(test_pictures),        cmocka_unit_test(test_parts),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
