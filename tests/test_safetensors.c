/* Tests weight files: what is read, and what is refused. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/rigs/scratch.h"
#include "unet/checkpoint/safetensors.h"

/* Writes a file with the data bytes 0, 1, 2, ...; length -1 stands for the header's true length. */
static void write_tensors(const char *name, const char *header, long long length, size_t data_bytes) {
  unsigned char data[128];
  assert_true(data_bytes <= sizeof data);
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)i;
  fixture_tensors(scratch, name, header, length, data, data_bytes);
}

static struct safetensors *open_good(const char *basename) {
  struct safetensors *files;
  struct error err;
  if (safetensors_open(&files, scratch, basename, &err))
    fail_msg("%s", err.message);
  return files;
}

/* Checks that the file is refused with STATUS_MODEL and a message of one line that has these words. */
static void check_refused(const char *basename, const char *says) {
  struct safetensors *files = NULL;
  struct error err = {0};
  if (!safetensors_open(&files, scratch, basename, &err)) {
    safetensors_close(&files);
    fail_msg("%s was accepted; it should say: %s", basename, says);
  }
  assert_int_equal(err.status, STATUS_MODEL);
  assert_null(files);
  if (!strstr(err.message, says) || strchr(err.message, '\n'))
    fail_msg("expected \"%s\" in: %s", says, err.message);
}

static void check_header(const char *header, size_t data_bytes, const char *says) {
  write_tensors("bad.safetensors", header, -1, data_bytes);
  check_refused("bad", says);
}

static void test_reads(void **state) {
  (void)state;
  write_tensors("model.safetensors",
                "{\"__metadata__\": {\"format\": \"pt\"},"
                "\"b.f16\": {\"dtype\": \"F16\", \"shape\": [2, 3], \"data_offsets\": [4, 16]},"
                "\"a.f32\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]},"
                "\"c.i64\": {\"dtype\": \"I64\", \"shape\": [1], \"data_offsets\": [16, 24]},"
                "\"d.scalar\": {\"dtype\": \"BF16\", \"shape\": [], \"data_offsets\": [24, 26]},"
                "\"e.empty\": {\"dtype\": \"F32\", \"shape\": [0, 7], \"data_offsets\": [26, 26]},"
                "\"f.deep\": {\"dtype\": \"F16\", \"shape\": [1,1,1,1,1,1], \"data_offsets\": [26, 28]},"
                "\"g.other\": {\"dtype\": \"F4_X\", \"shape\": [4], \"data_offsets\": [28, 30]}}   ",
                -1, 30);
  struct safetensors *files = open_good("model");
  assert_int_equal(safetensors_count(files), 7);
  assert_int_equal(safetensors_bytes(files), 30);
  assert_string_equal(safetensors_at(files, 0)->name, "a.f32");
  const struct safetensor *t = safetensors_get(files, "b.f16", NULL);
  assert_non_null(t);
  assert_int_equal(t->dtype, DTYPE_F16);
  assert_int_equal(t->rank, 2);
  assert_int_equal(t->shape[0], 2);
  assert_int_equal(t->shape[1], 3);
  assert_int_equal(t->bytes, 12);
  unsigned char first;
  assert_int_equal(weight_file_read(t->file, t->offset, &first, 1, NULL), 0);
  assert_int_equal(first, 4);
  assert_int_equal(safetensors_get(files, "d.scalar", NULL)->dtype, DTYPE_BF16);
  assert_int_equal(safetensors_get(files, "e.empty", NULL)->bytes, 0);
  safetensors_close(&files);
  assert_null(files);
  safetensors_close(&files);
}

static void test_unusable(void **state) {
  (void)state;
  static const char *const names[] = {"c.i64", "f.deep", "g.other", "missing"};
  static const char *const says[] = {"I64", "6 dimensions", "F4_X", "missing"};
  struct safetensors *files = open_good("model");
  for (int i = 0; i < 4; i++) {
    struct error err = {0};
    assert_null(safetensors_get(files, names[i], &err));
    assert_int_equal(err.status, STATUS_MODEL);
    assert_non_null(strstr(err.message, names[i]));
    assert_non_null(strstr(err.message, says[i]));
    assert_int_equal(safetensors_find(files, names[i]) != NULL, i < 3);
  }
  safetensors_close(&files);
}

