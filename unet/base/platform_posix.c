#include "unet/base/platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "unet/base/memory_room.h"

enum { LARGE_PAGE = 2 << 20, SECOND = 1000000000, LOCK_TRIES = 200, LOCK_PAUSE_NS = 5000000 };

/* --- opening, reading and replacing files --- */

int platform_open(struct platform_file *file, const char *path) {
  struct stat about;
  *file = (struct platform_file){.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file->descriptor < 0)
    return -1;
  if (fstat(file->descriptor, &about)) {
    platform_close(file);
    return -1;
  }
  file->regular = S_ISREG(about.st_mode);
  file->size = (uint64_t)about.st_size;
  return 0;
}

void platform_close(struct platform_file *file) {
  int reason = errno;
  if (file->descriptor >= 0)
    close(file->descriptor);
  file->descriptor = -1;
  errno = reason;
}

int64_t platform_read(const struct platform_file *file, uint64_t offset, void *out, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread(file->descriptor, (char *)out + done, size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (!got)
      break;
    done += (size_t)got;
  }
  return (int64_t)done;
}

FILE *platform_stream(const char *path, const char *mode) {
  return fopen(path, mode);
}

bool platform_exists(const char *path) {
  return !access(path, F_OK);
}

char *platform_real_path(const char *path) {
  return realpath(path, NULL);
}

int platform_make_folder(const char *path) {
  return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
}

FILE *platform_create(const char *path) {
  unlink(path);
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (descriptor >= 0 && !file)
    close(descriptor);
  return file;
}

int platform_replace(const char *from, const char *to) {
  return rename(from, to);
}

int platform_remove(const char *path) {
  return unlink(path);
}

char *platform_temporary_name(const char *path) {
  char *name;
  return asprintf(&name, "%s.%ld", path, (long)getpid()) < 0 ? NULL : name;
}

intptr_t platform_lock(const char *folder) {
  int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; lock >= 0 && i < LOCK_TRIES && flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++)
    platform_sleep_ns(LOCK_PAUSE_NS);
  return lock;
}

void platform_unlock(intptr_t lock) {
  if (lock >= 0)
    close((int)lock);
}

/* --- allocating memory, and reserving addresses for it --- */

/* Asks for large pages, which reduce TLB misses for accesses in long strides. If there are no large pages, small ones
 * serve as well. */
static void want_large_pages(void *data, size_t size) {
  int reason = errno;
  madvise(data, size, MADV_HUGEPAGE);
  errno = reason;
}

void *platform_alloc(size_t align, size_t size) {
  void *data;
  int reason = posix_memalign(&data, size >= LARGE_PAGE ? LARGE_PAGE : align, size ? size : 1);
  if (reason) {
    errno = reason;
    return NULL;
  }
  if (size >= LARGE_PAGE)
    want_large_pages(data, size);
  return data;
}

void platform_free(void *data) {
  free(data);
}

void *platform_reserve(size_t most) {
  if (most > SIZE_MAX / 2) {
    errno = ENOMEM;
    return NULL;
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE), kept = (most + page - 1) / page * page;
  char *base = mmap(NULL, kept + LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return NULL;
  size_t before = -(uintptr_t)base % LARGE_PAGE;
  if (before)
    munmap(base, before);
  munmap(base + before + kept, LARGE_PAGE - before);
  return base + before;
}

int platform_commit(void *reserved, size_t size) {
  if (mprotect(reserved, size, PROT_READ | PROT_WRITE))
    return -1;
  want_large_pages(reserved, size);
  return 0;
}

void platform_uncommit(void *reserved, size_t size, size_t committed) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (size + page - 1) / page * page;
  if (first >= committed)
    return;
  madvise((char *)reserved + first, committed - first, MADV_DONTNEED);
  mprotect((char *)reserved + first, committed - first, PROT_NONE);
}

void platform_release(void *reserved, size_t most) {
  if (reserved)
    munmap(reserved, most);
}

/* --- the clock, and facts about the machine --- */

int64_t platform_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

void platform_sleep_ns(int64_t ns) {
  if (ns > 0)
    nanosleep(&(struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND}, NULL);
}

void platform_sleep_until_ns(int64_t ns) {
#ifdef __linux__
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND},
                  NULL);
#else
  platform_sleep_ns(ns - platform_now_ns());
#endif
}

void platform_lock_init(pthread_mutex_t *lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  if (pthread_mutex_init(lock, &attributes))
    pthread_mutex_init(lock, NULL);
  pthread_mutexattr_destroy(&attributes);
}

void platform_sleep_exactly(void) {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

bool platform_allow_amx(void) {
#if defined(__linux__) && defined(__x86_64__)
  enum { ARCH_REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* headers older than Linux 5.16 have no names for them */
  return !syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, TILE_DATA);
#else
  return true;
#endif
}

int platform_copy_descriptor(int descriptor) {
  return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

void platform_close_descriptor(int descriptor) {
  close(descriptor);
}

void platform_cpu_name(char *name, size_t size) {
  snprintf(name, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon || strlen(colon) < 4)
      continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(name, size, "%s", colon + 2);
    break;
  }
  if (file)
    fclose(file);
}

int platform_processors(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
}

/* Returns the hexadecimal number ("0x10de") in folder/name/file_name, a file that Linux makes in /sys, or 0 if there
 * is none. */
static unsigned read_number(const char *folder, const char *name, const char *file_name) {
  char path[1024], text[32] = "";
  struct platform_file file;
  snprintf(path, sizeof path, "%s/%s/%s", folder, name, file_name);
  if (!platform_open(&file, path))
    platform_read(&file, 0, text, sizeof text - 1);
  platform_close(&file);
  return (unsigned)strtoul(text, NULL, 16);
}

bool platform_has_display(const char *root, unsigned vendor) {
  enum { CLASS_DISPLAY = 3 };
  char folder[512];
  bool found = false;
  snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices", root);
  DIR *devices = opendir(folder);
  for (struct dirent *entry; !found && devices && (entry = readdir(devices));)
    found = read_number(folder, entry->d_name, "vendor") == vendor &&
            read_number(folder, entry->d_name, "class") >> 16 == CLASS_DISPLAY;
  if (devices)
    closedir(devices);
  return found;
}

void platform_memory(size_t *total, size_t *available) {
  memory_room("", total, available);
  if (*total && *available)
    return;
  long page = sysconf(_SC_PAGESIZE), all = sysconf(_SC_PHYS_PAGES), unused = sysconf(_SC_AVPHYS_PAGES);
  bool known = page > 0 && all > 0 && unused > 0;
  *total = known ? (size_t)all * (size_t)page : 0;
  *available = known ? (size_t)unused * (size_t)page : 0;
}
