/* The overlay. Over the picture it shows alerts in a bar at the top, figures in the top left corner, a notice below
 * them, the help in the middle, the list of parameters on the right, and the line that the user types at the bottom. In
 * the operator's window these stand around the picture, together with a graph.
 *
 * Each panel is a sheet (sheet.h), which is drawn again only when its contents change: words at most ten times a
 * second, list and line at once because they react to the user. Only the main thread calls this. */
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

/* Contents of the overlay. Strings are read during hud_update only. */
struct hud_content {
  enum hud_layout layout;
  /* show figures, show the help; without figures, alerts and notices are hidden as well */
  bool figures, help;
  int help_page;                     /* page of the help, from 0 */
  bool running;                      /* the engine is open; otherwise only state is shown */
  double fps, frame_ms;              /* over the last seconds */
  double budget_ms;                  /* 0: there is no budget */
  double source_fps;                 /* 0: unknown */
  const char *hardware;              /* the hardware that decodes the source; NULL: software does */
  double latency_ms, latency_p99_ms; /* from capture to screen, over the last seconds; 0: unknown */
  long dropped, missed;              /* since the start */
  struct hud_prompt {
    const char *words;
    float share;           /* the prompt's share in the picture, 0 to 1 */
  } prompts[SLOT_PRESETS]; /* prompts in use */
  int prompt_count;
  const char *model, *loading;     /* name of the model in use; name of one that is being loaded, or NULL */
  const struct parameters *values; /* NULL: none are shown */
  /* "512x512, governed to 448x448"; NULL: size and steps are what the user asked for */
  const char *governed;
  const char *outputs;               /* "recording 0:12"; NULL: there are no outputs */
  const char *state;                 /* "loading the model"; NULL: nothing is waited for */
  const struct alerts *alerts;       /* NULL: none */
  int64_t now_ns;                    /* time from which the age of alerts is computed */
  const char *notice;                /* NULL: none */
  const struct panel *panel;         /* list of parameters and line of text; NULL: none */
  const struct recent_times *recent; /* data of the operator's graph; NULL: none */
};

/* Returns true if the list of parameters is visible with this content. */
bool hud_shows_list(const struct hud_content *content);

/* hud_open, hud_update, hud_draw and hud_close need a current OpenGL context. Returns 0, or -1 and err. */
int hud_open(struct hud **hud, struct error *err);
void hud_close(struct hud **hud); /* stores NULL; takes NULL */

/* Stores where the panels are in a drawable of this size. */
void hud_get_places(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_places *places);
/* Stores where the list's rows are. */
void hud_get_list_box(struct hud *hud, enum hud_layout layout, int width, int height, struct list_box *box);

/* Takes new content for a drawable of this size. Returns true if the overlay has to be drawn again. */
bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns);
/* Stores where the typed line's cursor is in the drawable, as of the last hud_update. An input method shows there what
 * it composes. */
void hud_get_cursor(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_area *cursor);
/* Returns the number of pages of the help, as of the last hud_update; 0: it is not shown. */
int hud_help_pages(const struct hud *hud);
/* Draws the overlay over what the current window shows. */
void hud_draw(struct hud *hud, enum hud_layout layout, int width, int height);

#endif
