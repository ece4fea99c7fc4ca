#include "app/control/thumbnail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/png_text.h"
#include "app/platform/app_platform.h"

enum { CHANNELS = 4 };

/* Stores in `pixel` the mean of the picture's pixels that the pixel (x, y) of the small picture covers. */
static void average(const struct frame *picture, const struct frame *small, int x, int y, uint8_t pixel[CHANNELS]) {
  int left = x * picture->width / small->width, right = (x + 1) * picture->width / small->width;
  int top = y * picture->height / small->height, bottom = (y + 1) * picture->height / small->height;
  unsigned long sum[CHANNELS] = {0}, count = (unsigned long)(right - left) * (unsigned long)(bottom - top);
  for (int row = top; row < bottom; row++)
    for (int column = left; column < right; column++)
      for (int i = 0; i < CHANNELS; i++)
        sum[i] += picture->plane[0][(size_t)row * (size_t)picture->pitch[0] + (size_t)column * CHANNELS + (size_t)i];
  for (int i = 0; i < CHANNELS; i++)
    pixel[i] = (uint8_t)((sum[i] + count / 2) / count);
}

static int scaled(int side, int longest) {
  int small = side * THUMBNAIL_SIDE / longest;
  return longest <= THUMBNAIL_SIDE ? side : small > 0 ? small : 1;
}

/* Scales the picture down to a thumbnail, which is stored in *small. Its pixels are allocated in *pixels, which the
 * caller frees. Returns 0, or -1 with err. */
static int shrink(const struct frame *picture, struct frame *small, uint8_t **pixels, struct error *err) {
  int longest = picture->width > picture->height ? picture->width : picture->height;
  *small = (struct frame){
      .format = PIXEL_RGBA, .width = scaled(picture->width, longest), .height = scaled(picture->height, longest)};
  size_t row = (size_t)small->width * CHANNELS;
  *pixels = malloc(row * (size_t)small->height);
  if (!*pixels)
    return error_set(err, STATUS_FAILED, "no memory for the picture of a preset");
  small->plane[0] = *pixels;
  small->pitch[0] = (int)row;
  for (int y = 0; y < small->height; y++)
    for (int x = 0; x < small->width; x++)
      average(picture, small, x, y, *pixels + (size_t)y * row + (size_t)x * CHANNELS);
  return 0;
}

int thumbnail_write(const char *path, const struct frame *picture, struct error *err) {
  struct frame small;
  struct error why = {0};
  uint8_t *pixels;
  if (shrink(picture, &small, &pixels, err))
    return -1;
  FILE *file = platform_open_to_write(path);
  int status = file ? png_text_write(file, &small, NULL, 0, &why) : -1;
  int reason = errno;
  if (file && fclose(file))
    status = -1;
  free(pixels);
  if (status && file)
    platform_remove(path);
  return status ? error_set(err, STATUS_OUTPUT, "%.300s: %s", path, *why.message ? why.message : strerror(reason)) : 0;
}
