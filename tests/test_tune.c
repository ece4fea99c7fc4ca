/* Tests the file of tuning results (which kernels were fastest): it is written completely or not at all, is for one
 * GPU, driver and library version, is shared by all processes, and never causes a failure. Needs no GPU. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/ways/tuner.h"
#include "tests/rigs/fixture.h"

enum { CHOICES = 50, PROCESSES = 5 };

static char *folder, path[128];

static struct cuda_device make_device(const char *gpu, const char *driver) {
  struct cuda_device device = {0};
  snprintf(device.properties.name, sizeof device.properties.name, "%s", gpu);
  snprintf(device.driver, sizeof device.driver, "%s", driver);
  return device;
}

static struct tuner *open_tuner(const char *gpu, const char *driver, const char *dir) {
  struct cuda_device device = make_device(gpu, driver);
  struct tuner *tuner = NULL;
  struct error err = {0};
  assert_int_equal(tuner_open(&tuner, &device, dir, &err), 0);
  return tuner;
}

static struct choice make_choice(int i) {
  return (struct choice){ways[i % WAYS], i % 5, 1 + i % 7};
}

static const char *make_key(int i) {
  static char key[64];
  snprintf(key, sizeof key, "1x64x64 c%d+0 to 64x64 c320 k3", 8 * i);
  return key;
}

static void store_one(struct tuner *tuner, int i) {
  struct choice choice = make_choice(i);
  tuner_store(tuner, make_key(i), &choice, true);
}

static void store_all(struct tuner *tuner) {
  for (int i = 0; i < CHOICES; i++)
    store_one(tuner, i);
}

/* Returns the number of choices in the file, all of which must be correct. */
static int count_right(struct tuner *tuner) {
  int count = 0;
  for (int i = 0; i < CHOICES; i++) {
    struct choice found, expected = make_choice(i);
    if (!tuner_find(tuner, make_key(i), &found))
      continue;
    assert_ptr_equal(found.way, expected.way);
    assert_int_equal(found.index, expected.index);
    assert_int_equal(found.splits, expected.splits);
    count++;
  }
  return count;
}

static void write_file(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static int warnings;

static void count_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  warnings += level == LOG_WARNING;
  assert_null(strchr(text, '\n'));
}

static const struct log counting = {.line = count_line};

/* --- tests --- */

static int make_file(void **state) {
  (void)state;
  folder = fixture_make();
  snprintf(path, sizeof path, "%s/tuning-Some-GPU.txt", folder);
  struct tuner *tuner = open_tuner("Some GPU", "1.2", folder);
  store_all(tuner);
  warnings = 0;
  tuner_save(tuner, &counting);
  assert_int_equal(warnings, 0);
  tuner_close(tuner);
  return 0;
}

static int remove_file(void **state) {
  (void)state;
  fixture_remove(folder);
  return 0;
}

static int count_in_file(const char *gpu, const char *driver) {
  struct tuner *tuner = open_tuner(gpu, driver, folder);
  int count = count_right(tuner);
  tuner_close(tuner);
  return count;
}

static void test_kept(void **state) {
  (void)state;
  char command[160];
  assert_int_equal(count_in_file("Some GPU", "1.2"), CHOICES);
  snprintf(command, sizeof command, "test $(ls '%s' | wc -l) = 1", folder); /* no other file is left behind */
  assert_int_equal(system(command), 0);
}

static void test_for_one_gpu_and_driver(void **state) {
  (void)state;
  assert_int_equal(count_in_file("Some GPU", "1.3"), 0);
  assert_int_equal(count_in_file("Other GPU", "1.2"), 0);
  assert_int_equal(count_in_file("Some", "1.2"), 0);
}

/* The file's first line has a hash of the kernels that were timed; if it differs, nothing is read. */
static void test_for_these_ways(void **state) {
  (void)state;
  size_t size;
  char *bytes = fixture_read(path, &size);
  assert_non_null(bytes);
  assert_int_equal(strspn(bytes + strlen("ways "), "0123456789abcdef"), 16);
  assert_memory_equal(bytes, "ways ", strlen("ways "));
  bytes[strlen("ways ")] ^= 1;
  write_file(path, bytes, size);
  free(bytes);
  assert_int_equal(count_in_file("Some GPU", "1.2"), 0);
}

