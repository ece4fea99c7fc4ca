/* The window: SDL2, an OpenGL 3.3 core context, and its events reduced to those that matter here. The main thread
 * alone calls this. */
#ifndef APP_WINDOW_WINDOW_H
#define APP_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

struct window;

/* OUTPUT shows the picture, and is there always; OPERATOR is a second one. */
enum window_which { WINDOW_OUTPUT, WINDOW_OPERATOR, WINDOWS };

/* Of the contents, on the system's desktop. */
struct window_place {
  int left, top;
  int width, height;
  bool fullscreen; /* all of a display */
};

struct window_params {
  const char *title;
  int width, height;                /* of the contents; 0: all of its display */
  const struct window_place *place; /* of the one in whose place it comes, which shows it: it is hidden until
                                       window_show. NULL: none */
  bool borderless;                  /* and in the display's corner */
  bool fullscreen;
};

/* One display of the system's. */
struct window_display {
  int number; /* as in window_params */
  char name[96];
  int x, y, width, height; /* of all displays together */
  int refresh;             /* a second; 0: unknown */
  bool on_x11;
};

enum window_event_type {
  WINDOW_KEY,     /* key, repeat, text */
  WINDOW_COMPOSE, /* text: an input method has it on its way; "": no more */
  WINDOW_POINT,   /* x, y: the left button is held down here; pressed: from now on */
  WINDOW_RELEASE, /* no longer */
  WINDOW_WHEEL,   /* turns, x, y */
  WINDOW_DROP,    /* file; follows: along with the one before. NULL: something that is no file */
  WINDOW_DRAW,    /* uncovered or resized: draw again */
  WINDOW_CLOSE,
  WINDOW_DISPLAY_GONE, /* display: the output's, which fills it or lies in its corner; it is hidden as long as there is
                          an operator's window that it would cover */
  WINDOW_DISPLAY_CAME, /* display: it is back, or elsewhere now, and the output with it */
};

enum { WINDOW_TEXT_MAX = 256 };

struct window_event {
  enum window_event_type type;
  enum window_which which;
  int key;                    /* the character typed, or enum key (control/keys.h); KEY_NONE: text alone */
  char text[WINDOW_TEXT_MAX]; /* what was typed, in UTF-8; "": a key that types nothing */
  const char *file;           /* that was dropped on the window, until the next event is asked for */
  const char *display;        /* its name */
  bool follows;
  bool repeat, pressed;
  float x, y;  /* in pixels of the drawable */
  float turns; /* of the wheel, away from the user */
};

/* Connects to the system's display, with no window on it yet: quick, and where there is none it is known before all
 * else. output: the display of that number, from 0, or name, or part of a name; NULL: the first, or where there is to
 * be an operator's window the second. On failure, here and in window_open, the status is STATUS_OUTPUT, and the line
 * says what works without a display; a number or name that no display has is STATUS_USAGE. */
int window_create(struct window **window, const char *output, bool has_operator, struct error *err);
int window_count_displays(const struct window *window);
/* The size of the display that the output is to be on. */
void window_get_display(const struct window *window, int *width, int *height);

/* Calls take for every display, in order, with no window needed. */
int window_list_displays(void (*take)(void *opaque, const struct window_display *display), void *opaque,
                         struct error *err);

/* Opens the window and makes its context current, with vertical synchronisation where it can be had. Once. */
int window_open(struct window *window, const struct window_params *params, struct error *err);
void window_show(struct window *window);   /* the output */
void window_close(struct window **window); /* stores NULL; takes NULL */

/* The operator's window, on another display than the output where there is one. Else the output loses its border and
 * goes into the display's upper left corner until the operator's window is closed, and that one takes no more than the
 * room beside or below it. It shares the context, and is never waited for. */
int window_open_operator(struct window *window, const struct window_params *params, struct error *err);
void window_close_operator(struct window *window);
bool window_has_operator(const struct window *window);
/* What is drawn goes there; what follows is about that one, unless it says otherwise. The output at first. */
void window_use(struct window *window, enum window_which which);

/* -1: the output is gone, with the system's display or by another program. All else here can still be called, and does
 * nothing. */
int window_check(const struct window *window, struct error *err);

/* The name of the display that the output belongs on and that is gone; NULL: it is there. */
const char *window_lost_display(const struct window *window);

/* Whether any can ever come: a system that shows nothing has none. */
bool window_takes_events(const struct window *window);
/* Whether there is something to be polled or checked. */
bool window_has_event(const struct window *window);
/* The next event that waits; false: none does. */
bool window_poll(struct window *window, struct window_event *event);
/* The output's, for another window in its place. */
void window_get_place(const struct window *window, struct window_place *place);
void window_get_size(const struct window *window, int *width, int *height); /* drawable, in pixels */
/* The output's, in full screen: after it. */
void window_resize(struct window *window, int width, int height);
void window_set_fullscreen(struct window *window, bool fullscreen);
/* Whether a line of text is typed: then input methods have the keys first. At the beginning keys are commands. */
void window_take_text(struct window *window, bool taken);
/* Where what is typed is to be seen, for what an input method shows beside it: pixels of the drawable. */
void window_set_text_place(struct window *window, int left, int top, int width, int height);
/* What was copied elsewhere, allocated; NULL: no text. */
char *window_paste(struct window *window);
/* Over the output; elsewhere it is always there. */
void window_show_pointer(struct window *window, bool shown);
/* How long the output's screen shows one picture, in ms; 0: it does not say. */
double window_refresh_ms(const struct window *window);
void window_swap(struct window *window);

/* Whether the context was lost, as its driver says: what is drawn then is drawn nowhere. */
bool window_lost_context(struct window *window, int64_t now_ns);
/* Puts another one in its place, of which the output is used then: enter makes there what is drawn with, leave frees
 * what was made in the old one, each with its own current. Where it fails the old one stays, and leave is not called.
 */
int window_renew_context(struct window *window, int (*enter)(void *opaque, struct error *err),
                         void (*leave)(void *opaque), void *opaque, struct error *err);
/* Whether the CPU draws: then costly shading is left out. */
bool window_is_software(const struct window *window);

#endif
