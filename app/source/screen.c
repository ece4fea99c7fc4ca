#include "app/source/screen.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of the whole screen; false: it cannot be opened. */
static bool find_size(const AVInputFormat *format, const char *display, int *width, int *height) {
  AVFormatContext *screen = NULL;
  if (avformat_open_input(&screen, display, format, NULL) < 0)
    return false;
  *width = screen->streams[0]->codecpar->width;
  *height = screen->streams[0]->codecpar->height;
  avformat_close_input(&screen);
  return true;
}

void screen_wish_rest(AVDictionary **wishes, const AVInputFormat *format, const char *url) {
  const char *plus = strchr(url, '+');
  char display[256], rest[32];
  int x, y, width, height;
  if (!format || strcmp(format->name, "x11grab") || !plus || sscanf(plus, "+%d,%d", &x, &y) != 2 ||
      av_dict_get(*wishes, "video_size", NULL, 0) || av_dict_get(*wishes, "grab_x", NULL, 0))
    return;
  snprintf(display, sizeof display, "%.*s", (int)(plus - url < 255 ? plus - url : 255), url);
  if (!find_size(format, display, &width, &height) || x >= width || y >= height)
    return;
  snprintf(rest, sizeof rest, "%dx%d", width - x, height - y);
  av_dict_set(wishes, "video_size", rest, 0);
}