/* Choices that one tuner exports are all used by another one, and nothing else: exported are those that programs asked
 * for, the file is ignored, and nothing is saved. */
static void test_given(void **state) {
  (void)state;
  struct choice choice;
  struct tuner *first = open_tuner("Some GPU", "1.2", folder), *second = open_tuner("Some GPU", "1.2", folder);
  assert_true(tuner_find(first, make_key(3), &choice) && tuner_find(first, make_key(20), &choice));
  tuner_store(first, "own", &(struct choice){&way_gemm, 4, 2}, false);
  char *text = tuner_write(first), *again;
  assert_non_null(text);
  assert_false(tuner_is_given(second));
  assert_true(tuner_take(second, text));
  assert_true(tuner_is_given(second));
  assert_false(tuner_find(second, make_key(4), &choice));
  assert_true(tuner_find(second, make_key(3), &choice) && choice.way == make_choice(3).way);
  assert_true(tuner_find(second, make_key(20), &choice) && choice.splits == make_choice(20).splits);
  assert_true(tuner_find(second, "own", &choice) && choice.index == 4 && choice.way == &way_gemm);
  again = tuner_write(second);
  assert_string_equal(again, text);
  tuner_store(second, "found", &(struct choice){&way_gemm, 1, 1}, true);
  tuner_save(second, &counting);
  tuner_close(first);
  tuner_close(second);
  struct tuner *file = open_tuner("Some GPU", "1.2", folder);
  assert_int_equal(count_right(file), CHOICES);
  assert_false(tuner_find(file, "found", &choice) || tuner_find(file, "own", &choice));
  tuner_close(file);
  free(text);
  free(again);
}

/* Exported choices of another GPU or driver, or an invalid text, are refused and change nothing. */
static void test_given_to_another(void **state) {
  (void)state;
  struct choice choice;
  struct tuner *first = open_tuner("Some GPU", "1.2", folder);
  assert_true(tuner_find(first, make_key(3), &choice));
  char *text = tuner_write(first);
  struct tuner *others[] = {open_tuner("Other GPU", "1.2", NULL), open_tuner("Some GPU", "1.3", NULL)};
  for (int i = 0; i < 2; i++) {
    assert_false(tuner_take(others[i], text) || tuner_is_given(others[i]));
    assert_false(tuner_find(others[i], make_key(3), &choice));
    tuner_close(others[i]);
  }
  assert_false(tuner_take(first, "") || tuner_take(first, "ways") || tuner_is_given(first));
  assert_int_equal(count_right(first), CHOICES);
  tuner_close(first);
  free(text);
}

/* What candidates took is listed for people below the versions; those that could not be timed are left out. */
static void test_notes(void **state) {
  (void)state;
  struct tuner *tuner = open_tuner("Some GPU", "1.2", NULL);
  tuner_note(tuner, make_key(2), &(struct choice){&way_gemm, 4, 2}, 12.25e-6);
  tuner_note(tuner, make_key(2), &(struct choice){&way_cudnn, 1, 1}, -1);
  tuner_note(tuner, make_key(2), &(struct choice){&way_gemm, TILE_128x160_F16, 1}, 7.5e-6);
  char *text = tuner_times(tuner);
  assert_non_null(text);
  assert_memory_equal(text, "ways ", strlen("ways "));
  assert_non_null(strstr(text, ", Some GPU, driver 1.2, "));
  assert_string_equal(strchr(text, '\n'), "\n1x64x64 c16+0 to 64x64 c320 k3: gemm 4, 2 splits: 12.25 us\n"
                                          "1x64x64 c16+0 to 64x64 c320 k3: gemm 13 FP16 sums, 1 split: 7.50 us\n");
  free(text);
  tuner_close(tuner);
}

static void hash_sources(const char *targets, char hash[64]) {
  char command[512];
  snprintf(command, sizeof command, "sh '" WAYS_HASH_SCRIPT "' '%s' '%s/one.c' '%s/two.c'", targets, folder, folder);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  assert_non_null(fgets(hash, 64, pipe));
  assert_int_equal(pclose(pipe), 0);
}

