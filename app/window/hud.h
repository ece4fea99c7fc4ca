/* The overlay (heads-up display). Over the picture it shows alerts at the top, measured values such as the frame rate
 * in the top left corner, a notice below them, the help in the middle, the list of parameters on the right, and the
 * typed line at the bottom. In the operator's window these panels are around the picture, and the widgets of face.h
 * replace the measured values and the list.
 *
 * Each panel is a texture (struct sheet, sheet.h), drawn again only when its contents change. Text changes at most ten
 * times a second; the list and the typed line change at once, because they react to the user. Only the main thread
 * calls these functions. */
#ifndef APP_WINDOW_HUD_H
#define APP_WINDOW_HUD_H

#include <stdbool.h>
#include <stdint.h>

#include "app/control/alerts.h"
#include "app/control/key_bindings.h"
#include "app/control/meter.h"
#include "app/control/panel.h"
#include "app/flow/recent_times.h"
#include "app/window/face_content.h"
#include "unet/base/error.h"

struct hud;

/* Contents of the overlay. hud_update reads the strings and keeps no pointer to them. */
struct hud_content {
  enum hud_layout layout;
  /* figures: measured values such as the frame rate are shown; help: the help is shown. Over the picture, alerts and
   * notices are shown only if `figures` is true. */
  bool figures, help;
  int help_page; /* page of the help, from 0 */
  /* true: the engine is open; false: it is not open, and the overlay shows only the text `state` in place of measured
   * values */
  bool running;
  double fps, frame_ms; /* fps: pictures per second; frame_ms: time of a frame in ms; both over the last seconds */
  double budget_ms;     /* longest time in ms that a frame should take; 0: no limit */
  double source_fps;    /* frame rate of the source, in frames per second; 0: unknown */
  const char *hardware; /* name of the hardware that decodes the source; NULL: software decodes it */
  /* median and 99th percentile of the time in ms from capture to screen over the last seconds; 0: unknown */
  double latency_ms, latency_p99_ms;
  /* dropped: number of frames dropped since the start; missed: number of pictures that took longer than budget_ms */
  long dropped, missed;
  struct hud_prompt {
    const char *words;
    float share;           /* weight of the prompt in the blend of prompts, 0 to 1 */
  } prompts[SLOT_PRESETS]; /* the prompts in use; prompt_count is their number */
  int prompt_count;
  /* model: name of the model in use; loading: name of a model that is being loaded, NULL: none is */
  const char *model, *loading;
  const struct parameters *values; /* current values of parameters; NULL: no values are shown */
  /* text that says to which size the time budget has reduced pictures, such as "512x512, governed to 448x448"; NULL:
   * the size was not reduced */
  const char *governed;
  const char *clip; /* position in the file and time left, such as "0:12 -1:18"; NULL: the source is no file */
  /* The clock of beats. tempo: beats per minute; 0: there is none. beat: number of the beat in its bar, from 0.
   * bar_beats: beats in a bar. */
  double tempo;
  int beat, bar_beats;
  /* the sound's levels, and the values that sound and LFOs change; NULL: neither is shown */
  const struct meter *meter;
  const char *outputs;         /* text about recordings and streams, such as "recording 0:12"; NULL: there are none */
  const char *state;           /* what the user waits for, such as "loading the model"; NULL: nothing */
  const struct alerts *alerts; /* alerts to show; NULL: none */
  int64_t now_ns;              /* current time (platform_now_ns); alerts show for how long they have lasted */
  const struct key_bindings *bindings; /* keys that the user has bound, for the help; NULL: none */
  const char *address;                 /* address of the web page, to be shown as a QR code; NULL: no code is shown */
  const char *notice;                  /* the notice, a short message to the user; NULL: none */
  const struct panel *panel;           /* state of the parameter list and of the typed line; NULL: neither is shown */
  /* times of recent frames for the graph in the operator's window; NULL: no graph */
  const struct recent_times *recent;
  const struct face_content *face; /* content that only the operator's window shows; NULL: none */
};

/* Opens the overlay, hidden until hud_update. This function, hud_update, hud_draw and hud_close need a current OpenGL
 * context. The caller closes the overlay with hud_close. Returns 0, or -1 with err. */
int hud_open(struct hud **hud, struct error *err);
void hud_close(struct hud **hud); /* frees the overlay; *hud becomes NULL; does nothing if it is NULL */

/* Stores the positions of all panels in a drawable (area of a window) of this size in pixels. */
void hud_get_places(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_places *places);
/* Stores where each widget of the operator's window is, for the content that the last hud_update got. The size in
 * pixels is that of the drawable (area of the window). */
void hud_get_face_places(const struct hud *hud, int width, int height, struct face_places *places);
/* Returns how often the sheets (textures with the panels) of the operator's window were drawn since hud_open, for
 * tests. */
long hud_count_drawn(const struct hud *hud);
/* Stores where the rows of the parameter list are, so that clicks can be assigned to them. */
void hud_get_list_box(struct hud *hud, enum hud_layout layout, int width, int height, struct list_box *box);

/* Gives the overlay new content for a drawable (area of a window) of this size in pixels. Returns true if the overlay
 * has to be drawn again. */
bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns);
/* Stores the position of the text cursor in the line that the user types, in pixels of the drawable (area of the
 * window), as of the last hud_update. Input methods show their suggestions at this position. */
void hud_get_cursor(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_area *cursor);
/* Returns the number of pages of the help, as of the last hud_update; 0: the help is not shown. */
int hud_help_pages(const struct hud *hud);
/* Draws the overlay over what was drawn in the current window. */
void hud_draw(struct hud *hud, enum hud_layout layout, int width, int height);

#endif
