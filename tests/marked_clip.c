/* The pattern with markers (app/source/marker.h) whose times are those of a clip, as raw frames of yuv420p on standard
 * output. The ffmpeg program makes a clip of them that bench --live can follow:
 *
 *   marked_clip WIDTH HEIGHT FPS FRAMES | ffmpeg -f rawvideo -pix_fmt yuv420p -s WIDTHxHEIGHT -r FPS -i - CLIP */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/source/marker.h"
#include "app/source/source.h"

static bool write_frame(const struct frame *frame) {
  bool written = true;
  for (int plane = 0; plane < frame_planes(frame->format); plane++) {
    size_t bytes = (size_t)frame_row_bytes(frame->format, plane, frame->width);
    for (int y = 0; y < frame_rows(frame->format, plane, frame->height) && written; y++)
      written = fwrite(frame->plane[plane] + (ptrdiff_t)y * frame->pitch[plane], 1, bytes, stdout) == bytes;
  }
  return written;
}

static int write_frames(struct source *source, double fps, long count, struct error *err) {
  for (long i = 0; i < count; i++) {
    struct frame frame;
    if (source_read(source, &frame, err) != 1)
      return -1;
    marker_draw(&frame, &(struct marker){(uint32_t)i, llrint((double)i * 1e6 / fps)});
    bool written = write_frame(&frame);
    frame_release(&frame);
    if (!written)
      return error_set(err, STATUS_OUTPUT, "standard output cannot be written");
  }
  return fflush(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}

int main(int argc, char **argv) {
  struct source *source = NULL;
  struct error err;
  char spec[64];
  double fps = argc == 5 ? atof(argv[3]) : 0;
  long count = argc == 5 ? atol(argv[4]) : 0;
  if (!(fps > 0) || count < 1) {
    fprintf(stderr, "usage: marked_clip WIDTH HEIGHT FPS FRAMES\n");
    return 2;
  }
  snprintf(spec, sizeof spec, "pattern-marked:%sx%s", argv[1], argv[2]);
  int status = source_open(&source, spec, &(struct source_options){.fps = fps}, &err);
  if (!status)
    status = write_frames(source, fps, count, &err);
  source_close(&source);
  if (status)
    fprintf(stderr, "marked_clip: %s\n", err.message);
  return status ? 1 : 0;
}