static void hash_text(const char *targets, const char *text, char hash[64]) {
  char name[160];
  snprintf(name, sizeof name, "%s/two.c", folder);
  write_file(name, text, strlen(text));
  hash_sources(targets, hash);
}

/* Any change of a kernel's code, or of what it is compiled for, gives another hash; the same code gives the same. */
static void test_hash(void **state) {
  (void)state;
  static const char text[] = "#define A 1 /* a */\nint a = A, b; // b\n\nchar *c = \"/* c */ d\";\n";
  static const char *const same[] = {
      "#define A 1\nint a = A, b;\nchar *c = \"/* c */ d\";\n",
      "/* \"it's\n */  # define A /* x\n y */ 1\n int a=A,b; // \\\n int e;\nchar\t*c=\"/* c */ d\";",
      "#define A \\\n  1\n//\" '\nint/**/a = A, b; /* ' */ char *c = \"/* c */ d\";\n"};
  static const char *const others[] = {
      "#define A 1 int\na = A, b; char *c = \"/* c */ d\";\n",
      "#define A 1\nint a = A; int b; char *c = \"/* c */ d\";\n",
      "#define A 1\nint a = A, b; char *c = \"/* c */  d\";\n",
      "#define A 1\nint a = A, b; char *c = \"d\";\n",
      "#define A 1\nint a = A, b; char *c = \"/* c */ d\"; // \\ e\nint e;\n",
      "#define A 1\nint a = A, b; char *c = \"/* c */ d\", f = '\"'; /* \" */ int e;\n",
      "#define A 1\nint a = A, b; char *c = \"/* c */ d\", f = '\"'; int e2; /* \" */\n"};
  char first[64], hash[64], name[160];
  snprintf(name, sizeof name, "%s/one.c", folder);
  write_file(name, "int one;", 8);
  hash_text("90a", text, first);
  assert_int_equal(strspn(first + strlen("#define WAYS_HASH \""), "0123456789abcdef"), 16);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    hash_text("90a", same[i], hash);
    assert_string_equal(hash, first);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    hash_text("90a", others[i], hash);
    assert_string_not_equal(hash, first);
  }
  hash_text("80", text, hash);
  assert_string_not_equal(hash, first);
  write_file(name, "int won;", 8);
  hash_text("90a", text, hash);
  assert_string_not_equal(hash, first);
}

/* A source that ends within a comment, or that the script cannot parse, gives no hash but an error. */
static void test_hash_of_whole_texts(void **state) {
  (void)state;
  static const char *const texts[] = {"int a; /* b\n", "int a; \\\n", "char *a = R\"(/*)\";\n"};
  char name[160], command[512];
  snprintf(name, sizeof name, "%s/one.c", folder);
  snprintf(command, sizeof command, "sh '" WAYS_HASH_SCRIPT "' 90a '%s' 2>'%s/said.txt'", name, folder);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_file(name, texts[i], strlen(texts[i]));
    assert_int_not_equal(system(command), 0);
  }
}

/* A kernel's source that is included by another one cannot be left out of the hash unnoticed. */
static void test_hash_is_whole(void **state) {
  (void)state;
  static const char *const lists[] = {"./one.c ./attention/two.cuh >hash.h",
                                      "./one.c 2>said.txt && exit 1; grep -q attention/two.cuh said.txt"};
  static const char including[] = "#include \"attention/two.cuh\"\n";
  char one[160], command[512];
  snprintf(one, sizeof one, "%s/one.c", folder);
  write_file(one, including, strlen(including));
  snprintf(command, sizeof command, "cd '%s' && mkdir attention && echo 'int two;' >attention/two.cuh", folder);
  assert_int_equal(system(command), 0);
  for (int i = 0; i < 2; i++) {
    snprintf(command, sizeof command, "cd '%s' && sh '" WAYS_HASH_SCRIPT "' 90a %s", folder, lists[i]);
    assert_int_equal(system(command), 0);
  }
}

/* Truncated at any length, the rest of the file is used, missing choices are timed again, and saving completes the
 * file. */
