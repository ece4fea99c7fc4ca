#include "tests/rigs/grey_source.h"

#include <string.h>

#include "unet/base/platform.h"

int grey_of(uint64_t serial) {
  return (int)(serial * 37 % 256);
}

static int grey_read(struct source *source, struct frame *frame, struct error *err) {
  struct grey_source *grey = (struct grey_source *)source;
  platform_sleep_ns(grey->nap_ms * INT64_C(1000000));
  while (grey->endless && grey->given == grey->frames && !source_interrupted(source))
    platform_sleep_ns(1000000);
  if (grey->given + 1 == grey->fail_at)
    return error_set(err, STATUS_INPUT, "the camera is gone");
  if (grey->given == grey->frames || source_interrupted(source))
    return 0;
  if (host_pictures_take(&grey->pictures, PIXEL_YUV420P, GREY_SIDE, GREY_SIDE, frame, err))
    return -1;
  for (int i = 0; i < 3; i++)
    memset(frame_plane(frame, i), i ? 128 : grey_of((uint64_t)grey->given),
           (size_t)(frame->pitch[i] * frame_rows(frame->format, i, GREY_SIDE)));
  frame->pts = grey->time_of ? grey->time_of((uint64_t)grey->given) : grey->given;
  grey->given_at[grey->given % GREY_FRAMES_MAX] = frame->plane[0];
  frame->serial = (uint64_t)grey->given++;
  return 1;
}

static void grey_info(const struct source *source, struct source_info *info) {
  (void)source;
  info->time_base_num = 1;
  info->time_base_den = 1000;
}

static const struct source_impl grey_impl = {.name = "grey", .read = grey_read, .info = grey_info};

struct grey_source grey_source_of(long frames) {
  return (struct grey_source){.source = {.impl = &grey_impl}, .frames = frames};
}
