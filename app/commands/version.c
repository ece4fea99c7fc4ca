/* --version: prints the program's version, and with -v what it was built with and which libraries it runs with. */
#include <stdio.h>

#include <SDL.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "app/built_in.h"
#include "app/options/options.h"
#include "unet/devices.h"

static void print_ffmpeg_library(const char *name, unsigned version) {
  printf(" %s %u.%u.%u", name, AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version), AV_VERSION_MICRO(version));
}

static void print_libraries(void) {
  SDL_version sdl;
  SDL_GetVersion(&sdl);
  printf("running with:");
  print_ffmpeg_library("libavformat", avformat_version());
  print_ffmpeg_library("libavcodec", avcodec_version());
  print_ffmpeg_library("libavutil", avutil_version());
  printf(" SDL %d.%d.%d\n", sdl.major, sdl.minor, sdl.patch);
}

void command_version(const struct options *options) {
  char cuda[1024];
  puts("reverie " REVERIE_VERSION);
  if (options->verbose < 1)
    return;
  puts("built with: " BUILT_WITH);
  puts("built without: " BUILT_WITHOUT);
  puts("compiled by: " COMPILED_BY);
  devices_tell_cuda(cuda, sizeof cuda);
  printf("NVIDIA GPUs: %s\n", cuda);
  print_libraries();
}
