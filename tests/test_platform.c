/* Tests functions of the operating system: files with UTF-8 names, memory that grows in place, the clock. */
#include "tests/rigs/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/rigs/scratch.h"
#include "unet/base/memory_room.h"
#include "unet/base/platform.h"

/* Returns a path in the folder, in one of four buffers that are used in turn. */
static const char *in_folder(const char *name) {
  static char path[4][1024];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", scratch, name);
  return path[next];
}

static void write_text(const char *path, const char *text) {
  FILE *file = platform_create(path);
  assert_non_null(file);
  assert_int_equal(fputs(text, file) < 0, 0);
  assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *text) {
  struct platform_file file;
  char bytes[64] = "";
  assert_int_equal(platform_open(&file, path), 0);
  assert_true(file.regular);
  assert_int_equal(file.size, strlen(text));
  assert_int_equal(platform_read(&file, 0, bytes, sizeof bytes), strlen(text));
  assert_string_equal(bytes, text);
  platform_close(&file);
}

static void test_reads_at_any_place(void **state) {
  (void)state;
  const char *path = in_folder("größe-大きさ.bin");
  struct platform_file file;
  char bytes[8] = "";
  write_text(path, "0123456789");
  assert_true(platform_exists(path));
  assert_int_equal(platform_open(&file, path), 0);
  assert_int_equal(platform_read(&file, 7, bytes, 2), 2);
  assert_memory_equal(bytes, "78\0", 3);
  assert_int_equal(platform_read(&file, 7, bytes, 8), 3); /* the file ends there */
  assert_int_equal(platform_read(&file, 10, bytes, 1), 0);
  assert_int_equal(platform_read(&file, (uint64_t)5 << 30, bytes, 1), 0);
  platform_close(&file);
  platform_close(&file); /* closing a file twice is allowed */
}

static void test_tells_what_is_no_file(void **state) {
  (void)state;
  struct platform_file file;
  const char *missing = in_folder("missing"), *pipe = in_folder("pipe");
  assert_false(platform_exists(missing));
  assert_int_equal(errno, ENOENT);
  assert_int_equal(platform_open(&file, missing), -1);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(file.descriptor, -1);
  assert_null(platform_real_path(missing));
  assert_int_equal(platform_open(&file, scratch), 0);
  assert_false(file.regular);
  platform_close(&file);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  assert_false(platform_can_read_file(missing) || platform_can_read_file(scratch) || platform_can_read_file(pipe));
  assert_true(platform_can_read_file("/proc/self/exe"));
  assert_int_equal(platform_open(&file, pipe), 0); /* opening does not wait for a writer */
  assert_false(file.regular);
  platform_close(&file);
}

static void test_replaces_in_one_step(void **state) {
  (void)state;
  const char *path = in_folder("kept"), *link = in_folder("link");
  struct stat about;
  write_text(path, "old");
  char *name = platform_temporary_name(path);
  assert_string_not_equal(name, path);
  write_text(name, "new");
  assert_text(path, "old");
  assert_int_equal(platform_replace(name, path), 0);
  assert_text(path, "new");
  assert_false(platform_exists(name));
  assert_int_equal(platform_replace(name, path), -1);
  free(name);
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
  assert_int_equal(symlink(path, link), 0);
  char *real = platform_real_path(link), *whole = platform_real_path(path);
  assert_string_equal(real, whole);
  free(real);
  free(whole);
  write_text(link, "beside"); /* the link is removed, not its target */
  assert_text(path, "new");
  assert_int_equal(platform_remove(path), 0);
  assert_int_equal(platform_remove(path), -1);
}

static void test_makes_and_locks_folders(void **state) {
  (void)state;
  const char *path = in_folder("cache");
  assert_int_equal(platform_make_folder(path), 0);
  assert_int_equal(platform_make_folder(path), 0); /* the folder exists already */
  assert_int_equal(platform_make_folder(in_folder("missing/cache")), -1);
  for (int i = 0; i < 2; i++) { /* after unlocking it can be locked again */
    intptr_t lock = platform_lock(path);
    assert_true(lock >= 0);
    platform_unlock(lock);
  }
  assert_true(platform_lock(in_folder("missing")) == -1);
  platform_unlock(-1);
}

