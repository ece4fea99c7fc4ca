#include "tests/rigs/small_file.h"

#include <string.h>

#include "tests/rigs/clips.h"

struct sink_options small_file_options(const struct source_options *source) {
  return (struct sink_options){.format = PIXEL_YUV420P,
                               .width = SMALL_SIDE,
                               .height = SMALL_SIDE,
                               .time_base_num = 1,
                               .time_base_den = 1000,
                               .fps = SMALL_FPS,
                               .quality = -1,
                               .sound_options = source,
                               .log = source->log};
}

int small_file_open(struct sink **sink, const char *name, const struct sink_options *options, struct error *err) {
  return sink_open(sink, clip(name), options, err);
}

int small_file_frame(struct sink *sink, int number, int late, struct error *err) {
  enum { SIDE = SMALL_SIDE };
  uint8_t luma[SIDE * SIDE], chroma[SIDE * SIDE / 4];
  for (int i = 0; i < SIDE * SIDE; i++)
    luma[i] = (uint8_t)(16 + (i * 7 + i / SIDE * number + number * 5) % 200);
  memset(chroma, 128, sizeof chroma);
  const struct frame frame = {.format = PIXEL_YUV420P,
                              .width = SIDE,
                              .height = SIDE,
                              .plane = {luma, chroma, chroma},
                              .pitch = {SIDE, SIDE / 2, SIDE / 2},
                              .pts = number * 1000 / SMALL_FPS + late};
  return sink_write(sink, &frame, err);
}
