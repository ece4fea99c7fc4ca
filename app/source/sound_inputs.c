#include "app/source/sound_inputs.h"

#include <string.h>

#include "unet/base/text.h"

struct system {
  /* device: FFmpeg's name of the device; name: its name in messages; no_input: the message if the device lists no
   * input */
  const char *device, *name, *no_input;
};
static const struct system systems[] = {
    {"pulse", "PulseAudio", "no server of PulseAudio or PipeWire answers"},
    {"alsa", "ALSA", "there is no sound card"},
};

int sound_inputs_look(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device) {
  const AVInputFormat *format = av_find_input_format(device);
  return format ? devices->list_input_sources(format, NULL, NULL, list) : AVERROR_DEMUXER_NOT_FOUND;
}

/* True if an input is listed for users. ALSA lists each card several times, and also filters that are no inputs; of
 * these only "plughw" is shown: a card with conversion to any rate and format. */
static bool is_worth_listing(const struct system *system, const char *name) {
  return strcmp(system->device, "alsa") != 0 || !strncmp(name, "plughw:", strlen("plughw:"));
}

static void print_one(FILE *out, const struct system *system, const AVDeviceInfo *input, bool standard) {
  fprintf(out, "  %s:", system->device);
  text_put(out, input->device_name);
  fputs("  ", out);
  /* ALSA describes an input in several lines, which are printed as one */
  for (const char *part = input->device_description, *next; *part; part = next) {
    char line[256];
    next = part + strcspn(part, "\n");
    snprintf(line, sizeof line, "%.*s", (int)(next - part), part);
    text_put(out, line);
    if (*next && *++next)
      fputs(", ", out);
  }
  fputs(standard ? " (pulse:default)\n" : "\n", out);
}

static void print_system(FILE *out, const struct system *system, const struct ffmpeg_devices *devices,
                         sound_look *look) {
  AVDeviceInfoList *list = NULL;
  int code = look(devices, &list, system->device), count = 0;
  for (int i = 0; code >= 0 && i < list->nb_devices; i++)
    if (is_worth_listing(system, list->devices[i]->device_name)) {
      bool standard = i == list->default_device && !strcmp(system->device, "pulse");
      print_one(out, system, list->devices[i], standard);
      count++;
    }
  if (code == AVERROR_DEMUXER_NOT_FOUND)
    fprintf(out, "  none by %s: FFmpeg here is built without it\n", system->name);
  else if (!count)
    fprintf(out, "  none by %s: %s\n", system->name, system->no_input);
  devices->free_list_devices(&list);
}

void sound_inputs_print(FILE *out, const struct ffmpeg_devices *devices, sound_look *look) {
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
    print_system(out, &systems[i], devices, look);
}
