#include "app/models/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "app/models/catalog.h"
#include "app/options/spelling.h"
#include "app/platform/app_platform.h"
#include "unet/base/text.h"

enum { LISTED_MAX = 4, WORD_MAX = 128, LIST_MAX = 300 };

/* A name that the user gave, without the extension .safetensors. */
struct query {
  char text[PATHS_MAX];
  bool file; /* true: the name that the user gave ended with .safetensors */
};

/* How well a query matches a name of the catalogue: not at all, its end (NAME of ORG/NAME), or all of it. */
enum answer { ANSWER_NONE, ANSWER_END, ANSWER_WHOLE };

static bool is_path(const char *name) {
  return *name == '/' || !strcmp(name, ".") || !strcmp(name, "..") || !strncmp(name, "./", 2) ||
         !strncmp(name, "../", 3);
}

static void read_query(struct query *query, const char *name) {
  snprintf(query->text, sizeof query->text, "%s", name);
  size_t length = strlen(query->text), size = strlen(CATALOG_WEIGHTS);
  query->file = text_ends(query->text, CATALOG_WEIGHTS);
  if (query->file)
    query->text[length - size] = 0;
}

/* Returns how well a name that the user gave (`text`) matches the end of the first `length` characters of `name`, the
 * name of an installed model. */
static enum answer compare(const char *name, size_t length, const char *text) {
  size_t size = strlen(text);
  if (size > length || memcmp(name + length - size, text, size) != 0)
    return ANSWER_NONE;
  return size == length ? ANSWER_WHOLE : name[length - size - 1] == '/' ? ANSWER_END : ANSWER_NONE;
}

/* Compares a query (a name that the user gave) with an entry's name. If the entry is the only file of its folder,
 * compares it with the folder's name as well. */
static enum answer answers(const struct catalog_entry *entry, const struct query *query) {
  const char *slash = strrchr(entry->name, '/');
  if (query->file && !entry->file)
    return ANSWER_NONE;
  enum answer own = compare(entry->name, strlen(entry->name), query->text);
  if (own || query->file || !entry->file || entry->loose || !slash)
    return own;
  return compare(entry->name, (size_t)(slash - entry->name), query->text);
}

/* Returns true if the entry before `index` has the same name. Then the entry at `index` is not counted: a model in both
 * reverie's folder and the cache is listed twice, and the first entry is used. */
static bool is_again(const struct catalog *catalog, int index) {
  return index > 0 && !strcmp(catalog->entry[index - 1].name, catalog->entry[index].name);
}

/* --- writing which models a name may mean, for error messages --- */

/* A list of names for messages: "a, b, c", followed by how many more there are. */
struct list {
  char text[LIST_MAX];
  int count;
};

static void list_add(struct list *list, const char *name) {
  size_t used = strlen(list->text);
  if (list->count++ < LISTED_MAX)
    snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? ", " : "", text_quote(name).text);
}

static const char *list_text(struct list *list) {
  size_t used = strlen(list->text);
  if (list->count > LISTED_MAX)
    snprintf(list->text + used, sizeof list->text - used, " and %d more", list->count - LISTED_MAX);
  return list->text;
}

static void lower_word(char word[WORD_MAX], const char *name) {
  size_t i = 0;
  for (; name[i] && i < WORD_MAX - 1; i++)
    word[i] = (char)tolower((unsigned char)name[i]);
  word[i] = 0;
}

static bool is_near(const char *name, const char *query) {
  char word[WORD_MAX], wanted[WORD_MAX];
  lower_word(word, text_last_part(name));
  lower_word(wanted, text_last_part(query));
  int length = (int)strlen(wanted);
  return length > 2 && (strstr(word, wanted) || 3 * spelling_distance(word, wanted) <= length);
}

static int refuse_several(const struct catalog *catalog, const struct query *query, enum answer answer,
                          struct error *err) {
  struct list list = {0};
  for (int i = 0; i < catalog->count; i++)
    if (answers(&catalog->entry[i], query) == answer && !is_again(catalog, i))
      list_add(&list, catalog->entry[i].name);
  return error_set(err, STATUS_MODEL, "%s: several models are called so, give one of them by its whole name: %s",
                   text_quote(query->text).text, list_text(&list));
}

static int refuse_unknown(const struct catalog *catalog, const char *name, const struct query *query,
                          struct error *err) {
  struct list near = {0};
  for (int i = 0; i < catalog->count; i++)
    if (is_near(catalog->entry[i].name, query->text) && !is_again(catalog, i))
      list_add(&near, catalog->entry[i].name);
  return error_set(err, STATUS_MODEL,
                   "%s: no file or folder, and no model of this name in %.120s or %.120s%s%s; "
                   "`reverie fetch ORG/NAME` gets one",
                   text_quote(name).text, *catalog->models ? catalog->models : "~/.local/share",
                   *catalog->cache ? catalog->cache : "~/.cache", near.count ? "; near it: " : "", list_text(&near));
}

/* --- finding the entry of the catalogue (list of installed models) that a name means --- */

/* Returns the index of the catalogue's entry that matches the query best. *count gets the number of entries that match
 * equally well. */
static int find_best(const struct catalog *catalog, const struct query *query, enum answer *best, int *count) {
  int found = 0;
  *best = ANSWER_NONE;
  *count = 0;
  for (int i = 0; i < catalog->count; i++) {
    enum answer answer = answers(&catalog->entry[i], query);
    if (answer < *best || answer == ANSWER_NONE || is_again(catalog, i))
      continue;
    *count = answer > *best ? 1 : *count + 1;
    found = answer > *best ? i : found;
    *best = answer;
  }
  return found;
}

static int find(char *path, const struct catalog *catalog, const char *name, struct error *err) {
  enum answer best;
  int count;
  struct query query;
  read_query(&query, name);
  int found = find_best(catalog, &query, &best, &count);
  /* the name may contain a revision with slashes, as on Hugging Face's hub; the list of installed models has dashes
   * instead */
  if (!count) {
    catalog_name_revision(query.text);
    found = find_best(catalog, &query, &best, &count);
  }
  if (!count)
    return refuse_unknown(catalog, name, &query, err);
  if (count > 1)
    return refuse_several(catalog, &query, best, err);
  const struct catalog_entry *entry = &catalog->entry[found];
  if (entry->unfinished)
    return error_set(err, STATUS_MODEL, "%s: is not all there yet; `reverie fetch %s` goes on with it",
                     text_quote(name).text, text_quote(entry->name).text);
  snprintf(path, PATHS_MAX, "%s", entry->path);
  return 0;
}

int names_find(char *path, const char *name, struct error *err) {
  struct catalog catalog;
  if (!*name)
    return error_set(err, STATUS_MODEL, "an empty text names no file or folder of a model: leave it out, or give one");
  if (strlen(name) >= PATHS_MAX)
    return error_set(err, STATUS_MODEL, "%s: such a long name cannot be one", text_quote(name).text);
  snprintf(path, PATHS_MAX, "%s", name);
  if (is_path(name) || platform_exists(name))
    return 0;
  int result = catalog_read(&catalog, err);
  result = result ? result : find(path, &catalog, name, err);
  catalog_free(&catalog);
  return result;
}

int names_print(FILE *out, struct error *err) {
  struct catalog catalog;
  int result = catalog_read(&catalog, err);
  for (int i = 0; !result && i < catalog.count; i++)
    if (!is_again(&catalog, i) && !catalog.entry[i].unfinished) {
      text_put(out, catalog.entry[i].name);
      fputc('\n', out);
    }
  catalog_free(&catalog);
  return result;
}