static void test_truncated(void **state) {
  (void)state;
  size_t size;
  char *bytes = fixture_read(path, &size);
  assert_non_null(bytes);
  assert_in_range(size, 1000, 8191);
  for (size_t length = 0; length < size; length++) {
    write_file(path, bytes, length);
    assert_in_range(count_in_file("Some GPU", "1.2"), 0, CHOICES);
  }
  free(bytes);
  struct tuner *tuner = open_tuner("Some GPU", "1.2", folder);
  store_all(tuner);
  tuner_save(tuner, NULL);
  tuner_close(tuner);
  assert_int_equal(count_in_file("Some GPU", "1.2"), CHOICES);
}

/* Random bytes, and random bytes after a valid first line. */
static void test_corrupt(void **state) {
  (void)state;
  char bytes[4096], first[256];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_non_null(fgets(first, sizeof first, file));
  fclose(file);
  unsigned random = 1;
  for (int round = 0; round < 200; round++) {
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    if (round % 2)
      memcpy(bytes, first, strlen(first));
    write_file(path, bytes, sizeof bytes);
    assert_int_equal(count_in_file("Some GPU", "1.2"), 0);
  }
}

/* With a folder that cannot be created or written, or none, there is at most one warning, and this process's choices
 * are used. */
static void test_nowhere_to_write(void **state) {
  (void)state;
  char below[160];
  snprintf(below, sizeof below, "%s/below", path); /* the path leads through a file, which is an error even for root */
  const char *const places[] = {below, "/proc/nowhere", NULL};
  for (int i = 0; i < 3; i++) {
    struct tuner *tuner = open_tuner("Some GPU", "1.2", places[i]);
    store_all(tuner);
    warnings = 0;
    tuner_save(tuner, &counting);
    tuner_save(tuner, &counting);
    assert_int_equal(warnings, places[i] ? 1 : 0);
    assert_int_equal(count_right(tuner), CHOICES);
    tuner_close(tuner);
  }
}

/* A temporary file that a killed process left behind does no harm. */
static void test_left_behind(void **state) {
  (void)state;
  char name[160];
  snprintf(name, sizeof name, "%s.%ld", path, (long)getpid());
  write_file(name, "cut", 3);
  struct tuner *tuner = open_tuner("Some GPU", "1.2", folder);
  store_all(tuner);
  tuner_save(tuner, &counting);
  tuner_close(tuner);
  assert_int_equal(access(name, F_OK), -1);
  assert_int_equal(count_in_file("Some GPU", "1.2"), CHOICES);
}

static unsigned mode_of(const char *name) {
  struct stat file;
  assert_int_equal(stat(name, &file), 0);
  return file.st_mode & 0777;
}

/* Other users cannot read the file, whatever the umask; and someone who can write to the folder cannot have another
 * file overwritten through a link with the temporary name. */
static void test_private(void **state) {
  (void)state;
  char below[160], name[200], victim[160];
  mode_t mask = umask(0);
  snprintf(below, sizeof below, "%s/below", folder);
  snprintf(name, sizeof name, "%s/tuning-Some-GPU.txt.%ld", below, (long)getpid());
  snprintf(victim, sizeof victim, "%s/victim", folder);
  write_file(victim, "mine", 4);
  struct tuner *tuner = open_tuner("Some GPU", "1.2", below);
  assert_int_equal(symlink(victim, name), 0);
  store_all(tuner);
  tuner_save(tuner, &counting);
  tuner_close(tuner);
  umask(mask);
  assert_int_equal(mode_of(below), 0700);
  name[strlen(name) - strlen(strrchr(name, '.'))] = 0;
  assert_int_equal(mode_of(name), 0600);
  struct stat file;
  assert_int_equal(stat(victim, &file), 0);
  assert_int_equal(file.st_size, 4);
}

/* If two processes find choices at the same time, both are kept, and each reads what the other saved before it. */
static void test_two_at_once(void **state) {
  (void)state;
  assert_int_equal(unlink(path), 0);
  struct tuner *first = open_tuner("Some GPU", "1.2", folder), *second = open_tuner("Some GPU", "1.2", folder);
  for (int i = 0; i < CHOICES; i++)
    store_one(i < CHOICES / 3 ? first : second, i);
  tuner_save(first, &counting);
  tuner_save(second, &counting);
  assert_int_equal(count_right(first), CHOICES / 3);
  assert_int_equal(count_right(second), CHOICES);
  assert_int_equal(count_in_file("Some GPU", "1.2"), CHOICES);
  tuner_close(first);
  tuner_close(second);
}