static void test_bad_files(void **state) {
  (void)state;
  check_refused("none", "has no none.safetensors");
  fixture_write(scratch, "bad.safetensors", "", 0);
  check_refused("bad", "has 0 bytes");
  fixture_write(scratch, "bad.safetensors", "\2\0\0\0\0\0\0", 7);
  check_refused("bad", "has 7 bytes");
  write_tensors("bad.safetensors", "{}", 3, 0);
  check_refused("bad", "cut short");
  write_tensors("bad.safetensors", "{}", 0x7fffffffffffffff, 100);
  check_refused("bad", "the format allows 100 MB");
  write_tensors("bad.safetensors", "{}", 0, 100);
  check_refused("bad", "not JSON");
  char *big = calloc(1, (9 << 20) + 1);
  assert_non_null(big);
  memset(big, ' ', 9 << 20);
  *big = '{';
  check_header(big, 0, "not JSON");
  free(big);
  check_header("{\"a\": ", 0, "not JSON");
  check_header("[]", 0, "not JSON");
  check_header("{} x", 0, "not JSON");
  char *path = fixture_path(scratch, "folder.safetensors");
  mkdir(path, 0777);
  check_refused("folder", "not a regular file");
  free(path);
  path = fixture_path(scratch, "pipe.safetensors");
  assert_int_equal(mkfifo(path, 0600), 0);
  check_refused("pipe", "not a regular file");
  free(path);
}

