#include "app/window/displays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/x11.h"

/* Writes a list of all displays for an error message, such as: 0 "HDMI-1", 1 "DP-2". */
static void list_displays(char *list, size_t size) {
  size_t used = 0;
  *list = 0;
  for (int i = 0; i < SDL_GetNumVideoDisplays() && used < size; i++)
    used += (size_t)snprintf(list + used, size - used, "%s%d \"%s\"", i ? ", " : "", i, SDL_GetDisplayName(i));
}

static int refuse_number(int display, struct error *err) {
  char list[300];
  if (SDL_GetNumVideoDisplays() == 1)
    return error_set(err, STATUS_USAGE, "--display %d: there is one display here, number 0", display);
  list_displays(list, sizeof list);
  return error_set(err, STATUS_USAGE, "--display %d: the displays here are %s", display, list);
}

static bool has_words(const char *name, const char *words) {
  for (; *name; name++)
    if (!SDL_strncasecmp(name, words, strlen(words)))
      return true;
  return false;
}

/* Finds a display by its whole name, or by a part of it that occurs in no other display's name. Returns 0, or -1 with
 * err. */
static int find_name(const char *words, int *display, struct error *err) {
  char list[300];
  int found = 0;
  for (int i = 0; i < SDL_GetNumVideoDisplays(); i++) {
    const char *name = SDL_GetDisplayName(i);
    *display = name && has_words(name, words) ? i : *display;
    found += name && has_words(name, words);
    if (name && !SDL_strcasecmp(name, words)) {
      *display = i;
      return 0;
    }
  }
  if (found == 1)
    return 0;
  list_displays(list, sizeof list);
  return error_set(err, STATUS_USAGE, "--display %.60s: %s has this name; the displays here are %s", words,
                   found ? "more than one" : "none", list);
}

int displays_find(const char *words, int *display, struct error *err) {
  char *end;
  long number = strtol(words, &end, 10);
  if (end == words || *end)
    return find_name(words, display, err);
  if (number < 0 || number >= SDL_GetNumVideoDisplays())
    return refuse_number(number < 0 || number > 999 ? 999 : (int)number, err);
  *display = (int)number;
  return 0;
}

void display_place_begin(struct display_place *place, SDL_Window *window, int number) {
  const char *name = SDL_GetDisplayName(number);
  *place = (struct display_place){0};
  snprintf(place->name, sizeof place->name, "%s", name ? name : "unnamed");
  SDL_GetDisplayBounds(number, &place->bounds);
  x11_find_display(window, &place->x11_name, &place->bounds);
}

static bool find_by_name(const char *name, SDL_Rect *bounds) {
  for (int i = 0; i < SDL_GetNumVideoDisplays(); i++) {
    const char *own = SDL_GetDisplayName(i);
    if (own && !strcmp(own, name))
      return !SDL_GetDisplayBounds(i, bounds);
  }
  return false;
}

enum display_change display_place_follow(struct display_place *place, SDL_Window *window) {
  SDL_Rect bounds = place->bounds;
  bool found =
      place->x11_name ? x11_find_display(window, &place->x11_name, &bounds) : find_by_name(place->name, &bounds);
  bool came = found && (place->gone || !SDL_RectEquals(&bounds, &place->bounds)), left = !found && !place->gone;
  place->gone = !found;
  place->bounds = bounds;
  return came ? DISPLAY_CAME : left ? DISPLAY_GONE : DISPLAY_SAME;
}