static int kept_splits(const char *key) {
  struct tuner *tuner = open_tuner("Some GPU", "1.2", folder);
  struct choice choice = {.splits = -1};
  tuner_find(tuner, key, &choice);
  tuner_close(tuner);
  return choice.splits;
}

/* For the same key, this process's own timing counts before the file, and the file's newest content before what was
 * read earlier. */
static void test_newest_wins(void **state) {
  (void)state;
  struct tuner *first = open_tuner("Some GPU", "1.2", folder), *second = open_tuner("Some GPU", "1.2", folder);
  tuner_store(second, "key", &(struct choice){&way_gemm, 0, 2}, true);
  tuner_store(second, make_key(0), &(struct choice){&way_gemm, 0, 20}, true);
  tuner_save(second, &counting);
  tuner_store(first, "key", &(struct choice){&way_gemm, 0, 3}, true);
  tuner_save(first, &counting);
  assert_int_equal(kept_splits("key"), 3);
  assert_int_equal(kept_splits(make_key(0)), 20); /* tuner `first` had read another value when it was opened */
  tuner_store(second, "other", &(struct choice){&way_gemm, 0, 4}, true);
  tuner_save(second, &counting);
  assert_int_equal(kept_splits("key"), 2);
  tuner_close(first);
  tuner_close(second);
}

/* Choices that were timed while something disturbed the timing are used by this tuner only, and are never saved. */
static void test_disturbed_stays_out(void **state) {
  (void)state;
  struct tuner *tuner = open_tuner("Some GPU", "1.2", folder);
  struct choice found;
  tuner_store(tuner, "key", &(struct choice){&way_gemm, 0, 2}, false);
  assert_true(tuner_find(tuner, "key", &found));
  assert_int_equal(found.splits, 2);
  tuner_save(tuner, &counting);
  assert_int_equal(kept_splits("key"), -1);
  tuner_store(tuner, make_key(0), &(struct choice){&way_gemm, 0, 20}, true);
  tuner_save(tuner, &counting);
  assert_int_equal(kept_splits("key"), -1);
  assert_int_equal(kept_splits(make_key(0)), 20);
  tuner_store(tuner, "key", &(struct choice){&way_gemm, 0, 3}, true);
  tuner_save(tuner, &counting);
  assert_int_equal(kept_splits("key"), 3);
  tuner_close(tuner);
}

/* Saves every `number`-th choice, each in a separate call. */
static int save_share(int number) {
  struct tuner *tuner = open_tuner("Some GPU", "1.2", folder);
  for (int i = number; i < CHOICES; i += PROCESSES) {
    store_one(tuner, i);
    tuner_save(tuner, &counting);
  }
  tuner_close(tuner);
  return warnings;
}

static void test_many_processes(void **state) {
  (void)state;
  pid_t child[PROCESSES];
  assert_int_equal(unlink(path), 0);
  for (int i = 0; i < PROCESSES; i++) {
    child[i] = fork();
    assert_true(child[i] >= 0);
    if (!child[i])
      _exit(save_share(i));
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = -1;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(count_in_file("Some GPU", "1.2"), CHOICES);
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, make_file, remove_file)
  const struct CMUnitTest tests[] = {
      CASE(test_kept),
      CASE(test_for_one_gpu_and_driver),
      CASE(test_for_these_ways),
      CASE(test_given),
      CASE(test_given_to_another),
      CASE(test_notes),
      CASE(test_hash),
      CASE(test_hash_of_whole_texts),
      CASE(test_hash_is_whole),
      CASE(test_truncated),
      CASE(test_corrupt),
      CASE(test_nowhere_to_write),
      CASE(test_left_behind),
      CASE(test_private),
      CASE(test_two_at_once),
      CASE(test_newest_wins),
      CASE(test_disturbed_stays_out),
      CASE(test_many_processes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
