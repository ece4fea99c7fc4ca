#include "app/window/curtain.h"

#include <SDL.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"

enum {
  HEADER_BYTES = 128,
  LOOK_MS = 20,
  /* milliseconds after which the curtain (a still picture in a window of another process) ends on its own if the
   * program that started it has not removed it */
  PATIENCE_MS = 60000,
};
static const size_t bytes_most = (size_t)1 << 30;

/* --- called by the program that starts the curtain (a process whose window shows a still picture) --- */

/* Stores the picture in an anonymous file: a line of numbers, then the pixels. The curtain's process, which shows the
 * picture, inherits the file's descriptor. Returns the descriptor, or -1. */
static int hold(const struct curtain_picture *picture) {
  const struct window_place *place = &picture->place;
  size_t pixels = (size_t)picture->width * (size_t)picture->height * 4;
  char *text = malloc(HEADER_BYTES + pixels);
  if (!text)
    return -1;
  int header = snprintf(text, HEADER_BYTES, "%d %d %d %d %d %d %d %d\n", place->left, place->top, place->width,
                        place->height, place->fullscreen, picture->borderless, picture->width, picture->height);
  memcpy(text + header, picture->rgba, pixels);
  int descriptor = platform_hold_text(text, (size_t)header + pixels);
  free(text);
  return descriptor;
}

int curtain_raise(int *line, const struct curtain_picture *picture, struct error *err) {
  int ends[2], held = hold(picture);
  char value[32];
  *line = -1;
  if (held < 0 || platform_connect_pair(ends)) {
    if (held >= 0)
      platform_drop(held);
    return error_set(err, STATUS_FAILED, "no picture for the meantime: %s", strerror(errno));
  }
  snprintf(value, sizeof value, "%d,%d", held, ends[1]);
  int status = platform_begin_second(CURTAIN_VARIABLE, value, (int[]){held, ends[1]}, 2);
  platform_drop(held);
  platform_drop(ends[1]);
  *line = ends[0];
  if (!status)
    return 0;
  curtain_drop(line);
  return error_set(err, STATUS_FAILED, "no picture for the meantime: no process can be started");
}

int curtain_look(int line) {
  return platform_hear(line, 0);
}

void curtain_drop(int *line) {
  if (*line >= 0)
    platform_drop(*line);
  *line = -1;
}

/* --- the curtain's process, which shows a still picture while this program restarts --- */

static bool read_picture(const char *text, size_t size, struct curtain_picture *picture) {
  struct window_place *place = &picture->place;
  int fullscreen, borderless, used = 0;
  bool read = sscanf(text, "%d %d %d %d %d %d %d %d%n", &place->left, &place->top, &place->width, &place->height,
                     &fullscreen, &borderless, &picture->width, &picture->height, &used) == 8 &&
              picture->width > 0 && picture->height > 0 && picture->width < 1 << 15 && picture->height < 1 << 15 &&
              size == (size_t)used + 1 + (size_t)picture->width * (size_t)picture->height * 4;
  place->fullscreen = read && fullscreen;
  picture->borderless = read && borderless;
  picture->rgba = (const uint8_t *)text + used + 1;
  return read;
}

/* Draws the whole picture, scaled to the window's size. */
static void show(SDL_Window *window, SDL_Surface *picture) {
  SDL_Surface *surface = SDL_GetWindowSurface(window);
  if (surface && !SDL_BlitScaled(picture, NULL, surface, NULL))
    SDL_UpdateWindowSurface(window);
}

static SDL_Window *make(const struct curtain_picture *picture) {
  const struct window_place *place = &picture->place;
  bool bare = place->fullscreen || picture->borderless;
  Uint32 flags = SDL_WINDOW_SKIP_TASKBAR | SDL_WINDOW_HIDDEN | (bare ? SDL_WINDOW_BORDERLESS : 0);
  return SDL_CreateWindow("reverie", place->left, place->top, place->width, place->height, flags);
}

/* Returns the picture as an SDL surface. Reverses the order of the rows: the picture's are from bottom to top, SDL's
 * from top to bottom. */
static SDL_Surface *flip_rows(const struct curtain_picture *picture) {
  SDL_Surface *surface =
      SDL_CreateRGBSurfaceWithFormat(0, picture->width, picture->height, 32, SDL_PIXELFORMAT_XBGR8888);
  size_t bytes = (size_t)picture->width * 4;
  for (int y = 0; surface && y < picture->height; y++)
    memcpy((char *)surface->pixels + (size_t)(picture->height - 1 - y) * (size_t)surface->pitch,
           picture->rgba + (size_t)y * bytes, bytes);
  return surface;
}

/* Shows the picture in this process's window until the program that started this process closes the connection `line`
 * or ends, at most for PATIENCE_MS. full: the window fills its display. */
static void show_until_told(SDL_Window *window, SDL_Surface *picture, bool full, int line) {
  SDL_Event event;
  SDL_ShowWindow(window);
  if (full)
    SDL_SetWindowFullscreen(window, SDL_WINDOW_FULLSCREEN_DESKTOP);
  show(window, picture);
  platform_say(line);
  for (int waited_ms = 0; waited_ms < PATIENCE_MS && platform_hear(line, LOOK_MS) >= 0; waited_ms += LOOK_MS)
    while (SDL_PollEvent(&event))
      if (event.type == SDL_WINDOWEVENT)
        show(window, picture);
}

static void perform(const struct curtain_picture *picture, int line) {
  SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
  SDL_SetHint(SDL_HINT_APP_NAME, "reverie");
  if (SDL_InitSubSystem(SDL_INIT_VIDEO))
    return;
  SDL_Surface *surface = flip_rows(picture);
  SDL_Window *window = surface ? make(picture) : NULL;
  if (picture->place.fullscreen)
    SDL_ShowCursor(SDL_DISABLE);
  if (window)
    show_until_told(window, surface, picture->place.fullscreen, line);
  SDL_FreeSurface(surface);
  SDL_Quit();
}

int curtain_main(const char *value) {
  int held, line;
  struct curtain_picture picture = {0};
  size_t size = 0;
  char *text = sscanf(value, "%d,%d", &held, &line) == 2 ? platform_take_text(held, bytes_most, &size) : NULL;
  bool read = text && read_picture(text, size, &picture);
  if (read)
    perform(&picture, line);
  else
    fprintf(stderr, "reverie: " CURTAIN_VARIABLE ": the program sets it for itself alone: unset it\n");
  free(text);
  return read ? STATUS_OK : STATUS_USAGE;
}
