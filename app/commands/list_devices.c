/* --list-devices: prints the cameras, screens and sound inputs that live can use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/options/options.h"
#include "app/remote/midi_input.h"
#include "app/source/camera_text.h"
#include "app/source/sound_inputs.h"
#include "app/window/window.h"

/* Prints a display as a SOURCE that captures its part of the X screen (FFmpeg's x11grab). */
static void print_display(void *opaque, const struct window_display *display) {
  const char *x_display = getenv("DISPLAY");
  (void)opaque;
  if (display->on_x11 && x_display)
    printf("  %s+%d,%d --input-size %dx%d  ", x_display, display->x, display->y, display->width, display->height);
  else
    printf("  cannot be a source, for it is not X's: ");
  printf("display %d, %s, %dx%d", display->number, display->name, display->width, display->height);
  if (display->refresh)
    printf(", %d Hz", display->refresh);
  putchar('\n');
}

void command_devices(const struct options *options) {
  const struct camera_wish wish = {options->input_width, options->input_height, options->input_fps};
  struct ffmpeg_devices devices;
  struct error err;
  printf("cameras (--input-size and --input-fps choose):\n");
  camera_print_all(stdout, platform_look_at_camera, &wish);
  printf("screens (all of it: screen):\n");
  if (window_list_displays(print_display, NULL, &err))
    printf("  none: no display can be reached\n");
  printf("sound (--sound takes these names):\n");
  midi_alsa_hush(); /* keeps libasound from printing a message for each sound card that does not exist */
  fflush(stdout);   /* the lines are written out now, because the next call may wait for a sound server */
  if (ffmpeg_open_devices(&devices, STATUS_INPUT, &err))
    printf("  none: %s\n", err.message);
  else
    sound_inputs_print(stdout, &devices, sound_inputs_look);
}
