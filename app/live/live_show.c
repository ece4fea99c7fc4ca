/* Writes the show file when the user asks for it. Also writes the parameters' values to a file beside the show file,
 * from which they can be restored after a crash; a thread of its own writes that file. All else runs on the main
 * thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/presets_file.h"
#include "app/live/live_impl.h"
#include "app/options/show_file.h"
#include "app/platform/whole_text.h"
#include "unet/base/platform.h"
#include "unet/base/text_file.h"

/* Shortest time in ns between two writes of the parameters' values to the file that restores them after a crash. */
static const int64_t keep_ns = INT64_C(5000000000);

/* Writes into path the name of the file beside the show file from which values are restored after a crash. */
static const char *unsaved_path(const struct live *live, char path[PATHS_MAX]) {
  snprintf(path, PATHS_MAX, "%.4000s.unsaved", live->options->show_file);
  return path;
}

/* --- reading the show file, and values that an earlier run saved in it --- */

static void complain_of_key(void *opaque, int line, const char *why) {
  struct live *live = opaque;
  live_tell(live, LOG_WARNING, platform_now_ns(), "%s: keys, number %d: %s", live->options->show_file, line, why);
}

/* Receives complaints about the show file and drops them: the file was read before, when the program started, and the
 * user saw the complaints then. */
static void ignore(void *opaque, const char *why) {
  (void)opaque;
  (void)why;
}

/* Reads a show file. NULL: there is none, or it cannot be read. */
static struct show_file *read_show(const struct live *live, const char *path) {
  char *text = NULL, *folder = text_folder(path);
  struct show_file *show = NULL;
  struct error ignored;
  if (folder && !text_read(path, SHOW_BYTES_MAX, &text, NULL, &ignored))
    show_file_read(&show, text, folder, live->options->trust_show, ignore, NULL, &ignored);
  free(folder);
  free(text);
  return show;
}

static void offer_unsaved(struct live *live) {
  char path[PATHS_MAX];
  struct show_file *unsaved = read_show(live, unsaved_path(live, path));
  if (unsaved && (live->show.recovered = malloc(sizeof *live->show.recovered))) {
    *live->show.recovered = unsaved->values;
    live_tell(live, LOG_WARNING, platform_now_ns(), "the show ended in a crash: J brings back what was set");
  }
  show_file_free(&unsaved);
}

int live_open_show(struct live *live, struct error *err) {
  const char *path = live->options->show_file;
  if (!path)
    return 0;
  live->show.file = live->presets.file;
  if (path != live->options->presets && presets_file_open(&live->show.file, path, &live->log, err))
    return error_prefix(err, "--show-file ");
  struct show_file *show = read_show(live, path);
  if (show)
    key_bindings_read(&live->bindings, show->keys, complain_of_key, live);
  if (show && *show->midi)
    live->show.midi_bindings = strdup(show->midi);
  live->show.left_out = show && show->left_out;
  show_file_free(&show);
  live->state.has_show = true;
  offer_unsaved(live);
  return 0;
}

/* --- saving the present sources, values and key bindings in the show file --- */

/* Lists the sources with their in and out points: files by their full paths, others as the user named them. The default
 * source (camera or sample clip), shown if the user has named no source, is left out. */
static cJSON *list_sources(const struct live *live) {
  cJSON *list = cJSON_CreateArray();
  int count = live->changer ? changer_count(live->changer) : 0;
  bool named = live->options->input || live->options->playlist || count > 1;
  for (int i = 0; named && i < count; i++) {
    const struct playlist_entry *entry = changer_entry(live->changer, i);
    char *name = show_file_name(entry->name);
    cJSON_AddItemToArray(list, show_file_source(name ? name : "", entry->in_s, entry->out_s));
    free(name);
  }
  return list;
}

static cJSON *list_keys(const struct live *live) {
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; i < live->bindings.count; i++) {
    const struct key_binding *binding = &live->bindings.entry[i];
    char name[KEY_NAME_MAX], does[KEY_VALUE_MAX + 2 * PARAMETER_NAME_MAX], line[sizeof does + KEY_NAME_MAX + 1];
    snprintf(line, sizeof line, "%s %s", key_name(binding->key, name),
             key_binding_describe(binding, does, sizeof does));
    cJSON_AddItemToArray(list, cJSON_CreateString(line));
  }
  return list;
}

