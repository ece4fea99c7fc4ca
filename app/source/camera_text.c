#include "app/source/camera_text.h"

#include <string.h>

struct printing {
  FILE *out;
  const struct camera_wish *wish;
  int count;
};

static bool is_same_size(const struct camera_mode *a, const struct camera_mode *b) {
  return !strcmp(a->format, b->format) && a->width == b->width && a->height == b->height &&
         a->width_least == b->width_least && a->height_least == b->height_least;
}

static void print_size(FILE *out, const struct camera_mode *mode) {
  char size[64];
  if (mode->width_step)
    snprintf(size, sizeof size, "%dx%d to %dx%d", mode->width_least, mode->height_least, mode->width, mode->height);
  else
    snprintf(size, sizeof size, "%dx%d", mode->width, mode->height);
  fprintf(out, "    %-4s  %-10s ", mode->format, size);
}

static void print_rate(FILE *out, const struct camera_mode *mode) {
  if (mode->fps > mode->fps_least)
    fprintf(out, " %.4g to %.4g", mode->fps_least, mode->fps);
  else if (mode->fps > 0)
    fprintf(out, " %.4g", mode->fps);
}

static void print_modes(FILE *out, const struct camera *camera) {
  for (int i = 0; i < camera->mode_count; i++) {
    const struct camera_mode *mode = &camera->modes[i];
    if (!i || !is_same_size(mode, mode - 1))
      print_size(out, mode);
    print_rate(out, mode);
    if (i + 1 == camera->mode_count || !is_same_size(mode, mode + 1))
      fprintf(out, "%s\n", mode->fps > 0 ? " fps" : "");
  }
}

static bool print_one(void *opaque, const struct camera *camera, int reason) {
  struct printing *printing = opaque;
  struct camera_choice choice;
  char words[64];
  FILE *out = printing->out;
  printing->count++;
  if (reason) {
    struct error err;
    if (!camera_refuse(camera->path, reason, &err))
      error_set(&err, STATUS_INPUT, "%s: %s", camera->path, strerror(reason));
    fprintf(out, "  %s\n", err.message);
    return true;
  }
  fprintf(out, "  %s  %s (%s, %s)%s\n", camera->path, camera->name, camera->driver, camera->place,
          camera_is_mirror(camera) ? ", mirrored" : "");
  print_modes(out, camera);
  if (camera_choose(camera, printing->wish, &choice))
    fprintf(out, "    taken: %s%s\n", camera_show(&choice, words, sizeof words),
            camera_meets(&choice, printing->wish) ? "" : ", the nearest to what is asked for");
  else
    fprintf(out, "    nothing of this can be read here\n");
  return true;
}

void camera_print_all(FILE *out, camera_look *look, const struct camera_wish *wish) {
  struct printing printing = {out, wish, 0};
  camera_list(look, print_one, &printing);
  if (!printing.count)
    fprintf(out, "  none: %s\n",
            platform_has_cameras() ? "there is no /dev/video* that gives pictures"
                                   : "they are known through Video4Linux, which this system has not");
}
