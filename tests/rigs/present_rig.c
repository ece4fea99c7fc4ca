#include "tests/rigs/present_rig.h"

#include "tests/rigs/cmocka_all.h"

#include <epoxy/gl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/window.h"
#include "tests/rigs/fixture.h"

struct present *present;
canvas shown;

static struct window *window;
static struct host_pictures pictures;

bool present_rig_begin(void) {
  struct error err = {0};
  const struct window_params params = {.title = "test", .width = WIDTH, .height = HEIGHT};
  setenv("SDL_VIDEODRIVER", "offscreen", 1);
  if (!window_create(&window, NULL, false, &err) && !window_open(window, &params, &err))
    return true;
  fprintf(stderr, "skipped: %s\n", err.message);
  window_close(&window);
  return false;
}

void present_rig_end(void) {
  host_pictures_free(&pictures);
  window_close(&window);
}

int present_rig_open(void **state) {
  (void)state;
  return present_open(&present, NULL, NULL, NULL, NULL);
}

int present_rig_close(void **state) {
  (void)state;
  present_close(&present);
  return 0;
}

struct present_view plain_view(void) {
  return (struct present_view){.width = WIDTH, .height = HEIGHT, .split_at = 0.5f};
}

void draw(const struct present_view *view) {
  static canvas upside_down;
  present_draw(present, view);
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, upside_down);
  assert_int_equal(glGetError(), GL_NO_ERROR);
  for (int y = 0; y < HEIGHT; y++)
    memcpy(shown[y], upside_down[HEIGHT - 1 - y], sizeof shown[y]);
}

void take_picture(struct frame *frame, enum pixel_format format, int width, int height) {
  frame_release(frame);
  assert_int_equal(host_pictures_take(&pictures, format, width, height, frame, NULL), 0);
}

void fill_random(struct frame *picture, enum pixel_format format, int width, int height) {
  unsigned long long seed = 12345;
  take_picture(picture, format, width, height);
  for (int plane = 0; plane < frame_planes(format); plane++)
    for (int i = 0; i < picture->pitch[plane] * frame_rows(format, plane, height); i++)
      frame_plane(picture, plane)[i] = (uint8_t)(fixture_random(&seed) >> 32);
}

void fill_dark(struct frame *picture, enum pixel_format format, int width, int height) {
  take_picture(picture, format, width, height);
  for (int plane = 0; plane < frame_planes(format); plane++)
    memset(frame_plane(picture, plane), 0, (size_t)picture->pitch[plane] * (size_t)frame_rows(format, plane, height));
}

const uint8_t *pixel_of(const struct frame *picture, int x, int y) {
  x = x < 0 ? 0 : x >= picture->width ? picture->width - 1 : x;
  y = y < 0 ? 0 : y >= picture->height ? picture->height - 1 : y;
  return picture->plane[0] + (ptrdiff_t)y * picture->pitch[0] + 4 * (ptrdiff_t)x;
}
