#include "app/source/device_wishes.h"

#include <stdio.h>
#include <string.h>

#include <libavutil/avstring.h>

bool device_is_input(const AVInputFormat *format) {
  return format && format->priv_class && AV_IS_INPUT_DEVICE(format->priv_class->category);
}

bool device_is_camera(const AVInputFormat *format) {
  return format && av_match_name("v4l2", format->name);
}

bool device_is_mirror(const AVFormatContext *input) {
  struct camera camera;
  if (!device_is_camera(input->iformat) || platform_look_at_camera(&camera, input->url, NULL))
    return false;
  bool is_mirror = camera_is_mirror(&camera);
  platform_free_camera(&camera);
  return is_mirror;
}

static void set_size(AVDictionary **wishes, int width, int height) {
  char size[32];
  snprintf(size, sizeof size, "%dx%d", width, height);
  av_dict_set(wishes, "video_size", size, 0);
}

/* Finds the size of the whole screen in pixels by opening it. Returns false if it cannot be opened. */
static bool find_screen_size(const AVInputFormat *format, const char *display, int *width, int *height) {
  AVFormatContext *screen = NULL;
  if (avformat_open_input(&screen, display, format, NULL) < 0)
    return false;
  *width = screen->streams[0]->codecpar->width;
  *height = screen->streams[0]->codecpar->height;
  avformat_close_input(&screen);
  return true;
}

static void wish_rest_of_screen(AVDictionary **wishes, const AVInputFormat *format, const char *url) {
  const char *plus = strchr(url, '+');
  char display[256];
  int x, y, width, height;
  if (!plus || sscanf(plus, "+%d,%d", &x, &y) != 2 || av_dict_get(*wishes, "video_size", NULL, 0) ||
      av_dict_get(*wishes, "grab_x", NULL, 0))
    return;
  snprintf(display, sizeof display, "%.*s", (int)(plus - url < 255 ? plus - url : 255), url);
  if (find_screen_size(format, display, &width, &height) && x < width && y < height)
    set_size(wishes, width - x, height - y);
}

static bool has_own_choice(AVDictionary *wishes) {
  return av_dict_get(wishes, "input_format", NULL, 0) || av_dict_get(wishes, "pixel_format", NULL, 0);
}

void camera_wishes(AVDictionary **wishes, const struct camera *camera, const struct source_options *options) {
  const struct camera_wish wish = {options->width, options->height, options->fps};
  struct camera_choice choice;
  char words[64], rate[32], asked[64] = "";
  if (has_own_choice(*wishes) || !camera_choose(camera, &wish, &choice))
    return;
  av_dict_set(wishes, "input_format", choice.ffmpeg, 0);
  set_size(wishes, choice.width, choice.height);
  snprintf(rate, sizeof rate, "%.6f", choice.fps);
  if (choice.fps > 0)
    av_dict_set(wishes, "framerate", rate, 0);
  bool met = camera_meets(&choice, &wish);
  if (!met)
    snprintf(asked, sizeof asked, ", the nearest it has (see reverie --list-devices)");
  log_line(options->log, met ? LOG_INFO : LOG_WARNING, "%s, %s: %s%s", camera->path, camera->name,
           camera_show(&choice, words, sizeof words), asked);
}

void device_wishes(AVDictionary **wishes, const AVInputFormat *format, const char *url,
                   const struct source_options *options) {
  struct camera camera;
  if (format && !strcmp(format->name, "x11grab"))
    wish_rest_of_screen(wishes, format, url);
  if (!device_is_camera(format) || platform_look_at_camera(&camera, url, NULL))
    return;
  camera_wishes(wishes, &camera, options);
  platform_free_camera(&camera);
}
