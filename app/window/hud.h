/* The overlay (heads-up display). Over the picture it shows alerts in a bar at the top, figures in the top left corner,
 * a notice below them, the help in the middle, the list of parameters on the right, and the line that the user types at
 * the bottom. In the operator's window these panels are around the picture, together with a graph of frame times.
 *
 * Each panel is a texture (struct sheet, sheet.h), which is drawn anew only when its contents change: text at most ten
 * times a second, the parameter list and the typed line at once because they react to the user. Only the main thread
 * calls these functions. */
#ifndef APP_WINDOW_HUD_H
#define APP_WINDOW_HUD_H

#include <stdbool.h>
#include <stdint.h>

#include "app/control/alerts.h"
#include "app/control/panel.h"
#include "app/flow/recent_times.h"
#include "app/window/hud_place.h"
#include "unet/base/error.h"

struct hud;

/* Contents of the overlay. hud_update reads the strings and keeps no pointer to them. */
struct hud_content {
  enum hud_layout layout;
  /* Show figures; show the help. Over the picture, alerts and notices are shown only together with figures. */
  bool figures, help;
  int help_page;        /* page of the help, from 0 */
  bool running;         /* the engine is open; if not, only `state` is shown as a figure */
  double fps, frame_ms; /* pictures a second, and time of a frame, over the last seconds */
  double budget_ms;     /* longest time that a frame should take; 0: no limit */
  double source_fps;    /* frames a second of the source; 0: unknown */
  const char *hardware; /* name of the hardware that decodes the source; NULL: software decodes it */
  /* time from capture to screen over the last seconds, median and 99th percentile; 0: unknown */
  double latency_ms, latency_p99_ms;
  /* since the start: frames that were dropped, and pictures that took longer than budget_ms */
  long dropped, missed;
  struct hud_prompt {
    const char *words;
    float share;           /* weight of the prompt in the blend of prompts, 0 to 1 */
  } prompts[SLOT_PRESETS]; /* the prompts in use */
  int prompt_count;
  const char *model, *loading;     /* name of the model in use, and of one that is being loaded (NULL: none is) */
  const struct parameters *values; /* current values of parameters; NULL: no values are shown */
  /* Says how the time budget has reduced the size: "512x512, governed to 448x448"; NULL: it has not. */
  const char *governed;
  const char *outputs;         /* recordings and streams in words, such as "recording 0:12"; NULL: there are none */
  const char *state;           /* what the user waits for, such as "loading the model"; NULL: nothing */
  const struct alerts *alerts; /* alerts to show; NULL: none */
  int64_t now_ns;              /* current time, from which it is computed how long alerts have lasted */
  const char *notice;          /* short message to the user; NULL: none */
  const struct panel *panel;   /* state of the parameter list and of the typed line; NULL: neither is shown */
  /* times of recent frames for the graph in the operator's window; NULL: no graph */
  const struct recent_times *recent;
};

/* Returns true if the parameter list is visible with this content. */
bool hud_shows_list(const struct hud_content *content);

/* Opens the overlay, hidden until hud_update. A current OpenGL context is needed here and for hud_update, hud_draw and
 * hud_close. The caller closes it with hud_close. Returns 0, or -1 with err. */
int hud_open(struct hud **hud, struct error *err);
void hud_close(struct hud **hud); /* stores NULL; accepts a pointer to NULL */

/* Stores the positions of all panels in a drawable of this size in pixels. */
void hud_get_places(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_places *places);
/* Stores where the rows of the parameter list are, so that clicks can be assigned to them. */
void hud_get_list_box(struct hud *hud, enum hud_layout layout, int width, int height, struct list_box *box);

/* Takes new content for a drawable of this size in pixels. Returns true if the overlay has to be drawn again. */
bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns);
/* Stores the position of the typed line's text cursor in pixels of the drawable, as of the last hud_update. Input
 * methods show their candidates there. */
void hud_get_cursor(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_area *cursor);
/* Returns the number of pages of the help, as of the last hud_update; 0: the help is not shown. */
int hud_help_pages(const struct hud *hud);
/* Draws the overlay over what was drawn in the current window. */
void hud_draw(struct hud *hud, enum hud_layout layout, int width, int height);

#endif
