#include "tests/rigs/reading.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/cmocka_all.h"
#include "unet/base/platform.h"

void make_greys(const char *picture, int frames, const char *output) {
  shell("ffmpeg -nostdin -v error -y -f lavfi -i color=black:s=%s,geq=lum='16+4*N':cb=128:cr=128 -frames:v %d %s",
        picture, frames, output);
}

void reading_start(struct reading *reading, const char *scheme, int port, double timeout, const char *options) {
  struct source *none = NULL;
  *reading = (struct reading){.options = {.live = true, .read_timeout = timeout, .input_options = options}};
  snprintf(reading->spec, sizeof reading->spec, "%s://127.0.0.1:%d", scheme, port);
  mailbox_init(&reading->mailbox);
  assert_int_equal(reader_start(&reading->reader, &none, reading->spec, &reading->options, &reading->mailbox, NULL), 0);
}

int reading_end(struct reading *reading, struct error *err) {
  int status = reader_stop(&reading->reader, err);
  mailbox_free(&reading->mailbox);
  return status;
}

/* Returns the number of a frame, which its grey value tells. */
static int number_of(const struct frame *frame) {
  return (frame->plane[0][frame->pitch[0] * (frame->height / 2) + frame->width / 2] - 16 + 2) / 4;
}

struct frame wait_for_number(struct reading *reading, int number) {
  const struct mail *mail = NULL;
  int last = -1;
  for (int64_t until = platform_now_ns() + (int64_t)PATIENCE_MS * 1000000; platform_now_ns() < until;)
    if (mailbox_take(&reading->mailbox, &mail, 100) == 1 && (last = number_of(&mail->frame)) >= number)
      return mail->frame;
  fail_msg("%s: frame %d did not come; the last one was %d", reading->spec, number, last);
  return (struct frame){0};
}

struct frame wait_for_width(struct reading *reading, int number, int width) {
  struct frame frame;
  do
    frame = wait_for_number(reading, number);
  while (frame.width != width);
  return frame;
}

void wait_for_loss(struct reading *reading, struct reader_status *status) {
  for (int i = 0; i < PATIENCE_MS; i++) {
    reader_get_status(reading->reader, status);
    if (status->lost)
      return;
    usleep(1000);
  }
  fail_msg("%s: it is not lost", reading->spec);
}
