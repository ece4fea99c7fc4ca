/* Tests the list of sound inputs, made from what FFmpeg would find. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/mem.h>

#include "app/source/sound_inputs.h"

static AVDeviceInfo *make_input(const char *name, const char *description) {
  AVDeviceInfo *input = av_mallocz(sizeof *input);
  assert_non_null(input);
  input->device_name = av_strdup(name);
  input->device_description = av_strdup(description);
  return input;
}

static void add(AVDeviceInfoList *list, const char *name, const char *description) {
  list->devices = av_realloc_array(list->devices, (size_t)list->nb_devices + 1, sizeof *list->devices);
  assert_non_null(list->devices);
  list->devices[list->nb_devices++] = make_input(name, description);
}

static int look_at_studio(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device) {
  (void)devices;
  *list = av_mallocz(sizeof **list);
  assert_non_null(*list);
  (*list)->default_device = 1;
  if (!strcmp(device, "pulse")) {
    add(*list, "stage.monitor", "Monitor of Stage");
    add(*list, "alsa_input.usb-0", "Studio \x1b[31mmic");
  } else {
    add(*list, "null", "Discard all samples");
    add(*list, "hw:CARD=PCH,DEV=0", "HDA Intel PCH\nDirect");
    add(*list, "plughw:CARD=PCH,DEV=0", "HDA Intel PCH, ALC257\nWith all conversions");
  }
  return (*list)->nb_devices;
}

static int look_in_vain(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device) {
  (void)devices;
  if (!strcmp(device, "pulse"))
    return AVERROR_EXTERNAL;
  *list = av_mallocz(sizeof **list);
  assert_non_null(*list);
  add(*list, "null", "Discard all samples");
  return 1;
}

static int look_without(const struct ffmpeg_devices *devices, AVDeviceInfoList **list, const char *device) {
  (void)devices, (void)list, (void)device;
  return AVERROR_DEMUXER_NOT_FOUND;
}

static void expect(sound_look *look, const char *wanted) {
  struct ffmpeg_devices devices;
  struct error err;
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  if (ffmpeg_open_devices(&devices, STATUS_INPUT, &err))
    fail_msg("%s", err.message);
  sound_inputs_print(out, &devices, look);
  assert_int_equal(fclose(out), 0);
  assert_string_equal(text, wanted);
  free(text);
}

static void inputs_are_named_as_they_are_given(void **state) {
  (void)state;
  expect(look_at_studio, "  pulse:stage.monitor  Monitor of Stage\n"
                         "  pulse:alsa_input.usb-0  Studio ?[31mmic (pulse:default)\n"
                         "  alsa:plughw:CARD=PCH,DEV=0  HDA Intel PCH, ALC257, With all conversions\n");
}

static void none_has_a_reason(void **state) {
  (void)state;
  expect(look_in_vain, "  none by PulseAudio: no server of PulseAudio or PipeWire answers\n"
                       "  none by ALSA: there is no sound card\n");
  expect(look_without, "  none by PulseAudio: FFmpeg here is built without it\n"
                       "  none by ALSA: FFmpeg here is built without it\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_are_named_as_they_are_given),
      cmocka_unit_test(none_has_a_reason),
  };
  return cmocka_run_group_tests_name("sound inputs", tests, NULL, NULL);
}