/* Returns all members of the show file except its presets, as JSON, which the caller frees; NULL: memory is short. */
static char *print_show(const struct live *live) {
  cJSON *root = cJSON_CreateObject();
  cJSON *options = show_file_options(live->options);
  if (live->options->presets == live->options->show_file)
    cJSON_DeleteItemFromObjectCaseSensitive(options, "presets");
  cJSON_AddItemToObject(root, "options", options);
  cJSON_AddItemToObject(root, "sources", list_sources(live));
  cJSON_AddItemToObject(root, "values", show_file_values(&live->state.settings.values));
  cJSON_AddItemToObject(root, "keys", list_keys(live));
  char *knobs = hub_get_list(live->hub, HUB_KNOBS);
  cJSON *midi = knobs ? cJSON_Parse(knobs) : NULL;
  if (midi)
    cJSON_AddItemToObject(root, "midi", midi);
  free(knobs);
  char *text = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return text;
}

static void save(struct live *live, int64_t now_ns) {
  if (live->show.left_out) {
    live_tell(live, LOG_WARNING, now_ns,
              "the show is not saved: it would lose what was left out; open it with --trust-show");
    return;
  }
  char *text = print_show(live);
  if (text)
    presets_file_keep(live->show.file, text);
  else
    live_tell(live, LOG_WARNING, now_ns, "the show is not saved: no memory");
}

static void write_unsaved(void *opaque) {
  const struct live *live = opaque;
  struct error err;
  char path[PATHS_MAX];
  if (whole_text_write(unsaved_path(live, path), live->show.unsaved, "what a crash would lose", &err))
    log_line(&live->log, LOG_WARNING, "%s", err.message);
}

/* Starts to write the parameters' values to the file for the case of a crash, if they have changed since the last
 * time. The first call only remembers the values, and writes nothing. */
static void keep(struct live *live, int64_t now_ns) {
  struct error err;
  if (errand_is_done(&live->show.unsaving))
    errand_join(&live->show.unsaving);
  if (live->show.unsaving.busy || now_ns - live->show.unsaved_ns < keep_ns)
    return;
  live->show.unsaved_ns = now_ns;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddItemToObject(root, "values", show_file_values(&live->state.settings.values));
  char *text = cJSON_PrintUnformatted(root), *before = live->show.unsaved;
  cJSON_Delete(root);
  bool changed = text && before && strcmp(text, before) != 0;
  if (text) {
    live->show.unsaved = text;
    free(before);
  }
  if (changed && errand_start(&live->show.unsaving, write_unsaved, live, "keeps the show", &err))
    log_line(&live->log, LOG_WARNING, "%s", err.message);
}

static void recover(struct live *live, int64_t now_ns) {
  struct error err;
  if (!live->show.recovered)
    live_notice(&live->state, now_ns, "no crash has left anything to be brought back");
  else if (live_set_together(live, live->show.recovered, now_ns, &err))
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
  else
    live_notice(&live->state, now_ns, "as it was before the crash");
}

void live_follow_show(struct live *live, int64_t now_ns) {
  char line[NOTICE_MAX];
  enum log_level level;
  if (!live->show.file || !live->state.ready)
    return;
  if (live->show.file != live->presets.file && presets_file_refresh(live->show.file, line, sizeof line, &level)) {
    live_notice(&live->state, now_ns, "%s", line);
    live_was_told(live, level);
  }
  for (; live->show.shows_told != live->state.shows_asked; live->show.shows_told++)
    save(live, now_ns);
  for (; live->show.recoveries_told != live->state.recoveries_asked; live->show.recoveries_told++)
    recover(live, now_ns);
  keep(live, now_ns);
}

void live_close_show(struct live *live, bool failed) {
  char path[PATHS_MAX];
  errand_join(&live->show.unsaving);
  if (live->show.file && !failed)
    platform_remove(unsaved_path(live, path));
  if (live->show.file != live->presets.file)
    presets_file_close(&live->show.file);
  live->show.file = NULL;
  free(live->show.midi_bindings);
  free(live->show.recovered);
  free(live->show.unsaved);
}
