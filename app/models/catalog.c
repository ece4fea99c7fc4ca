#include "app/models/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/models/places.h"
#include "app/platform/app_platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/vae_files.h"

/* Limits of a search for models, which would take too long if an environment variable named a folder that is not for
 * models. DEPTH_MAX: levels of folders; FOLDERS_MAX: number of folders; ENTRIES_MAX: number of models. REVISION_MAX:
 * size of a buffer for a revision's name; REVISION_PARTS: levels of folders in such a name. */
enum { DEPTH_MAX = 6, FOLDERS_MAX = 20000, ENTRIES_MAX = 10000, REVISION_MAX = 256, REVISION_PARTS = 4 };

struct walk {
  struct catalog *catalog;
  /* cached: true: the cache of Hugging Face's programs is searched; failed: true: memory was short */
  bool cached, failed;
  int folders;
};

/* A folder that is being searched. */
struct place {
  struct walk *walk;
  const struct place *around; /* the folder that contains this folder; NULL: none */
  struct platform_entry entry;
  /* name: name of the model in this folder, "" for the folder of models itself; path: the folder's path */
  const char *name, *path;
  int depth;
  bool model; /* true: the files in this folder belong to one model */
};

static void add(const struct place *at, struct catalog_entry entry, const char *name, const char *path) {
  struct catalog *catalog = at->walk->catalog;
  if (catalog->count == ENTRIES_MAX)
    return;
  entry.name = strndup(name, strlen(name) - (entry.file ? strlen(CATALOG_WEIGHTS) : 0));
  entry.path = strdup(path);
  entry.cached = at->walk->cached;
  struct catalog_entry *list = realloc(catalog->entry, (size_t)(catalog->count + 1) * sizeof *list);
  catalog->entry = list ? list : catalog->entry;
  if (list && entry.name && entry.path) {
    list[catalog->count++] = entry;
    return;
  }
  at->walk->failed = true;
  free(entry.name);
  free(entry.path);
}

static bool has_file(const char *folder, const char *name) {
  char path[PATHS_MAX];
  return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && platform_exists(path);
}

/* Returns true if a file of weights cannot be used alone: it belongs to a config in the same folder, or is the encoder
 * or the decoder of an autoencoder in two files. */
static bool is_part(const char *name) {
  if (text_ends(name, "_encoder" CATALOG_WEIGHTS) || text_ends(name, "_decoder" CATALOG_WEIGHTS))
    return true;
  static const char *const parts[] = {"diffusion_pytorch_model", "model.", "model-", "adapter_model."};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (!strncmp(name, parts[i], strlen(parts[i])))
      return true;
  return false;
}

static void visit_folder(const struct place *at);

static void visit(void *opaque, const char *name) {
  const struct place *at = opaque;
  char path[PATHS_MAX], whole[PATHS_MAX];
  if (*name == '.' || snprintf(path, sizeof path, "%s/%s", at->path, name) >= (int)sizeof path ||
      snprintf(whole, sizeof whole, "%s%s%s", at->name, *at->name ? "/" : "", name) >= (int)sizeof whole)
    return;
  struct place inside = {.walk = at->walk, .around = at, .name = whole, .path = path, .depth = at->depth + 1};
  bool folder = platform_is_folder(path);
  if (folder && !at->model)
    visit_folder(&inside);
  else if (!folder && text_ends(name, CATALOG_WEIGHTS) && !(at->model && is_part(name)))
    add(at, (struct catalog_entry){.file = true, .loose = at->model}, whole, path);
}

/* Returns true if this folder was reached by a link that leads back to one of the folders that contain it. Models in it
 * are not listed again. */
static bool is_circle(const struct place *at) {
  for (const struct place *around = at->around; around; around = around->around)
    if (around->entry.number == at->entry.number && around->entry.volume == at->entry.volume)
      return true;
  return false;
}

static void visit_folder(const struct place *at) {
  struct place inside = *at;
  bool unfinished = has_file(at->path, CATALOG_UNFINISHED);
  if (platform_look(&inside.entry, at->path) || is_circle(&inside) || at->depth > DEPTH_MAX ||
      at->walk->folders++ > FOLDERS_MAX)
    return;
  inside.model =
      *at->name && (unfinished || has_file(at->path, "model_index.json") || has_file(at->path, "config.json") ||
                    has_file(at->path, "adapter_config.json") || vae_files_are(at->path));
  if (inside.model)
    add(at, (struct catalog_entry){.unfinished = unfinished}, at->name, at->path);
  if (!unfinished)
    platform_list(at->path, visit, &inside);
}

/* --- searching the cache of Hugging Face's programs --- */

void catalog_name_revision(char *name) {
  for (char *slash = strchr(name, '@'); slash && (slash = strchr(slash, '/'));)
    *slash = '-';
}

/* Converts a folder's name models--ORG--NAME to ORG/NAME. Returns false if the name has another form. */
static bool read_repository(const char *folder, char *name) {
  static const char start[] = "models--";
  if (strncmp(folder, start, strlen(start)) != 0 || strlen(folder) >= PATHS_MAX)
    return false;
  strcpy(name, folder + strlen(start));
  char *dashes = strstr(name, "--");
  if (dashes) {
    *dashes = '/';
    memmove(dashes + 1, dashes + 2, strlen(dashes + 2) + 1);
  }
  return *name != 0;
}

