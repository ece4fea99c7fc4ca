/* Where the output window shows the picture: keeps the parameters' values for each display in displays.json, applies
 * them when the window moves to that display, and draws the test card. Only the main thread runs this, except that
 * another thread writes the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/displays_file.h"
#include "app/live/live_impl.h"
#include "app/platform/whole_text.h"
#include "unet/base/platform.h"
#include "unet/base/text_file.h"

enum { BYTES_MAX = 1 << 20 };
/* The picture's position in the output window is written to displays.json only when it has not changed for this time
 * in ns, because it changes many times a second while a user drags a corner. */
static const int64_t rest_ns = 1000000000;

static const char file_name[] = "displays.json";

/* Writes the values of one display into displays.json. Runs on a background thread. */
static void write_file(void *opaque) {
  struct display_keeper *keeper = opaque;
  struct error ignored;
  char path[PATHS_MAX + sizeof file_name + 1], *before = NULL;
  keeper->status = paths_config(path)
                       ? 0
                       : error_set(&keeper->err, STATUS_OUTPUT, "%s: there is no folder to keep it in", file_name);
  if (keeper->status)
    return;
  strcat(strcat(path, "/"), file_name);
  if (platform_exists(path) && text_read(path, BYTES_MAX, &before, NULL, &ignored))
    before = NULL;
  char *text = displays_file_write(before, keeper->name, &keeper->values);
  if (!text) /* the file is damaged, and is written again */
    text = displays_file_write(NULL, keeper->name, &keeper->values);
  keeper->status = text ? whole_text_write(path, text, "where displays show the picture", &keeper->err)
                        : error_set(&keeper->err, STATUS_FAILED, "%s: no memory to keep it", path);
  free(before);
  free(text);
}

static void end_writing(struct live *live) {
  struct display_keeper *keeper = &live->keeper;
  if (!keeper->errand.busy)
    return;
  errand_join(&keeper->errand);
  if (keeper->status)
    log_line(&live->log, LOG_WARNING, "%s", keeper->err.message);
}

/* True if the values for each display are stored in displays.json and read from it: not with --no-config, and not
 * while bench measures, which must not depend on the user's files. */
static bool keeps(const struct live *live) {
  return !live->probe && !live->options->no_config;
}

/* Begins to write to a file, in the background, the present values of the parameters that are kept for each display.
 * The display is the one whose name is in live->display_told. */
static void keep_values(struct live *live) {
  struct display_keeper *keeper = &live->keeper;
  struct error err;
  if (!keeps(live))
    return;
  end_writing(live);
  keeper->values = live->state.settings.values;
  snprintf(keeper->name, sizeof keeper->name, "%s", live->display_told);
  if (errand_start(&keeper->errand, write_file, keeper, "keeps where displays show the picture", &err))
    log_line(&live->log, LOG_WARNING, "%s", err.message);
}

/* Reads into *values the parameter values that displays.json has for the display of this name. Returns 1, or 0 if it
 * has none. */
static int read_values(struct live *live, const char *name, struct parameters *values) {
  char path[PATHS_MAX], *text;
  struct error err;
  if (!keeps(live) || !paths_config_file(path, file_name))
    return 0;
  int found = text_read(path, BYTES_MAX, &text, NULL, &err) ? -1 : 0;
  if (!found) {
    found = displays_file_read(text, name, values, &err);
    free(text);
  }
  if (found < 0)
    log_line(&live->log, LOG_WARNING, "%s: %s; it is written anew when something is set", path, err.message);
  return found > 0;
}

/* Sets the parameters that place the picture in the output window to the values stored for the display `name`, to which
 * the window has moved. On the first display, values from the command line are kept. */
static void take_display(struct live *live, const char *name) {
  struct parameters *values = &live->state.settings.values, *kept = &live->keeper.values;
  bool first = !*live->display_told;
  snprintf(live->display_told, sizeof live->display_told, "%s", name);
  if (first && live->came)
    return;
  end_writing(live);
  *kept = live->start;
  parameters_clear_marks(kept);
  int found = read_values(live, name, kept);
  for (int i = 0; i < KEPT_VALUES; i++) {
    enum parameter id = kept_values[i].id;
    int index = kept_values[i].index;
    struct error ignored;
    bool said = first && parameters_marked(&live->options->values, id, index);
    double number = parameters_number(found && !said ? kept : &live->start, id, index);
    if (parameters_number(values, id, index) != number)
      parameters_set_number(values, id, index, number, &ignored);
  }
  if (found)
    log_line(&live->log, LOG_INFO, "display %s: the picture's place on it is as it was kept", name);
}

/* Follows the output window from display to display, and stores the present display's values when they have not changed
 * for a second. */
static void follow_display(struct live *live, bool changed, int64_t now_ns) {
  const char *name = window_display_name(live->window);
  if (errand_is_done(&live->keeper.errand))
    end_writing(live);
  if (strcmp(name, live->display_told)) {
    if (live->placed_ns)
      keep_values(live);
    take_display(live, name);
    corners_placement(&live->state.settings.values, &live->placement);
    live->placed_ns = 0;
  } else if (changed) {
    live->placed_ns = now_ns;
  } else if (live->placed_ns && now_ns - live->placed_ns > rest_ns && !live->keeper.errand.busy) {
    keep_values(live);
    live->placed_ns = 0;
  }
}

/* Draws the test card again if the window's size, the display or the corner that is edited has changed. */
static bool follow_card(struct live *live) {
  const struct parameters *values = &live->state.settings.values;
  float before = live->card_level;
  int width, height;
  struct frame card;
  live->card_level = values->test_card ? 1 : values->corner_edit ? 0.5f : 0;
  if (live->card_level <= 0)
    return before > 0;
  window_use(live->window, WINDOW_OUTPUT);
  window_get_size(live->window, &width, &height);
  bool fresh = width > 0 && height > 0 &&
               test_card_update(&live->card, live->display_told, width, height, (int)values->corner_edit, &card);
  if (fresh)
    present_card(live->present, &card);
  return fresh || before != live->card_level;
}

bool live_follow_output(struct live *live, int64_t now_ns) {
  const struct placement before = live->placement;
  corners_placement(&live->state.settings.values, &live->placement);
  bool changed = memcmp(&before, &live->placement, sizeof before) != 0;
  follow_display(live, changed, now_ns);
  return follow_card(live) || changed || memcmp(&before, &live->placement, sizeof before) != 0;
}

void live_close_output(struct live *live) {
  if (live->placed_ns)
    keep_values(live);
  end_writing(live);
  test_card_close(&live->card);
}

bool live_drag_corner(struct live *live, const struct window_event *event, int64_t now_ns) {
  int width, height;
  if (event->which != WINDOW_OUTPUT || !live->state.settings.values.corner_edit)
    return false;
  window_use(live->window, WINDOW_OUTPUT);
  window_get_size(live->window, &width, &height);
  if (width > 0 && height > 0)
    corners_drag(&live->corner_drag, &live->state, event->pressed, (double)event->x / width, (double)event->y / height,
                 now_ns);
  return true;
}
