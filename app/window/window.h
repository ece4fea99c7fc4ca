/* The program's windows, made with SDL2 and an OpenGL 3.3 core context: the output window, which shows the picture to
 * the audience, and the operator's window. Events of the windows are translated to the few kinds that the program
 * needs. Only the main thread calls these functions. */
#ifndef APP_WINDOW_WINDOW_H
#define APP_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

struct window;

/* WINDOW_OUTPUT shows the picture and is always open. WINDOW_OPERATOR, the operator's window, may be opened and
 * closed. */
enum window_which { WINDOW_OUTPUT, WINDOW_OPERATOR, WINDOWS };

/* Position and size of a window's contents on the desktop, in SDL's window coordinates. */
struct window_place {
  int left, top;
  int width, height;
  bool fullscreen; /* true: the window fills its display */
};

struct window_params {
  const char *title;
  int width, height; /* size of the contents in window coordinates; 0: the window fills its display */
  /* Position and size of a window that the new window replaces; the new one is hidden until window_show. NULL: the new
   * window replaces none and is visible at once. */
  const struct window_place *place;
  bool borderless; /* true: the window has no border and is in the display's upper left corner */
  bool fullscreen;
};

/* A display that is connected to the system. */
struct window_display {
  int number; /* the display's number from 0, by which window_create can choose it */
  char name[96];
  /* Position and size, in SDL's window coordinates, of the display on the desktop, which all displays share. */
  int x, y, width, height;
  int refresh; /* refresh rate of the display in Hz; 0: unknown */
  bool on_x11;
};

enum window_event_type {
  WINDOW_KEY,     /* a key was pressed; fields: key, repeat, text */
  WINDOW_COMPOSE, /* an input method composes text, which is in `text`; "": composing has ended */
  /* the left mouse button or a finger is held down at x, y; pressed: true for the first of these events */
  WINDOW_POINT,
  WINDOW_RELEASE, /* the left mouse button was released, or the finger lifted */
  WINDOW_WHEEL,   /* the mouse wheel was turned; fields: turns, x, y */
  /* a file was dropped on the window; `file` is its path. follows: true if it was dropped together with the file
   * before; file NULL: what was dropped is not a file */
  WINDOW_DROP,
  WINDOW_DRAW, /* the window was uncovered or resized and must be drawn again */
  WINDOW_CLOSE,
  /* The display on which the output window was (filling it, or in its corner) was disconnected; `display` is its name.
   * If there is an operator's window, the output window is hidden. */
  WINDOW_DISPLAY_GONE,
  /* the display that was disconnected (WINDOW_DISPLAY_GONE) is connected again or was moved, and the output window has
   * moved to that display */
  WINDOW_DISPLAY_CAME,
};

enum { WINDOW_TEXT_MAX = 256 };

struct window_event {
  enum window_event_type type;
  enum window_which which;
  /* the ASCII character that was typed, or that belongs to the key's position (layout_place); or a value of enum key
   * (control/keys.h); KEY_NONE: there is only text */
  int key;
  char text[WINDOW_TEXT_MAX]; /* typed text in UTF-8; "": the key types nothing */
  const char *file;           /* path of the dropped file, valid until the next window_poll */
  const char *display;        /* name of the display that was disconnected or is back */
  bool follows;
  bool repeat, pressed;
  int64_t finger; /* number of the finger of this touch, not 0; 0: the mouse */
  float x, y;     /* position of the pointer or finger in pixels of the drawable */
  float turns;    /* number of steps by which the mouse wheel was turned, positive away from the user */
};

/* Connects to the desktop and chooses the displays, without opening a window. This is quick, so that a missing display
 * is noticed before anything else starts. output: number (from 0), name or part of the name of the output window's
 * display; NULL: the first display, or the second if has_operator.
 *
 * Returns 0, or -1 with err. Failures of this function and of window_open have STATUS_OUTPUT, and a message that gives
 * commands without a display. If no display has this number or name, the status is STATUS_USAGE; *window is then valid,
 * and must be closed. */
int window_create(struct window **window, const char *output, bool has_operator, struct error *err);
/* Returns the number of displays; 0: the connection to the X server is lost. */
int window_count_displays(const struct window *window);
/* Stores the size, in window coordinates, of the display on which the output window is. */
void window_get_display(const struct window *window, int *width, int *height);

/* Calls the function `take` for every display, in the order of the displays' numbers. No window need be open. Returns
 * 0, or -1 with err. */
int window_list_displays(void (*take)(void *opaque, const struct window_display *display), void *opaque,
                         struct error *err);