/* Reads the hash of a commit from a file that stands for a revision (such as refs/main). Returns false if the file
 * contains none. */
static bool read_commit(const char *path, char *commit) {
  char *text;
  if (text_read(path, REVISION_MAX - 1, &text, NULL, NULL))
    return false;
  snprintf(commit, REVISION_MAX, "%.*s", (int)strspn(text, "0123456789abcdef"), text);
  free(text);
  return *commit != 0;
}

struct repository {
  struct walk *walk;
  const char *name, *path;
  char refs[PATHS_MAX];
  /* path below refs/ of the folder of revisions that is being searched, such as "pr/"; "": refs/ itself */
  char revision[REVISION_MAX];
  int parts; /* depth of the folder in `revision` below refs/: 0 for refs/ itself, 1 for "pr/" */
  /* true: the repository has a named revision, such as main, with the hash of a commit; false: it has none, or none was
   * looked at yet */
  bool named;
  /* name of the snapshot (a folder with the files of one commit), if there is exactly one */
  char only[REVISION_MAX];
  int snapshots;
};

static void visit_snapshot(const struct repository *repository, const char *name, const char *commit) {
  char path[PATHS_MAX];
  if (snprintf(path, sizeof path, "%s/snapshots/%s", repository->path, commit) < (int)sizeof path &&
      platform_is_folder(path))
    visit_folder(&(struct place){.walk = repository->walk, .name = name, .path = path});
}

static void visit_named(struct repository *repository, const char *revision, const char *commit) {
  char name[PATHS_MAX];
  bool main = !strcmp(revision, "main");
  if (snprintf(name, sizeof name, "%s%s%s", repository->name, main ? "" : "@", main ? "" : revision) >=
      (int)sizeof name)
    return;
  catalog_name_revision(name);
  repository->named = true;
  visit_snapshot(repository, name, commit);
}

static void visit_revision(void *opaque, const char *part) {
  struct repository *repository = opaque;
  char path[PATHS_MAX], commit[REVISION_MAX], revision[REVISION_MAX];
  size_t length = strlen(repository->revision);
  if (*part == '.' || snprintf(revision, sizeof revision, "%s%s", repository->revision, part) >= REVISION_MAX - 1 ||
      snprintf(path, sizeof path, "%s/%s", repository->refs, revision) >= (int)sizeof path)
    return;
  bool folder = platform_is_folder(path);
  if (!folder && read_commit(path, commit))
    visit_named(repository, revision, commit);
  if (!folder || repository->parts + 1 == REVISION_PARTS)
    return;
  repository->parts++;
  strcat(strcpy(repository->revision, revision), "/");
  platform_list(path, visit_revision, repository);
  repository->revision[length] = 0;
  repository->parts--;
}

static void count_snapshot(void *opaque, const char *commit) {
  struct repository *repository = opaque;
  if (*commit == '.' || strlen(commit) >= sizeof repository->only)
    return;
  strcpy(repository->only, commit);
  repository->snapshots++;
}

/* Lists the snapshots of a repository (folders with the files of one commit each) that have a named revision. A
 * snapshot that was fetched by its commit has none, and is listed only if it is the only one. */
static void visit_repository(void *opaque, const char *folder) {
  char name[PATHS_MAX], path[PATHS_MAX], snapshots[PATHS_MAX];
  struct repository repository = {.walk = opaque, .name = name, .path = path};
  if (!read_repository(folder, name) ||
      snprintf(path, sizeof path, "%s/%s", repository.walk->catalog->cache, folder) >= (int)sizeof path ||
      snprintf(repository.refs, sizeof repository.refs, "%s/refs", path) >= (int)sizeof repository.refs ||
      snprintf(snapshots, sizeof snapshots, "%s/snapshots", path) >= (int)sizeof snapshots)
    return;
  platform_list(repository.refs, visit_revision, &repository);
  if (!repository.named)
    platform_list(snapshots, count_snapshot, &repository);
  if (repository.snapshots == 1)
    visit_snapshot(&repository, name, repository.only);
}

/* --- sorting the catalogue's entries (models), and searching reverie's folder and Hugging Face's cache for them --- */

static int compare_entries(const void *a, const void *b) {
  const struct catalog_entry *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : x->cached != y->cached ? x->cached - y->cached : x->file - y->file;
}

int catalog_read(struct catalog *catalog, struct error *err) {
  *catalog = (struct catalog){0};
  struct walk own = {.catalog = catalog}, cache = {.catalog = catalog, .cached = true};
  if (places_models(catalog->models))
    visit_folder(&(struct place){.walk = &own, .name = "", .path = catalog->models});
  if (places_hub_cache(catalog->cache))
    platform_list(catalog->cache, visit_repository, &cache);
  if (catalog->count)
    qsort(catalog->entry, (size_t)catalog->count, sizeof *catalog->entry, compare_entries);
  return own.failed || cache.failed ? error_set(err, STATUS_FAILED, "models: out of memory") : 0;
}

void catalog_free(struct catalog *catalog) {
  for (int i = 0; i < catalog->count; i++) {
    free(catalog->entry[i].name);
    free(catalog->entry[i].path);
  }
  free(catalog->entry);
  *catalog = (struct catalog){0};
}
