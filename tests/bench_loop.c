/* What the pictures of a clip take where it starts again, and elsewhere. Not a test by itself.
 *
 *   bench_loop CLIP...     decoded in software: live (in threads a slice), and for render (in threads a frame) */
#include <stdio.h>

#include <libavutil/log.h>

#include "tests/loop_times.h"
#include "unet/base/text.h"

int main(int count, char **args) {
  av_log_set_level(AV_LOG_ERROR);
  for (int i = 1; i < 2 * count - 1; i++) {
    const char *path = args[(i + 1) / 2];
    struct loop_times times;
    struct error err;
    if (loop_times_measure(path, &(struct source_options){.live = i % 2}, 0, &times, &err)) {
      fprintf(stderr, "%s\n", err.message);
      return 1;
    }
    loop_times_print(text_last_part(path), i % 2 ? "software, live" : "software, render", &times);
  }
  return 0;
}
