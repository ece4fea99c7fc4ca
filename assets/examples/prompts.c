/* Changes the prompt while frames run, and blends two prompts. Each line tells a picture's mean colour. */
#include <reverie.h>

#include <stdint.h>
#include <stdio.h>

enum { SIDE = 128, FRAMES = 6 };

static void tell(const struct reverie_picture *picture, const char *what) {
  double sum[3] = {0};
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      for (int c = 0; c < 3; c++)
        sum[c] += ((const uint8_t *)picture->plane[0])[y * picture->pitch[0] + 4 * x + c];
  double pixels = (double)picture->width * picture->height;
  printf("%-24s red %5.1f, green %5.1f, blue %5.1f\n", what, sum[0] / pixels, sum[1] / pixels, sum[2] / pixels);
}

/* Sets what frame `number` shows, and names it. */
static const char *choose(struct reverie *reverie, int number, struct reverie_error *error) {
  switch (number) {
  case 0:
    return reverie_set(reverie, "prompt[1]", "watercolor", error) ? NULL : "watercolor";
  case 2:
    return reverie_set(reverie, "prompt[1]", "blueprint", error) ? NULL : "blueprint";
  case 4: /* between two prompts: each counts by its share of the sum */
    return reverie_set(reverie, "prompt[2]", "neon", error) || reverie_set_number(reverie, "blend[1]", 1, error) ||
                   reverie_set_number(reverie, "blend[2]", 1, error)
               ? NULL
               : "half blueprint, half neon";
  default:
    return "the same";
  }
}

static int run(struct reverie *reverie, struct reverie_error *error) {
  static uint8_t pixels[SIDE][SIDE][4];
  struct reverie_frame frame = {.size = sizeof frame,
                                .format = REVERIE_RGBA,
                                .width = SIDE,
                                .height = SIDE,
                                .plane = {pixels},
                                .pitch = {4 * SIDE}};
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++)
      for (int c = 0; c < 3; c++)
        pixels[y][x][c] = (uint8_t)(c == 0 ? x : c == 1 ? y : 128);
  if (reverie_open(reverie, error) || reverie_prepare(reverie, SIDE, SIDE, error))
    return -1;
  for (int i = 0; i < FRAMES; i++) {
    struct reverie_picture picture = {.size = sizeof picture};
    const char *what = choose(reverie, i, error);
    if (!what || reverie_submit(reverie, &frame, error) || reverie_collect(reverie, &picture, error))
      return -1;
    tell(&picture, what);
    reverie_release(&picture);
  }
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
