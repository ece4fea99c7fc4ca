/* The program's windows: SDL2 with an OpenGL 3.3 core context. Their events are translated to the few kinds that the
 * program needs. Only the main thread calls this. */
#ifndef APP_WINDOW_WINDOW_H
#define APP_WINDOW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

struct window;

/* WINDOW_OUTPUT shows the picture and is always open; WINDOW_OPERATOR is the operator's window, which may be opened and
 * closed. */
enum window_which { WINDOW_OUTPUT, WINDOW_OPERATOR, WINDOWS };

/* Position and size of a window's contents on the desktop. */
struct window_place {
  int left, top;
  int width, height;
  bool fullscreen; /* the window fills its display */
};

struct window_params {
  const char *title;
  int width, height; /* size of the contents; 0: all of its display */
  /* Place of a window that this one replaces. The new window is hidden until window_show. NULL: it replaces none. */
  const struct window_place *place;
  bool borderless; /* the window has no border and is in the display's upper left corner */
  bool fullscreen;
};

/* A display of the system. */
struct window_display {
  int number; /* number for window_create */
  char name[96];
  /* In the space of all displays together. */
  int x, y, width, height;
  int refresh; /* pictures a second; 0: unknown */
  bool on_x11;
};

enum window_event_type {
  WINDOW_KEY,     /* a key was pressed: key, repeat, text */
  WINDOW_COMPOSE, /* text is being composed by an input method; "": it is no longer */
  WINDOW_POINT,   /* the left button is held down at x, y; pressed: it was pressed just now */
  WINDOW_RELEASE, /* the left button was released */
  WINDOW_WHEEL,   /* the wheel was turned: turns, x, y */
  WINDOW_DROP,    /* a file was dropped; follows: together with the one before. file NULL: it was not a file */
  WINDOW_DRAW,    /* the window was uncovered or resized and must be drawn again */
  WINDOW_CLOSE,
  /* display was disconnected, which the output filled or was in the corner of. While there is an operator's window that
   * it would cover, the output is hidden. */
  WINDOW_DISPLAY_GONE,
  WINDOW_DISPLAY_CAME, /* display is back or was moved, and the output with it */
};

enum { WINDOW_TEXT_MAX = 256 };

struct window_event {
  enum window_event_type type;
  enum window_which which;
  int key;                    /* the character typed, or enum key (control/keys.h); KEY_NONE: there is only text */
  char text[WINDOW_TEXT_MAX]; /* the typed text in UTF-8; "": the key types nothing */
  const char *file;           /* name of the dropped file, valid until the next event is asked for */
  const char *display;        /* name of the display */
  bool follows;
  bool repeat, pressed;
  float x, y;  /* in pixels of the drawable */
  float turns; /* turns of the wheel, positive away from the user */
};

/* Connects to the desktop and chooses the displays, without opening a window. This is quick, so that a missing display
 * is noticed before anything else starts. output: number (from 0), name or part of the name of the output's display;
 * NULL: the first display, or the second if there is to be an operator's window.
 *
 * On failure, here and in window_open, the status is STATUS_OUTPUT, and the message says what works without a display.
 * It is STATUS_USAGE if no display has this number or name; *window is valid then, and must be closed. */
int window_create(struct window **window, const char *output, bool has_operator, struct error *err);
/* Returns the number of displays; 0: the connection to them is lost. */
int window_count_displays(const struct window *window);
/* Stores the size of the output's display in pixels. */
void window_get_display(const struct window *window, int *width, int *height);

/* Calls take for every display, in their order. Needs no window. */
int window_list_displays(void (*take)(void *opaque, const struct window_display *display), void *opaque,
                         struct error *err);

/* Opens the output and makes its OpenGL context current, with vertical synchronisation if the driver has it. Must be
 * called once only. */
int window_open(struct window *window, const struct window_params *params, struct error *err);
void window_show(struct window *window);   /* shows an output that was opened hidden */
void window_close(struct window **window); /* stores NULL; takes NULL */

/* Opens the operator's window, on another display than the output's if there is one. On a single display the output
 * loses its border and moves to the display's upper left corner until the operator's window is closed, which in turn
 * gets only the room beside or below the output. The two share the context. Swapping the operator's window never waits
 * for the screen. */
int window_open_operator(struct window *window, const struct window_params *params, struct error *err);
/* Closes the operator's window if it is open, and gives the output its border and place back. The output is current
 * then. */
void window_close_operator(struct window *window);
bool window_has_operator(const struct window *window);
/* Makes a window the one that is drawn in, and that functions without a window in their name refer to. At first this is
 * the output. */
void window_use(struct window *window, enum window_which which);

/* Returns -1 and err if the output is lost: its X server has gone, or another program has destroyed it. All other
 * functions can still be called then, and do nothing. */
int window_check(const struct window *window, struct error *err);

/* Returns the name of the output's display if it is disconnected, and NULL otherwise. */
const char *window_lost_display(const struct window *window);

/* Returns true if events can come at all. Drivers that show nothing have none. */
bool window_takes_events(const struct window *window);
/* Returns true if window_poll or window_check has something to tell. */
bool window_has_event(const struct window *window);
/* Stores the next event. Returns false if there is none. Does not wait. */
bool window_poll(struct window *window, struct window_event *event);
/* Stores the output's place, for a window that is to replace it. */
void window_get_place(const struct window *window, struct window_place *place);
void window_get_size(const struct window *window, int *width, int *height); /* size of the drawable, in pixels */
/* Sets the output's size. In full screen the size applies when that ends. */
void window_resize(struct window *window, int width, int height);
/* Makes the output fill its display, or ends that. */
void window_set_fullscreen(struct window *window, bool fullscreen);
/* taken: the user types a line of text, and input methods get the keys first. At the beginning this is off, and keys
 * are commands. */
void window_take_text(struct window *window, bool taken);
/* Tells input methods where the typed text is shown, in pixels of the drawable. */
void window_set_text_place(struct window *window, int left, int top, int width, int height);
/* Returns the text of the clipboard, which the caller frees. NULL: it has no text. */
char *window_paste(struct window *window);
/* Shows or hides the mouse pointer over the output. Over the operator's window it is always shown. */
void window_show_pointer(struct window *window, bool shown);
/* Returns for how many ms the output's display shows one picture; 0: unknown. */
double window_refresh_ms(const struct window *window);
/* Presents what was drawn in the current window. For the output this may wait for the screen. */
void window_swap(struct window *window);

/* Returns true if the OpenGL context was lost (context_is_lost). Nothing that is drawn after that is shown. */
bool window_lost_context(struct window *window, int64_t now_ns);
/* Replaces the context. enter is called with the new context current and creates what is needed for drawing; leave is
 * called with the old one current and frees what was created there. The output is the current window afterwards. On
 * failure the old context stays, and leave is not called. */
int window_renew_context(struct window *window, int (*enter)(void *opaque, struct error *err),
                         void (*leave)(void *opaque), void *opaque, struct error *err);
/* Returns true if the CPU draws. Costly shaders are not used then. */
bool window_is_software(const struct window *window);

#endif
