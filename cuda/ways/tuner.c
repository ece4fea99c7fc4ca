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
  bool own;   /* true: this process has timed the choice; false: it was read from the file or given by tuner_take */
  bool final; /* true: the choice is saved to the file; false: it is not saved, because frames that ran disturbed its
               * timing */
  bool used;  /* true: a plan that this process has prepared uses the choice */
};

struct tuner {
  struct entry *list;
  int count, capacity;
  /* path: the file in which choices (the implementation that was fastest for each product) are saved; folder: its
   * folder; path_new: file that is written first and then renamed to path. NULL: choices are not saved. */
  char *folder, *path, *path_new;
  /* first line of the file, which names all that its choices depend on: GPU, driver, libraries, sources of the ways */
  char version[256];
  FILE *notes; /* writes to notes_text what each candidate took, a line for each (tuner_note) */
  char *notes_text;
  size_t notes_size;
  bool changed;
  bool given; /* true: the choices are those of another engine (tuner_take), so nothing is timed or saved */
};

/* --- the table of choices: which way computes a convolution or linear layer of a certain shape --- */

static struct entry *entry_find(const struct tuner *tuner, const char *key) {
  for (int i = 0; i < tuner->count; i++)
    if (!strcmp(tuner->list[i].key, key))
      return &tuner->list[i];
  return NULL;
}

bool tuner_find(struct tuner *tuner, const char *key, struct choice *choice) {
  struct entry *entry = entry_find(tuner, key);
  if (entry) {
    *choice = entry->choice;
    entry->used = true;
  }
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
      return; /* out of memory: the caller uses the choice, but it is not saved */
    tuner->list = list;
    tuner->capacity = capacity;
  }
  if (!entry) {
    entry = &tuner->list[tuner->count++];
    *entry = (struct entry){0};
    snprintf(entry->key, sizeof entry->key, "%s", key);
  }
  entry->choice = *choice;
  entry->own = own;
  entry->final = final;
  entry->used |= own;
}

bool tuner_has(const struct tuner *tuner, const struct way *way) {
  for (int i = 0; i < tuner->count; i++)
    if (tuner->list[i].choice.way == way)
      return true;
  return false;
}

void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice, bool final) {
  store(tuner, key, choice, true, final);
  tuner->changed |= final;
}

/* --- the file of tuning results: first the version, then a line for each product: "way index splits key" --- */

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

/* Adds the choices in the file to the table. Those that this process has timed itself are not replaced. */
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

static int write_entry(FILE *file, const struct entry *entry) {
  return fprintf(file, "%s %d %d %s\n", way_name(entry->choice.way), entry->choice.index, entry->choice.splits,
                 entry->key);
}

static bool write_file(const struct tuner *tuner) {
  FILE *file = platform_create(tuner->path_new);
  bool good = file && fprintf(file, "%s\n", tuner->version) > 0;
  for (int i = 0; good && i < tuner->count; i++) {
    if (tuner->list[i].final)
      good = write_entry(file, &tuner->list[i]) > 0;
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
  tuner->notes = open_memstream(&tuner->notes_text, &tuner->notes_size);
  if (!tuner->notes)
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
  platform_make_folder(dir); /* if the folder cannot be made, tuner_save fails later, and logs that */
  read_file(tuner);
  return 0;
}

/* --- choices as a text, which another engine can be given --- */

static int compare_entries(const void *one, const void *other) {
  return strcmp(((const struct entry *)one)->key, ((const struct entry *)other)->key);
}

char *tuner_write(struct tuner *tuner) {
  char *text = NULL;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  bool good = file && fprintf(file, "%s\n", tuner->version) > 0;
  /* entries are sorted by their keys, so that the same choices give the same text */
  if (tuner->count)
    qsort(tuner->list, (size_t)tuner->count, sizeof *tuner->list, compare_entries);
  for (int i = 0; good && i < tuner->count; i++)
    if (tuner->list[i].used)
      good = write_entry(file, &tuner->list[i]) > 0;
  if (file && fclose(file) != 0)
    good = false;
  if (good)
    return text;
  free(text);
  return NULL;
}

bool tuner_take(struct tuner *tuner, const char *text) {
  size_t length = strlen(tuner->version);
  if (strncmp(text, tuner->version, length) != 0 || text[length] != '\n')
    return false;
  tuner->count = 0;
  tuner->given = true;
  for (const char *line = text + length + 1; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    char copy[2 * KEY_MAX];
    snprintf(copy, sizeof copy, "%.*s\n", (int)strcspn(line, "\n"), line);
    read_line(tuner, copy);
  }
  return true;
}

/* --- what candidates took --- */

void tuner_note(struct tuner *tuner, const char *key, const struct choice *choice, double seconds) {
  if (seconds >= 0)
    fprintf(tuner->notes, "%s: %s %d%s, %d split%s: %.2f us\n", key, way_name(choice->way), choice->index,
            choice_remark(choice), choice->splits, choice->splits == 1 ? "" : "s", seconds * 1e6);
}

char *tuner_times(const struct tuner *tuner) {
  char *text = NULL;
  return !fflush(tuner->notes) && asprintf(&text, "%s\n%s", tuner->version, tuner->notes_text) >= 0 ? text : NULL;
}

bool tuner_is_given(const struct tuner *tuner) {
  return tuner->given;
}

void tuner_close(struct tuner *tuner) {
  if (!tuner)
    return;
  if (tuner->notes)
    fclose(tuner->notes);
  free(tuner->notes_text);
  free(tuner->list);
  free(tuner->folder);
  free(tuner->path);
  free(tuner->path_new);
  free(tuner);
}

void tuner_save(struct tuner *tuner, const struct log *log) {
  if (!tuner->changed || !tuner->path || tuner->given)
    return;
  /* the lock keeps other processes from saving between the reading of the file here and its replacement */
  intptr_t lock = platform_lock(tuner->folder);
  read_file(tuner);
  if (!write_file(tuner)) {
    log_line(log, LOG_WARNING, "%s: tuning results are not kept: %s", tuner->path, strerror(errno));
    platform_remove(tuner->path_new);
  }
  platform_unlock(lock);
  tuner->changed = false;
}
