/* Makes one picture in the style of an oil painting, and writes it to picture.ppm, or to the file that is named. */
#include <reverie.h>

#include <stdint.h>
#include <stdio.h>

enum { WIDTH = 256, HEIGHT = 256 };

/* A sun over hills. */
static void draw(uint8_t pixels[HEIGHT][WIDTH][4]) {
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      int sun = (x - 180) * (x - 180) + (y - 70) * (y - 70) < 40 * 40;
      int hill = y > 150 + (x % 128 - 64) * (x % 128 - 64) / 64;
      pixels[y][x][0] = (uint8_t)(sun ? 250 : hill ? 60 : 120);
      pixels[y][x][1] = (uint8_t)(sun ? 220 : hill ? 130 : 170);
      pixels[y][x][2] = (uint8_t)(sun ? 90 : hill ? 50 : 230);
    }
}

static int save(const char *path, const struct reverie_picture *picture) {
  FILE *file = fopen(path, "wb");
  if (!file)
    return -1;
  fprintf(file, "P6\n%d %d\n255\n", picture->width, picture->height);
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      fwrite((const uint8_t *)picture->plane[0] + (size_t)y * (size_t)picture->pitch[0] + 4 * x, 1, 3, file);
  return fclose(file);
}

int main(int argc, char **argv) {
  static uint8_t pixels[HEIGHT][WIDTH][4];
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture picture = {.size = sizeof picture};
  struct reverie_frame frame = {.size = sizeof frame,
                                .format = REVERIE_RGBA,
                                .width = WIDTH,
                                .height = HEIGHT,
                                .plane = {pixels},
                                .pitch = {4 * WIDTH}};
  draw(pixels);
  if (reverie_create(&reverie, NULL, &error) || reverie_set(reverie, "prompt[1]", "oil painting", &error) ||
      reverie_open(reverie, &error) || reverie_prepare(reverie, WIDTH, HEIGHT, &error) ||
      reverie_submit(reverie, &frame, &error) || reverie_collect(reverie, &picture, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return error.status;
  }
  const char *path = argc > 1 ? argv[1] : "picture.ppm";
  if (save(path, &picture))
    perror(path);
  else
    printf("%s: %dx%d\n", path, picture.width, picture.height);
  reverie_release(&picture);
  reverie_destroy(&reverie);
  return 0;
}
