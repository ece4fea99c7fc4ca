/* Restyles a moving square with two frames in flight: while the device makes one picture, the next frame is on its
 * way. On a CPU that makes no difference; a GPU has no pause between two pictures. */
#include <reverie.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 128, HEIGHT = 128, FRAMES = 8, PER_SECOND = 30 };

static void draw(uint8_t pixels[HEIGHT][WIDTH][4], int number) {
  memset(pixels, 40, sizeof(uint8_t[HEIGHT][WIDTH][4]));
  for (int y = 40; y < 80; y++)
    memset(pixels[y][8 + 8 * number], 220, 4 * 40);
}

/* Takes the oldest picture. Here a program would show it. */
static int take(struct reverie *reverie, struct reverie_error *error) {
  struct reverie_picture picture = {.size = sizeof picture};
  if (reverie_collect(reverie, &picture, error))
    return -1;
  printf("picture at %.3f s: %dx%d\n", (double)picture.time_ns * 1e-9, picture.width, picture.height);
  reverie_release(&picture);
  return 0;
}

static int run(struct reverie *reverie, struct reverie_error *error) {
  static uint8_t pixels[HEIGHT][WIDTH][4];
  struct reverie_frame frame = {.size = sizeof frame,
                                .format = REVERIE_RGBA,
                                .width = WIDTH,
                                .height = HEIGHT,
                                .plane = {pixels},
                                .pitch = {4 * WIDTH}};
  if (reverie_set(reverie, "prompt[1]", "watercolor", error) || reverie_open(reverie, error) ||
      reverie_prepare(reverie, WIDTH, HEIGHT, error))
    return -1;
  for (int i = 0; i < FRAMES; i++) {
    draw(pixels, i);
    frame.time_ns = i * INT64_C(1000000000) / PER_SECOND;
    if (reverie_in_flight(reverie) == REVERIE_IN_FLIGHT_MOST && take(reverie, error))
      return -1;
    if (reverie_submit(reverie, &frame, error)) /* the pixels are read by the time it returns */
      return -1;
  }
  while (reverie_in_flight(reverie))
    if (take(reverie, error))
      return -1;
  return 0;
}

int main(void) {
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  if (reverie_create(&reverie, NULL, &error) || run(reverie, &error))
    fprintf(stderr, "%s\n", error.message);
  reverie_destroy(&reverie);
  return error.status;
}
