/* opens [N]: creates, opens, uses and closes a struct reverie N times (default 1000), with a picture that is held
 * longer, and every third time with a frame in flight. It prints the resident memory and the number of open files as it
 * goes. Ends with status 1 if memory has grown by more than 4 MB since the first tenth, or the number of files at all.
 * Not part of ./check:
 *
 *     ninja -C build tests/library/opens && build/tests/library/opens */
#include <reverie.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rigs/resident.h"

enum { SIDE = 64, ALLOWED_KB = 4096 };

static int open_files(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder))
    count++;
  if (folder)
    closedir(folder);
  return count;
}

static int use(int number) {
  static uint8_t pixels[SIDE][SIDE][4];
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture picture = {.size = sizeof picture};
  struct reverie_frame frame = {.size = sizeof frame,
                                .format = REVERIE_RGBA,
                                .width = SIDE,
                                .height = SIDE,
                                .plane = {pixels},
                                .pitch = {4 * SIDE}};
  int status = reverie_create(&reverie, NULL, &error) || reverie_open(reverie, &error) ||
               reverie_prepare(reverie, SIDE, SIDE, &error) || reverie_submit(reverie, &frame, &error) ||
               reverie_collect(reverie, &picture, &error) ||
               (number % 3 == 0 && reverie_submit(reverie, &frame, &error));
  if (status)
    fprintf(stderr, "%s\n", error.message);
  reverie_destroy(&reverie);
  reverie_release(&picture);
  return status;
}

int main(int argc, char **argv) {
  int most = argc > 1 ? atoi(argv[1]) : 1000, tenth = most / 10 > 0 ? most / 10 : 1, files = 0;
  long memory = 0;
  for (int i = 1; i <= most; i++) {
    if (use(i))
      return 1;
    if (i % tenth)
      continue;
    printf("%5d: %ld KB, %d files\n", i, resident_kb(), open_files());
    fflush(stdout);
    memory = i == tenth ? resident_kb() : memory;
    files = i == tenth ? open_files() : files;
  }
  return resident_kb() > memory + ALLOWED_KB || open_files() > files;
}
