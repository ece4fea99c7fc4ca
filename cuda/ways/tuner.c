#include "cuda/ways/tuner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cuda/libraries/libraries.h"
#include "ways_hash.h"

enum { KEY_MAX = 128, LOCK_TRIES = 200 };

struct entry {
  char key[KEY_MAX];
  struct choice choice;
  bool own; /* found by this run, else read from the file */
};

struct tuner {
  struct entry *list;
  int count, capacity;
  char *folder, *path, *path_new; /* NULL: nothing is kept */
  char version[256];              /* the file's first line: what its choices hold for */
  bool changed;
};

/* --- entries --- */

static struct entry *entry_find(const struct tuner *tuner, const char *key) {
  for (int i = 0; i < tuner->count; i++)
    if (!strcmp(tuner->list[i].key, key))
      return &tuner->list[i];
  return NULL;
}

bool tuner_find(const struct tuner *tuner, const char *key, struct choice *choice) {
  const struct entry *entry = entry_find(tuner, key);
  if (entry)
    *choice = entry->choice;
  return entry != NULL;
}

static void store(struct tuner *tuner, const char *key, const struct choice *choice, bool own) {
  struct entry *entry = entry_find(tuner, key);
  if (entry && entry->own && !own)
    return;
  if (!entry && tuner->count == tuner->capacity) {
    int capacity = tuner->capacity ? 2 * tuner->capacity : 128;
    struct entry *list = realloc(tuner->list, (size_t)capacity * sizeof *list);
    if (!list)
      return; /* the choice is used all the same, only not kept */
    tuner->list = list;
    tuner->capacity = capacity;
  }
  if (!entry) {
    entry = &tuner->list[tuner->count++];
    snprintf(entry->key, sizeof entry->key, "%s", key);
  }
  entry->choice = *choice;
  entry->own = own;
}

void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice) {
  store(tuner, key, choice, true);
  tuner->changed = true;
}

/* --- the file: a version line, then "way index splits key" a line --- */

static void read_line(struct tuner *tuner, char *line) {
  char name[16];
  struct choice choice = {0};
  int used = 0;
  size_t length = strcspn(line, "\n");
  bool whole = line[length] == '\n';
  line[length] = 0;
  if (sscanf(line, "%15s %d %d %n", name, &choice.index, &choice.splits, &used) < 3 || !used)
    return;
  if (!whole || !line[used] || strlen(line + used) >= KEY_MAX) /* no line of ours */
    return;
  choice.way = way_find(name);
  if (choice.way)
    store(tuner, line + used, &choice, false);
}

/* What this run has found itself stays. */
static void read_file(struct tuner *tuner) {
  char line[2 * KEY_MAX];
  FILE *file = fopen(tuner->path, "r");
  if (!file)
    return;
  if (fgets(line, sizeof line, file) && !strncmp(line, tuner->version, strlen(tuner->version)) &&
      line[strlen(tuner->version)] == '\n')
    while (fgets(line, sizeof line, file))
      read_line(tuner, line);
  fclose(file);
}

/* Always a new one, for the user alone: what an earlier process left under this name goes, and no link is followed. */
static FILE *create_file(const char *path) {
  unlink(path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  if (fd >= 0 && !file)
    close(fd);
  return file;
}

static bool write_file(const struct tuner *tuner) {
  FILE *file = create_file(tuner->path_new);
  bool good = file && fprintf(file, "%s\n", tuner->version) > 0;
  for (int i = 0; good && i < tuner->count; i++) {
    const struct entry *e = &tuner->list[i];
    good = fprintf(file, "%s %d %d %s\n", way_name(e->choice.way), e->choice.index, e->choice.splits, e->key) > 0;
  }
  if (file && fclose(file) != 0)
    good = false;
  return good && rename(tuner->path_new, tuner->path) == 0;
}

/* While the descriptor is open no other process saves: none comes between our reading and our renaming. -1 where the
 * folder cannot be opened. Without a lock, where the file system has none or its owner hangs, the last to save wins. */
static int lock_folder(const char *folder) {
  const struct timespec pause = {.tv_nsec = 5000000};
  int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; lock >= 0 && i < LOCK_TRIES && flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
    nanosleep(&pause, NULL);
  return lock;
}

static void file_name(char out[64], const char *gpu) {
  snprintf(out, 64, "tuning-%.48s.txt", gpu);
  for (char *c = out; *c; c++)
    if (*c == ' ' || *c == '/')
      *c = '-';
}

int tuner_open(struct tuner **out, const struct cuda_device *device, const char *dir, struct error *err) {
  struct tuner *tuner = calloc(1, sizeof *tuner);
  *out = tuner;
  if (!tuner)
    return error_set(err, STATUS_FAILED, "out of memory");
  snprintf(tuner->version, sizeof tuner->version, "ways " WAYS_HASH ", %.60s, driver %.40s, cuDNN %zu, cuBLASLt %zu",
           device->properties.name, device->driver, dnn_version(device->dnn), blas_version(device->blas));
  if (!dir)
    return 0;
  char name[64];
  file_name(name, device->properties.name);
  tuner->folder = strdup(dir);
  if (asprintf(&tuner->path, "%s/%s", dir, name) < 0)
    tuner->path = NULL;
  if (tuner->path && asprintf(&tuner->path_new, "%s.%ld", tuner->path, (long)getpid()) < 0)
    tuner->path_new = NULL;
  if (!tuner->folder || !tuner->path || !tuner->path_new)
    return error_set(err, STATUS_FAILED, "out of memory");
  mkdir(dir, 0700); /* when it cannot be made, saving says so */
  read_file(tuner);
  return 0;
}

void tuner_close(struct tuner *tuner) {
  if (!tuner)
    return;
  free(tuner->list);
  free(tuner->folder);
  free(tuner->path);
  free(tuner->path_new);
  free(tuner);
}

void tuner_save(struct tuner *tuner, const struct log *log) {
  if (!tuner->changed || !tuner->path)
    return;
  int lock = lock_folder(tuner->folder);
  read_file(tuner);
  if (!write_file(tuner)) {
    log_line(log, LOG_WARNING, "%s: tuning results are not kept: %s", tuner->path, strerror(errno));
    unlink(tuner->path_new);
  }
  if (lock >= 0)
    close(lock);
  tuner->changed = false;
}