static void test_hostile_headers(void **state) {
  (void)state;
#define TENSOR(type, shape, offsets)                                                                                   \
  "{\"x\": {\"dtype\": " type ", \"shape\": " shape ", \"data_offsets\": " offsets "}}"
  static const struct {
    const char *header, *says;
  } cases[] = {
      {"{\"x\": 1}", "not described"},
      {"{\"x\": {}}", "shape is not a list"},
      {TENSOR("\"F32\"", "{}", "[0, 4]"), "shape is not a list"},
      {TENSOR("\"F32\"", "\"2\"", "[0, 4]"), "shape is not a list"},
      {TENSOR("\"F32\"", "[-1]", "[0, 4]"), "other than sizes"},
      {TENSOR("\"F32\"", "[1.5]", "[0, 4]"), "other than sizes"},
      {TENSOR("\"F32\"", "[1e400]", "[0, 4]"), "other than sizes"},
      {TENSOR("\"F32\"", "[\"1\"]", "[0, 4]"), "other than sizes"},
      {TENSOR("\"F32\"", "[null]", "[0, 4]"), "other than sizes"},
      {TENSOR("\"F32\"", "[NaN]", "[0, 4]"), "not JSON"},
      {TENSOR("\"F32\"", "[4294967296, 4294967296, 4294967296]", "[0, 4]"), "too large"},
      /* this number of bytes overflows to 0 */
      {TENSOR("\"F32\"", "[9007199254740992, 512]", "[0, 0]"), "differ in size"},
      {TENSOR("\"F32\"", "[2]", "[0, 4]"), "differ in size"},
      {TENSOR("\"F16\"", "[1]", "[0, 4]"), "differ in size"},
      {TENSOR("\"I64\"", "[1]", "[0, 4]"), "differ in size"},
      {TENSOR("7", "[1]", "[0, 4]"), "no type"},
      {TENSOR("\"F32F32F32F32\"", "[1]", "[0, 4]"), "no type"},
      {TENSOR("\"F32\"", "[1]", "[4]"), "data_offsets"},
      {TENSOR("\"F32\"", "[1]", "[0, 4, 8]"), "data_offsets"},
      {TENSOR("\"F32\"", "[1]", "[4, 0]"), "data_offsets"},
      {TENSOR("\"F32\"", "[1]", "[-4, 0]"), "data_offsets"},
      {TENSOR("\"F32\"", "[1]", "{\"0\": 0}"), "data_offsets"},
      {TENSOR("\"F32\"", "[3]", "[0, 12]"), "download is incomplete"},
      {TENSOR("\"F32\"", "[1]", "[9007199254740988, 9007199254740992]"), "download is incomplete"},
      {TENSOR("\"F32\"", "[1]", "[18446744073709551612, 18446744073709551616]"), "data_offsets"},
      {"{\"x\": {\"dtype\": \"F16\", \"shape\": [2], \"data_offsets\": [0, 4]},"
       "\"y\": {\"dtype\": \"F16\", \"shape\": [2], \"data_offsets\": [2, 6]}}",
       "shares bytes"},
      {"{\"x\": {\"dtype\": \"F16\", \"shape\": [1], \"data_offsets\": [0, 2]},"
       "\"x\": {\"dtype\": \"F16\", \"shape\": [3], \"data_offsets\": [2, 8]}}",
       "twice"},
      {TENSOR("\"F16\"", "[1]", "[0, 2]"), "6 bytes follow its last tensor"},
      {TENSOR("\"F16\"", "[2]", "[4, 8]"), "tensor x: before it are bytes of none"},
      {"{}", "8 bytes follow its last tensor"},
      {"{\"evil\\n\\u001b[2Jname\": 1}", "evil??[2Jname"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_header(cases[i].header, 8, cases[i].says);
  char deep[5000] = "{\"x\": ";
  memset(deep + 6, '[', 4000);
  check_header(deep, 8, "not JSON");
}

/* Tags and thumbnails may make a header as large as the format allows; the number of its values is limited. */
static void test_large_headers(void **state) {
  (void)state;
  enum { TAGS = 12 << 20 };
  static const char begin[] = "{\"__metadata__\": {\"thumbnail\": \"", end[] = "\"}}";
  char *header = malloc(TAGS + sizeof begin + sizeof end);
  assert_non_null(header);
  for (int many = 0; many < 2; many++) {
    memcpy(header, begin, sizeof begin - 1);
    for (size_t i = 0; i < TAGS; i++)
      header[sizeof begin - 1 + i] = "a,[{"[i % 4];
    memcpy(header + sizeof begin - 1 + TAGS, end, sizeof end);
    if (many)
      header[sizeof begin - 1] = '"';
    write_tensors("large.safetensors", header, -1, 0);
    char *path = fixture_path(scratch, "large.safetensors");
    struct safetensors *files;
    struct error err = {0};
    assert_int_equal(safetensors_open_file(&files, path, &err), many ? -1 : 0);
    if (many)
      assert_non_null(strstr(err.message, "large.safetensors: its header lists more than 4194304 values"));
    else
      safetensors_close(&files);
    free(path);
  }
  free(header);
}

static void write_shards(void) {
  write_tensors("s-1.safetensors", "{\"x\": {\"dtype\": \"F16\", \"shape\": [1], \"data_offsets\": [0, 2]}}", -1, 2);
  write_tensors("s-2.safetensors", "{\"y\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}", -1, 4);
}

static void test_shards(void **state) {
  (void)state;
  write_shards();
  fixture_text(scratch, "s.safetensors.index.json",
               "{\"metadata\": {\"total_size\": 6},"
               "\"weight_map\": {\"y\": \"s-2.safetensors\", \"x\": \"s-1.safetensors\"}}");
  struct safetensors *files = open_good("s");
  assert_int_equal(safetensors_count(files), 2);
  assert_int_equal(safetensors_get(files, "x", NULL)->dtype, DTYPE_F16);
  assert_int_equal(safetensors_get(files, "y", NULL)->dtype, DTYPE_F32);
  safetensors_close(&files);
}

/* Writes an index of this many shards, each with one tensor. */
static void write_many_shards(int count) {
  char *index;
  size_t size;
  FILE *map = open_memstream(&index, &size);
  assert_non_null(map);
  for (int i = 0; i < count; i++) {
    char name[32], header[96];
    snprintf(name, sizeof name, "m-%d.safetensors", i);
    snprintf(header, sizeof header, "{\"x%d\": {\"dtype\": \"F16\", \"shape\": [1], \"data_offsets\": [0, 2]}}", i);
    write_tensors(name, header, -1, 2);
    fprintf(map, "%s\"x%d\": \"%s\"", i ? ", " : "{\"weight_map\": {", i, name);
  }
  fprintf(map, "}}");
  assert_int_equal(fclose(map), 0);
  fixture_text(scratch, "m.safetensors.index.json", index);
  free(index);
}

/* The largest allowed number of shards can be open in three sets of files in a process that may open 256 files. */
static void test_many_shards(void **state) {
  (void)state;
  enum { MOST = 64, SETS = 3 };
  struct rlimit before, few;
  struct safetensors *files[SETS];
  write_many_shards(MOST);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  few = before;
  few.rlim_cur = before.rlim_cur < 256 ? before.rlim_cur : 256;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int i = 0; i < SETS; i++) {
    files[i] = open_good("m");
    assert_int_equal(safetensors_count(files[i]), MOST);
  }
  for (int i = 0; i < SETS; i++)
    safetensors_close(&files[i]);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  write_many_shards(MOST + 1);
  check_refused("m", "more than 64 shards");
}

static void test_bad_shards(void **state) {
  (void)state;
  static const struct {
    const char *index, *says;
  } cases[] = {
      {"", "no weight_map"},
      {"{}", "no weight_map"},
      {"{\"weight_map\": []}", "no weight_map"},
      {"{\"weight_map\": {}}", "no weight_map"},
      {"{\"weight_map\": {\"x\": 1}}", "not a file name"},
      {"{\"weight_map\": {\"x\": \"../s-1.safetensors\"}}", "same folder"},
      {"{\"weight_map\": {\"x\": \"/etc/passwd\"}}", "same folder"},
      {"{\"weight_map\": {\"x\": \"..\"}}", "same folder"},
      {"{\"weight_map\": {\"x\": \"\"}}", "same folder"},
      {"{\"weight_map\": {\"x\": \"s-3.safetensors\"}}", "s-3.safetensors"},
      {"{\"weight_map\": {\"y\": \"s-1.safetensors\"}}", "none of the shards"},
      {"{\"weight_map\": {\"x\": \"s-1.safetensors\", \"x2\": \"copy.safetensors\"}}", "twice"},
  };
  write_shards();
  write_tensors("copy.safetensors", "{\"x\": {\"dtype\": \"F16\", \"shape\": [1], \"data_offsets\": [0, 2]}}", -1, 2);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture_text(scratch, "t.safetensors.index.json", cases[i].index);
    check_refused("t", cases[i].says);
  }
}

/* Of several files the one without a variant is used; the fp16 variant if there is no other. */
static void test_names(void **state) {
  (void)state;
  const char *header = "{\"x\": {\"dtype\": \"F16\", \"shape\": [1], \"data_offsets\": [0, 2]}}";
  write_tensors("u.fp16.safetensors", header, -1, 2);
  struct safetensors *files = open_good("u");
  assert_non_null(strstr(safetensors_path(files), "u.fp16.safetensors"));
  safetensors_close(&files);
  write_tensors("u.safetensors", header, -1, 2);
  files = open_good("u");
  assert_non_null(strstr(safetensors_path(files), "u.safetensors"));
  safetensors_close(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads),           cmocka_unit_test(test_unusable),      cmocka_unit_test(test_bad_files),
      cmocka_unit_test(test_hostile_headers), cmocka_unit_test(test_large_headers), cmocka_unit_test(test_shards),
      cmocka_unit_test(test_bad_shards),      cmocka_unit_test(test_many_shards),   cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