static void test_aligns_memory(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 1000, (size_t)5 << 20};
  for (int i = 0; i < 4; i++) {
    char *data = platform_alloc(64, sizes[i]);
    assert_non_null(data);
    assert_int_equal((uintptr_t)data % 64, 0);
    memset(data, 1, sizes[i]);
    platform_free(data);
  }
  platform_free(NULL);
}

static void test_memory_grows_in_place(void **state) {
  (void)state;
  size_t most = (size_t)1 << 36, first = 100000, second = (size_t)40 << 20;
  unsigned char *memory = platform_reserve(most);
  assert_non_null(memory);
  assert_int_equal(platform_commit(memory, first), 0);
  memset(memory, 0xab, first);
  assert_int_equal(platform_commit(memory, second), 0);
  assert_int_equal(memory[0] + memory[first - 1], 2 * 0xab);
  for (size_t i = (first + 65535) / 65536 * 65536; i < second; i += 4096)
    assert_int_equal(memory[i], 0);
  memory[second - 1] = 1;
  assert_int_equal(platform_commit(memory, first), 0); /* less than now: nothing changes */
  assert_int_equal(memory[second - 1], 1);
  platform_release(memory, most);
  platform_release(NULL, most);
}

static void test_refuses_addresses_it_has_not(void **state) {
  (void)state;
  assert_null(platform_reserve(SIZE_MAX - 4096));
  assert_int_equal(errno, ENOMEM);
  assert_null(platform_reserve((size_t)1 << 62));
}

static void test_clock_goes_on(void **state) {
  (void)state;
  int64_t before = platform_now_ns();
  platform_sleep_ns(2000000);
  platform_sleep_ns(0);
  platform_sleep_ns(-1);
  assert_true(platform_now_ns() - before >= 2000000);
}

