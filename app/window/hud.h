/* The overlay: alerts in a bar of their own at the top, figures in the top left corner, a passing notice below, the
 * help in the middle, the list of parameters to the right, the line that is typed at the bottom; in the operator's
 * window they lie around the picture, with a graph. Each is a sheet, drawn anew only when it changed: words at most ten
 * times a second, what follows the hand at once. */
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

/* What the overlay says. Strings are read during hud_update only. */
struct hud_content {
  enum hud_layout layout;
  bool figures, help;                /* shown or not; without figures, no alerts and no notice either */
  int help_page;                     /* from 0 */
  bool running;                      /* the engine is open; else only state is shown */
  double fps, frame_ms;              /* of late */
  double budget_ms;                  /* 0: none */
  double source_fps;                 /* 0: unknown */
  const char *hardware;              /* that decodes it; NULL: software */
  double latency_ms, latency_p99_ms; /* from capture to the screen, of late; 0: unknown */
  long dropped, missed;              /* so far */
  struct hud_prompt {
    const char *words;
    float share;           /* of the picture */
  } prompts[SLOT_PRESETS]; /* in use */
  int prompt_count;
  const char *model, *loading;       /* in use; to come, or NULL */
  const struct parameters *values;   /* of which some are shown; NULL: none */
  const char *governed;              /* "512x512, governed to 448x448"; NULL: the budget asks for nothing */
  const char *outputs;               /* "recording 0:12"; NULL: there are none */
  const char *state;                 /* "loading the model"; NULL: nothing to say */
  const struct alerts *alerts;       /* NULL: none */
  int64_t now_ns;                    /* platform_now_ns, for how long alerts hold already */
  const char *notice;                /* NULL: none */
  const struct panel *panel;         /* the list and the line; NULL: none */
  const struct recent_times *recent; /* the operator's graph; NULL: none */
};

bool hud_shows_list(const struct hud_content *content);

/* Needs a current OpenGL context, as hud_update, hud_draw and hud_close do. */
int hud_open(struct hud **hud, struct error *err);
void hud_close(struct hud **hud); /* stores NULL; takes NULL */

/* Where things are in a drawable of this size. */
void hud_get_places(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_places *places);
/* Where the list's rows are. */
void hud_get_list_box(struct hud *hud, enum hud_layout layout, int width, int height, struct list_box *box);

/* Takes over new content for a drawable of this size. Returns whether the overlay looks different now. */
bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns);
/* Where in the drawable the line that is typed goes on, as updated last: what an input method has on its way begins
 * there. */
void hud_get_cursor(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_area *cursor);
/* Of the help, as updated last; 0: it is not shown. */
int hud_help_pages(const struct hud *hud);
void hud_draw(struct hud *hud, enum hud_layout layout, int width, int height);

#endif
