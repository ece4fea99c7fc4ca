#include "cuda/ways/tuner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/libraries/libraries.h"
#include "unet/base/platform.h"
#include "ways_hash.h"

enum { KEY_MAX = 128 };

struct entry {
  char key[KEY_MAX];
  struct choice choice;
  bool own;   /* found by this run, not read from the file */
  bool final; /* written to the file */
};

struct tuner {
  struct entry *list;
  int count, capacity;
  char *folder, *path, *path_new; /* NULL: nothing is kept */
  char version[256];              /* the file's first line: everything that its choices depend on */
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

static void store(struct tuner *tuner, const char *key, const struct choice *choice, bool own, bool final) {
  struct entry *entry = entry_find(tuner, key);
  if (entry && entry->own && !own)
    return;
  if (!entry && tuner->count == tuner->capacity) {
    int capacity = tuner->capacity ? 2 * tuner->capacity : 128;
    struct entry *list = realloc(tuner->list, (size_t)capacity * sizeof *list);
    if (!list)
      return; /* the choice is used, but not kept */
    tuner->list = list;
    tuner->capacity = capacity;
  }
  if (!entry) {
    entry = &tuner->list[tuner->count++];
    snprintf(entry->key, sizeof entry->key, "%s", key);
  }
  entry->choice = *choice;
  entry->own = own;
  entry->final = final;
}

void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice, bool final) {
  store(tuner, key, choice, true, final);
  tuner->changed |= final;
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
  if (!whole || !line[used] || strlen(line + used) >= KEY_MAX) /* the line was not written by this program */
    return;
  choice.way = way_find(name);
  if (choice.way)
    store(tuner, line + used, &choice, false, true);
}

/* Reads the file of choices. Entries that this process has found itself are kept. */
static void read_file(struct tuner *tuner) {
  char line[2 * KEY_MAX];
  FILE *file = platform_stream(tuner->path, "r");
  if (!file)
    return;
  if (fgets(line, sizeof line, file) && !strncmp(line, tuner->version, strlen(tuner->version)) &&
      line[strlen(tuner->version)] == '\n')
    while (fgets(line, sizeof line, file))
      read_line(tuner, line);
  fclose(file);
}

static bool write_file(const struct tuner *tuner) {
  FILE *file = platform_create(tuner->path_new);
  bool good = file && fprintf(file, "%s\n", tuner->version) > 0;
  for (int i = 0; good && i < tuner->count; i++) {
    const struct entry *e = &tuner->list[i];
    if (e->final)
      good = fprintf(file, "%s %d %d %s\n", way_name(e->choice.way), e->choice.index, e->choice.splits, e->key) > 0;
  }
  if (file && fclose(file) != 0)
    good = false;
  return good && !platform_replace(tuner->path_new, tuner->path);
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
  if (tuner->path)
    tuner->path_new = platform_temporary_name(tuner->path);
  if (!tuner->folder || !tuner->path || !tuner->path_new)
    return error_set(err, STATUS_FAILED, "out of memory");
  platform_make_folder(dir); /* if it cannot be made, tuner_save logs that */
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
  intptr_t lock = platform_lock(tuner->folder); /* no other process saves between our reading and our replacing */
  read_file(tuner);
  if (!write_file(tuner)) {
    log_line(log, LOG_WARNING, "%s: tuning results are not kept: %s", tuner->path, strerror(errno));
    platform_remove(tuner->path_new);
  }
  platform_unlock(lock);
  tuner->changed = false;
}