/* The system's cache of files does not count as used memory, because it would be freed. */
static void test_memory_of_kept_files(void **state) {
  (void)state;
  char line[128];
  unsigned long long kib = 0;
  size_t total, available;
  FILE *in = fopen("/proc/meminfo", "r");
  while (in && fgets(line, sizeof line, in) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
    ;
  if (in)
    fclose(in);
  if (!kib)
    skip();
  platform_memory(&total, &available);
  double apart = (double)available - 1024 * (double)kib;
  /* other programs allocate meanwhile, and a control group may have a lower limit */
  assert_true(apart <= 0.05 * (double)total);
}

/* --- memory limits of a made-up system --- */

struct text_file {
  const char *name, *text;
};

#define MEMINFO                                                                                                        \
  { "proc/meminfo", "MemTotal:        8000 kB\nMemFree:  100 kB\nMemAvailable:    6000 kB\n" }

static void expect_room(double total_kb, double available_kb, const struct text_file *files, int count) {
  size_t total, available;
  char *root = fixture_make();
  for (int i = 0; i < count; i++)
    fixture_text(root, files[i].name, files[i].text);
  memory_room(root, &total, &available);
  fixture_remove(root);
  if (fabs((double)total - 1024 * total_kb) > 1 || fabs((double)available - 1024 * available_kb) > 1)
    fail_msg("%zu and %zu bytes, not %g and %g kB", total, available, total_kb, available_kb);
}

#define EXPECT_ROOM(total, available, ...)                                                                             \
  expect_room(total, available, (const struct text_file[]){__VA_ARGS__},                                               \
              (int)(sizeof((const struct text_file[]){__VA_ARGS__}) / sizeof(struct text_file)))

static void test_memory_without_groups(void **state) {
  (void)state;
  EXPECT_ROOM(8000, 6000, MEMINFO);
  EXPECT_ROOM(8000, 6000, MEMINFO, {"proc/self/cgroup", "0::/\n"});
  EXPECT_ROOM(8000, 6000, MEMINFO, {"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/memory.max", "max\n"},
              {"sys/fs/cgroup/a/memory.current", "1000000\n"});
  EXPECT_ROOM(0, 0, {"proc/self/cgroup", "0::/\n"});
  EXPECT_ROOM(8000, 0, {"proc/meminfo", "MemTotal: 8000 kB\n"});
  EXPECT_ROOM(0, 0, {"proc/meminfo", "MemAvailable"});
}

/* In a control group, free memory is what its limit leaves plus what it could free; groups above it limit it, too. */
static void test_memory_of_groups_version_2(void **state) {
  (void)state;
  const struct text_file memory = MEMINFO, self = {"proc/self/cgroup", "0::/user.slice/show\n"};
  const struct text_file most = {"sys/fs/cgroup/user.slice/show/memory.max", "4096000\n"};
  const struct text_file used = {"sys/fs/cgroup/user.slice/show/memory.current", "2048000\n"};
  const struct text_file kept = {"sys/fs/cgroup/user.slice/show/memory.stat",
                                 "anon 99\ninactive_file 512000\nactive_file 256000\nslab_reclaimable 256000\n"};
  EXPECT_ROOM(4000, 4000, memory, self, most);
  EXPECT_ROOM(4000, 2000, memory, self, most, used);
  EXPECT_ROOM(4000, 3000, memory, self, most, used, kept);
  EXPECT_ROOM(3000, 1000, memory, self, most, used, {"sys/fs/cgroup/user.slice/show/memory.high", "3072000\n"});
  EXPECT_ROOM(2500, 500, memory, self, most, used, {"sys/fs/cgroup/user.slice/memory.max", "2560000\n"},
              {"sys/fs/cgroup/user.slice/memory.current", "2048000\n"});
  EXPECT_ROOM(1000, 1000, memory, self, most, {"sys/fs/cgroup/memory.max", "1024000\n"});
  EXPECT_ROOM(4000, 0, memory, self, most, {"sys/fs/cgroup/user.slice/show/memory.current", "5000000\n"});
  EXPECT_ROOM(8000, 6000, memory, self, {"sys/fs/cgroup/user.slice/show/memory.max", "99999999999\n"}, used);
}

static void test_memory_of_groups_version_1(void **state) {
  (void)state;
  const struct text_file memory = MEMINFO, self = {"proc/self/cgroup", "5:cpu:/b\n4:memory:/docker/a\n0::/\n"};
  const struct text_file none = {"sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "9223372036854771712\n"};
  const struct text_file most = {"sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "4096000\n"};
  const struct text_file used = {"sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes", "2048000\n"};
  const struct text_file kept = {"sys/fs/cgroup/memory/docker/a/memory.stat",
                                 "inactive_file 7\ntotal_inactive_file 512000\ntotal_active_file 512000\n"};
  EXPECT_ROOM(8000, 6000, memory, self, none, used);
  EXPECT_ROOM(4000, 2000, memory, self, most, used);
  EXPECT_ROOM(4000, 3000, memory, self, most, used, kept);
  EXPECT_ROOM(2500, 2500, memory, self, none, {"sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2560000\n"});
  EXPECT_ROOM(8000, 6000, memory, self, {"sys/fs/cgroup/memory/b/memory.limit_in_bytes", "1000\n"});
}

static void test_finds_display_devices(void **state) {
  (void)state;
  enum { NVIDIA = 0x10de, AMD = 0x1002 };
  char *root = fixture_make();
  assert_false(platform_has_display(root, NVIDIA)); /* no PCI bus */
  fixture_text(root, "sys/bus/pci/devices/0000:00:02.0/vendor", "0x1002\n");
  fixture_text(root, "sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
  fixture_text(root, "sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
  fixture_text(root, "sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n"); /* the GPU's sound device */
  fixture_text(root, "sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n");
  assert_true(platform_has_display(root, AMD));
  assert_false(platform_has_display(root, NVIDIA));
  fixture_text(root, "sys/bus/pci/devices/0000:02:00.0/class", "0x030200\n"); /* a GPU without a display */
  assert_true(platform_has_display(root, NVIDIA));
  fixture_remove(root);
}

static void test_knows_the_machine(void **state) {
  (void)state;
  char name[8];
  size_t total, available;
  platform_cpu_name(name, sizeof name);
  assert_true(*name && strlen(name) < sizeof name);
  assert_true(platform_processors() >= 1);
  platform_memory(&total, &available);
  assert_true(available > 0 && available <= total);
}

/* The system refuses matrix units that the processor does not have, and lets this process use those that it has. */
static void test_asks_for_matrix_units(void **state) {
  (void)state;
  char line[8192];
  bool there = false, told = false;
  FILE *in = fopen("/proc/cpuinfo", "r");
  while (in && fgets(line, sizeof line, in)) {
    told |= !strncmp(line, "flags", 5);
    there |= strstr(line, " amx_tile") != NULL;
  }
  if (in)
    fclose(in);
  if (!told)
    skip();
  assert_int_equal(platform_allow_amx(), there);
  assert_int_equal(platform_allow_amx(), there); /* again */
}

static void test_knows_its_own_folder(void **state) {
  (void)state;
  char folder[1024], small[8];
  assert_true(platform_own_folder(folder, sizeof folder));
  char *program = platform_real_path("/proc/self/exe");
  assert_non_null(program);
  *strrchr(program, '/') = 0;
  assert_string_equal(folder, program);
  assert_false(platform_own_folder(small, sizeof small)); /* its path does not fit */
  free(program);
}

/* A copy of a descriptor keeps the file open, and no program that is started inherits it. */
static void test_copies_descriptors(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  int copy = platform_copy_descriptor(ends[1]);
  assert_true(copy >= 0 && fcntl(copy, F_GETFD) & FD_CLOEXEC);
  platform_close_descriptor(ends[1]);
  assert_int_equal(write(copy, "x", 1), 1);
  platform_close_descriptor(copy);
  close(ends[0]);
  assert_int_equal(platform_copy_descriptor(copy), -1);
}

static void test_opens_code(void **state) {
  (void)state;
  char why[256];
  const char *absent = in_folder("absent.so"), *text = in_folder("text.so");
  write_text(text, "This is no code, but longer than the header that code begins with, which would be needed.");
  assert_null(platform_open_code(absent, why, sizeof why));
  assert_string_equal(why, "cannot open shared object file: No such file or directory");
  assert_null(platform_open_code(text, why, sizeof why));
  assert_string_equal(why, "invalid ELF header");
  void *code = platform_open_code("libm.so.6", why, sizeof why);
  assert_non_null(code);
  assert_string_equal(why, "");
  assert_non_null(platform_find_function(code, "cos"));
  assert_null(platform_find_function(code, "reverie_absent"));
  platform_close_code(code);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads_at_any_place),
      cmocka_unit_test(test_tells_what_is_no_file),
      cmocka_unit_test(test_replaces_in_one_step),
      cmocka_unit_test(test_makes_and_locks_folders),
      cmocka_unit_test(test_aligns_memory),
      cmocka_unit_test(test_memory_grows_in_place),
      cmocka_unit_test(test_refuses_addresses_it_has_not),
      cmocka_unit_test(test_clock_goes_on),
      cmocka_unit_test(test_memory_of_kept_files),
      cmocka_unit_test(test_memory_without_groups),
      cmocka_unit_test(test_memory_of_groups_version_2),
      cmocka_unit_test(test_memory_of_groups_version_1),
      cmocka_unit_test(test_finds_display_devices),
      cmocka_unit_test(test_knows_the_machine),
      cmocka_unit_test(test_asks_for_matrix_units),
      cmocka_unit_test(test_knows_its_own_folder),
      cmocka_unit_test(test_copies_descriptors),
      cmocka_unit_test(test_opens_code),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