/* Opens the output (the window that the audience sees) and makes its OpenGL context current, with vertical
 * synchronisation if the driver has it. Called once only. Returns 0, or -1 with err. */
int window_open(struct window *window, const struct window_params *params, struct error *err);
void window_show(struct window *window);   /* shows an output window that was opened hidden (params->place) */
void window_close(struct window **window); /* closes the windows; *window becomes NULL; does nothing if it is NULL */

/* Opens the operator's window, on another display than the output window's if possible. With a single display, until
 * window_close_operator the output window has no border and is in the upper left corner, and the operator's window is
 * beside or below it. It has two thirds of its display's size, or the size in params if that is larger, as far as there
 * is room. Both share the OpenGL context. Presenting the operator's window never waits for the display. Returns 0, or
 * -1 with err. */
int window_open_operator(struct window *window, const struct window_params *params, struct error *err);
/* Closes the operator's window if it is open, and gives the output window its border and position back. Afterwards the
 * output window is the current window. */
void window_close_operator(struct window *window);
bool window_has_operator(const struct window *window);
/* Makes a window the current one: later drawing goes to that window, and functions such as window_get_size and
 * window_swap refer to it. At first the output window is current. */
void window_use(struct window *window, enum window_which which);

/* Returns 0, or -1 with err if the output window is lost: the connection to its X server has ended, or another program
 * has destroyed the window. After the loss all other functions can still be called, and do nothing. */
int window_check(const struct window *window, struct error *err);

/* Returns the name of the output window's display if that display is disconnected; NULL: it is connected. */
const char *window_lost_display(const struct window *window);

/* Returns the name of the display on which the output window is, valid until the next call. */
const char *window_display_name(const struct window *window);

/* Returns true if the window can get events; SDL's drivers without a screen ("offscreen", "dummy") deliver none. */
bool window_takes_events(const struct window *window);
/* Returns true if window_poll would return an event or window_check a failure. */
bool window_has_event(const struct window *window);
/* Stores the next event of either window. Returns false if there is none. Does not wait. */
bool window_poll(struct window *window, struct window_event *event);
/* Stores the output window's position and size in *place. When the program restarts itself, it passes them on, so that
 * the new window gets the same ones. */
void window_get_place(const struct window *window, struct window_place *place);
/* stores the size of the current window's drawable in pixels */
void window_get_size(const struct window *window, int *width, int *height);
/* Sets the output window's size in window coordinates. In full screen the size is set when full screen ends. */
void window_resize(struct window *window, int width, int height);
/* Makes the output window fill its display (full screen), or ends full screen. */
void window_set_fullscreen(struct window *window, bool fullscreen);
/* Tells the window whether the user types a line of text. taken true: the user does, and input methods get the keys
 * first; false, as at the beginning: keys run commands. */
void window_take_text(struct window *window, bool taken);
/* Tells input methods (programs for typing other scripts) where the typed text is shown, in pixels of the drawable,
 * because they show suggestions there. */
void window_set_text_place(struct window *window, int left, int top, int width, int height);
/* Opens an address in the user's browser, which may take a moment. Returns 0, or -1 with err set. */
int window_browse(const char *address, struct error *err);
/* Returns the clipboard's text, which the caller frees. NULL: the clipboard contains no text. */
char *window_paste(struct window *window);
/* Shows or hides the mouse pointer over the output window. Over the operator's window it is always shown. */
void window_show_pointer(struct window *window, bool shown);
/* Returns for how many ms the output window's display shows one picture (1000 / its refresh rate); 0: unknown. */
double window_refresh_ms(const struct window *window);
/* Presents what was drawn in the current window (swaps buffers). For the output window this may wait for the display's
 * next refresh. */
void window_swap(struct window *window);

/* Returns true if the OpenGL context was lost (context_is_lost); what is drawn afterwards is not shown. */
bool window_lost_context(struct window *window, int64_t now_ns);
/* Replaces a lost OpenGL context. First `enter` is called with the new context current; it creates all textures and
 * shaders. Then `leave` is called with the old context current; it frees the textures and shaders of that context.
 * Afterwards the output window is the current window. On failure (-1 with err) the old context is kept, and leave is
 * not called. */
int window_renew_context(struct window *window, int (*enter)(void *opaque, struct error *err),
                         void (*leave)(void *opaque), void *opaque, struct error *err);
/* Returns true if OpenGL draws on the processor, where costly shaders such as bicubic are too slow. */
bool window_is_software(const struct window *window);

#endif
