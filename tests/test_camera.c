/* Tests cameras with recorded lists of formats: the fake device answers the calls of V4L2 that list formats, and the
 * test checks which format is chosen, what is listed, and what is refused. */
#include "tests/rigs/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/camera.h"
#include "app/source/camera_text.h"
#include "app/source/device_wishes.h"
#include "app/source/source.h"

#if __has_include(<linux/videodev2.h>)
#include <linux/videodev2.h>

enum { SIZES_MAX = 20, RATES_MAX = 8, FORMATS_MAX = 4 };

/* A device as v4l2-ctl --all and --list-formats-ext show it. */
struct recorded {
  const char *card, *driver, *bus;
  uint32_t capabilities, device_capabilities, input_capabilities;
  struct {
    const char *fourcc;
    struct {
      unsigned width, height;
      double fps[RATES_MAX]; /* frame rates, ended by 0 */
    } sizes[SIZES_MAX];
  } formats[FORMATS_MAX];
  /* For formats[0], in place of a list of sizes: any size from `least` to `most` in multiples of `step`. */
  unsigned least[2], most[2], step;
};

#define CAPTURE (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING)
#define ALL_RATES                                                                                                      \
  { 30, 24, 20, 15, 10, 7.5, 5 }

static const struct recorded c920 = {
    .card = "HD Pro Webcam C920",
    .driver = "uvcvideo",
    .bus = "usb-0000:00:14.0-2",
    .capabilities = CAPTURE | V4L2_CAP_DEVICE_CAPS | V4L2_CAP_META_CAPTURE,
    .device_capabilities = CAPTURE,
    .formats = {{"YUYV",
                 {{640, 480, ALL_RATES},
                  {160, 90, ALL_RATES},
                  {160, 120, ALL_RATES},
                  {176, 144, ALL_RATES},
                  {320, 180, ALL_RATES},
                  {320, 240, ALL_RATES},
                  {352, 288, ALL_RATES},
                  {432, 240, ALL_RATES},
                  {640, 360, ALL_RATES},
                  {800, 448, ALL_RATES},
                  {800, 600, {24, 20, 15, 10, 7.5, 5}},
                  {864, 480, {24, 20, 15, 10, 7.5, 5}},
                  {960, 720, {15, 10, 7.5, 5}},
                  {1024, 576, {15, 10, 7.5, 5}},
                  {1280, 720, {10, 7.5, 5}},
                  {1600, 896, {7.5, 5}},
                  {1920, 1080, {5}},
                  {2304, 1296, {2}}}},
                {"H264", {{640, 480, ALL_RATES}, {1280, 720, ALL_RATES}, {1920, 1080, ALL_RATES}}},
                {"MJPG",
                 {{640, 480, ALL_RATES},
                  {320, 240, ALL_RATES},
                  {640, 360, ALL_RATES},
                  {800, 600, ALL_RATES},
                  {1280, 720, ALL_RATES},
                  {1920, 1080, ALL_RATES}}}}};

static const struct recorded laptop = {
    .card = "Integrated Camera: Integrated C",
    .driver = "uvcvideo",
    .bus = "usb-0000:00:14.0-8",
    .capabilities = CAPTURE | V4L2_CAP_DEVICE_CAPS,
    .device_capabilities = CAPTURE,
    .formats = {{"MJPG", {{1280, 720, {30}}, {640, 480, {30}}, {640, 360, {30}}, {320, 240, {30}}}},
                {"YUYV", {{640, 480, {30}}, {1280, 720, {10}}, {640, 360, {30}}, {320, 240, {30}}}}}};

static const struct recorded card = {
    .card = "Cam Link 4K: Cam Link 4K",
    .driver = "uvcvideo",
    .bus = "usb-0000:00:14.0-1",
    .capabilities = CAPTURE | V4L2_CAP_DEVICE_CAPS,
    .device_capabilities = CAPTURE,
    .formats = {{"YUYV", {{1920, 1080, {59.94}}}},
                {"NV12", {{3840, 2160, {29.97}}, {1920, 1080, {59.94, 50, 29.97}}, {1280, 720, {59.94, 50}}}},
                {"YU12", {{1920, 1080, {59.94}}}}}};

static const struct recorded loopback = {.card = "OBS",
                                         .driver = "v4l2 loopback",
                                         .bus = "platform:v4l2loopback-000",
                                         .capabilities = CAPTURE | V4L2_CAP_DEVICE_CAPS,
                                         .device_capabilities = CAPTURE,
                                         .formats = {{.fourcc = "YUYV"}},
                                         .least = {2, 2},
                                         .most = {8192, 8192},
                                         .step = 2};

static const struct recorded grabber = {.card = "Frame Grabber",
                                        .driver = "cx88",
                                        .bus = "PCI:0",
                                        .capabilities = CAPTURE,
                                        .input_capabilities = V4L2_IN_CAP_STD,
                                        .formats = {{"YUYV", {{720, 576, {25}}}}}};

/* The metadata device that a webcam has beside its video device, with another number. */
static const struct recorded metadata = {.card = "HD Pro Webcam C920",
                                         .driver = "uvcvideo",
                                         .bus = "usb-0000:00:14.0-2",
                                         .capabilities = CAPTURE | V4L2_CAP_DEVICE_CAPS | V4L2_CAP_META_CAPTURE,
                                         .device_capabilities = V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING};

static struct {
  const struct recorded *device;
  int open, reason;
} plugged;

static int fake_open(const char *path) {
  (void)path;
  if (plugged.reason) {
    errno = plugged.reason;
    return -1;
  }
  plugged.open++;
  return 7;
}

static void fake_close(int descriptor) {
  assert_int_equal(descriptor, 7);
  plugged.open--;
}

static int no_more(void) {
  errno = EINVAL;
  return -1;
}

static int count_formats(void) {
  int count = 0;
  while (count < FORMATS_MAX && plugged.device->formats[count].fourcc)
    count++;
  return count;
}

static int find_recorded(uint32_t fourcc) {
  for (int i = 0; i < count_formats(); i++)
    if (!memcmp(&fourcc, plugged.device->formats[i].fourcc, 4))
      return i;
  fail_msg("a format that the device has not told of");
  return -1;
}

static int tell_size(struct v4l2_frmsizeenum *size) {
  const struct recorded *device = plugged.device;
  int format = find_recorded(size->pixel_format);
  if (device->step && !format) {
    size->type = V4L2_FRMSIZE_TYPE_STEPWISE;
    size->stepwise = (struct v4l2_frmsize_stepwise){device->least[0], device->most[0], device->step,
                                                    device->least[1], device->most[1], device->step};
    return size->index ? no_more() : 0;
  }
  if (size->index >= SIZES_MAX || !device->formats[format].sizes[size->index].width)
    return no_more();
  size->type = V4L2_FRMSIZE_TYPE_DISCRETE;
  size->discrete.width = device->formats[format].sizes[size->index].width;
  size->discrete.height = device->formats[format].sizes[size->index].height;
  return 0;
}

static int tell_rate(struct v4l2_frmivalenum *rate) {
  const struct recorded *device = plugged.device;
  int format = find_recorded(rate->pixel_format), i = 0;
  if (device->step && !format) {
    rate->type = V4L2_FRMIVAL_TYPE_CONTINUOUS;
    rate->stepwise.min = (struct v4l2_fract){1, 1000};
    rate->stepwise.max = (struct v4l2_fract){1000, 1};
    return rate->index ? no_more() : 0;
  }
  while (i < SIZES_MAX && (device->formats[format].sizes[i].width != rate->width ||
                           device->formats[format].sizes[i].height != rate->height))
    i++;
  assert_in_range(i, 0, SIZES_MAX - 1);
  double fps = rate->index < RATES_MAX ? device->formats[format].sizes[i].fps[rate->index] : 0;
  if (fps <= 0)
    return no_more();
  rate->type = V4L2_FRMIVAL_TYPE_DISCRETE;
  rate->discrete = (struct v4l2_fract){100, (uint32_t)(fps * 100 + 0.5)};
  return 0;
}

static int fake_ask(int descriptor, unsigned long request, void *argument) {
  const struct recorded *device = plugged.device;
  assert_int_equal(descriptor, 7);
  switch (request) {
  case VIDIOC_QUERYCAP: {
    struct v4l2_capability *about = argument;
    snprintf((char *)about->card, sizeof about->card, "%s", device->card);
    snprintf((char *)about->driver, sizeof about->driver, "%s", device->driver);
    snprintf((char *)about->bus_info, sizeof about->bus_info, "%s", device->bus);
    about->capabilities = device->capabilities;
    about->device_caps = device->device_capabilities;
    return 0;
  }
  case VIDIOC_G_INPUT:
    *(int *)argument = 0;
    return 0;
  case VIDIOC_ENUMINPUT:
    ((struct v4l2_input *)argument)->capabilities = device->input_capabilities;
    ((struct v4l2_input *)argument)->type = V4L2_INPUT_TYPE_CAMERA;
    return 0;
  case VIDIOC_ENUM_FMT: {
    struct v4l2_fmtdesc *format = argument;
    if ((int)format->index >= count_formats())
      return no_more();
    memcpy(&format->pixelformat, device->formats[format->index].fourcc, 4);
    return 0;
  }
  case VIDIOC_ENUM_FRAMESIZES:
    return tell_size(argument);
  case VIDIOC_ENUM_FRAMEINTERVALS:
    return tell_rate(argument);
  default:
    errno = ENOTTY;
    return -1;
  }
}

static const struct camera_calls fake_calls = {fake_open, fake_ask, fake_close};

static void plug(const struct recorded *device, struct camera *camera) {
  plugged.device = device;
  plugged.reason = 0;
  if (platform_look_at_camera(camera, "/dev/video0", &fake_calls))
    fail_msg("%s: %s", device->card, strerror(errno));
  assert_int_equal(plugged.open, 0);
}

static void test_looking(void **state) {
  (void)state;
  struct camera camera;
  plug(&c920, &camera);
  assert_string_equal(camera.path, "/dev/video0");
  assert_string_equal(camera.name, "HD Pro Webcam C920");
  assert_string_equal(camera.driver, "uvcvideo");
  assert_string_equal(camera.place, "usb-0000:00:14.0-2");
  int count = 10 * 7 + 6 + 6 + 4 + 4 + 3 + 2 + 1 + 1 + 3 * 7 + 6 * 7;
  assert_int_equal(camera.mode_count, count);
  const struct camera_mode *first = &camera.modes[0], *last = &camera.modes[count - 1];
  assert_string_equal(first->format, "YUYV");
  assert_true(first->width == 640 && first->width_least == 640 && !first->width_step && first->fps == 30);
  assert_string_equal(last->format, "MJPG");
  assert_true(last->width == 1920 && last->height_least == 1080 && last->fps == 5 && last->fps_least == 5);
  platform_free_camera(&camera);
  plug(&loopback, &camera);
  assert_int_equal(camera.mode_count, 1);
  first = &camera.modes[0];
  assert_true(first->width == 8192 && first->width_least == 2 && first->height_step == 2 && first->fps == 1000 &&
              first->fps_least == 0.001);
  platform_free_camera(&camera);
}

/* Devices without pictures, and devices that may not be opened. */
static void test_no_camera(void **state) {
  (void)state;
  struct camera camera;
  plugged.device = &metadata;
  plugged.reason = 0;
  assert_int_equal(platform_look_at_camera(&camera, "/dev/video1", &fake_calls), -1);
  assert_int_equal(errno, ENOTTY);
  assert_int_equal(plugged.open, 0);
  static const int reasons[] = {ENOENT, EACCES, EBUSY};
  for (int i = 0; i < 3; i++) {
    plugged.reason = reasons[i];
    assert_int_equal(platform_look_at_camera(&camera, "/dev/video1", &fake_calls), -1);
    assert_int_equal(errno, reasons[i]);
  }
  assert_int_equal(platform_look_at_camera(&camera, "/dev/null", NULL), -1);
  assert_int_equal(errno, ENOTTY);
}

static void test_choices(void **state) {
  (void)state;
  static const struct {
    const struct recorded *device;
    struct camera_wish wish;
    const char *wanted, *ffmpeg;
    bool met;
  } cases[] = {
      /* Nothing requested: 1280x720 at 30, in any format. */
      {&c920, {0, 0, 0}, "MJPG 1280x720, 30 fps", "mjpeg", true},
      {&laptop, {0, 0, 0}, "MJPG 1280x720, 30 fps", "mjpeg", true},
      {&card, {0, 0, 0}, "NV12 1920x1080, 29.97 fps", "nv12", true},
      {&loopback, {0, 0, 0}, "YUYV 1280x720, 30 fps", "yuyv422", true},
      /* If several formats fit, the one that is cheapest to decode is chosen. */
      {&c920, {640, 480, 30}, "YUYV 640x480, 30 fps", "yuyv422", true},
      {&c920, {640, 480, 0}, "YUYV 640x480, 30 fps", "yuyv422", true},
      {&card, {1920, 1080, 60}, "NV12 1920x1080, 59.94 fps", "nv12", true},
      /* The frame rate decides which format is chosen. */
      {&c920, {1920, 1080, 0}, "MJPG 1920x1080, 30 fps", "mjpeg", true},
      {&c920, {1920, 1080, 5}, "YUYV 1920x1080, 5 fps", "yuyv422", true},
      {&laptop, {1280, 720, 10}, "YUYV 1280x720, 10 fps", "yuyv422", true},
      {&laptop, {0, 0, 10}, "YUYV 1280x720, 10 fps", "yuyv422", true},
      /* If the request is not available: the next larger size and the next higher rate, otherwise the nearest. */
      {&c920, {1000, 700, 30}, "MJPG 1280x720, 30 fps", "mjpeg", false},
      {&c920, {3840, 2160, 30}, "MJPG 1920x1080, 30 fps", "mjpeg", false},
      {&c920, {3840, 2160, 2}, "YUYV 2304x1296, 2 fps", "yuyv422", false},
      {&laptop, {1920, 1080, 0}, "MJPG 1280x720, 30 fps", "mjpeg", false},
      {&c920, {640, 480, 60}, "YUYV 640x480, 30 fps", "yuyv422", false},
      {&c920, {640, 480, 12}, "YUYV 640x480, 15 fps", "yuyv422", false},
      {&laptop, {1280, 720, 25}, "MJPG 1280x720, 30 fps", "mjpeg", false},
      {&card, {0, 0, 50}, "NV12 1280x720, 50 fps", "nv12", true},
      {&card, {3840, 2160, 60}, "NV12 3840x2160, 29.97 fps", "nv12", false},
      {&loopback, {641, 479, 30}, "YUYV 640x478, 30 fps", "yuyv422", false},
      {&loopback, {640, 480, 2000}, "YUYV 640x480, 1000 fps", "yuyv422", false},
      {&grabber, {640, 480, 0}, "YUYV 720x576, 25 fps", "yuyv422", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct camera camera;
    struct camera_choice choice;
    char words[80];
    plug(cases[i].device, &camera);
    assert_true(camera_choose(&camera, &cases[i].wish, &choice));
    camera_show(&choice, words, sizeof words);
    if (strcmp(words, cases[i].wanted) || strcmp(choice.ffmpeg, cases[i].ffmpeg))
      fail_msg("%s, %dx%d at %g: %s (%s), not %s", camera.name, cases[i].wish.width, cases[i].wish.height,
               cases[i].wish.fps, words, choice.ffmpeg, cases[i].wanted);
    assert_int_equal(camera_meets(&choice, &cases[i].wish), cases[i].met);
    platform_free_camera(&camera);
  }
}

static void test_nothing_to_choose(void **state) {
  (void)state;
  static struct camera_mode strange = {.format = "pGAA", .width = 640, .height = 480};
  struct camera_choice choice;
  const struct camera_wish wish = {0, 0, 0};
  assert_false(camera_choose(&(struct camera){.path = "/dev/video0"}, &wish, &choice));
  assert_false(camera_choose(&(struct camera){.modes = &strange, .mode_count = 1}, &wish, &choice));
}

static void test_mirror(void **state) {
  (void)state;
  static const struct {
    const struct recorded *device;
    bool mirror;
  } cases[] = {{&c920, true}, {&laptop, true}, {&card, false}, {&loopback, false}, {&grabber, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct camera camera;
    plug(cases[i].device, &camera);
    if (camera_is_mirror(&camera) != cases[i].mirror)
      fail_msg("%s %s a mirror", camera.name, cases[i].mirror ? "is no" : "is");
    platform_free_camera(&camera);
  }
}

static int look_at_fakes(struct camera *camera, const char *path, const struct camera_calls *calls) {
  static const struct recorded *const devices[] = {&c920, &metadata, &laptop};
  (void)calls;
  int number = atoi(path + strlen("/dev/video"));
  plugged.reason = number == 3 ? EACCES : number > 3 ? ENOENT : 0;
  plugged.device = number < 3 ? devices[number] : NULL;
  return platform_look_at_camera(camera, path, &fake_calls);
}

static void test_printed(void **state) {
  (void)state;
  static const char *const wanted[] = {
      "  /dev/video0  HD Pro Webcam C920 (uvcvideo, usb-0000:00:14.0-2), mirrored\n"
      "    YUYV  640x480     30 24 20 15 10 7.5 5 fps\n",
      "\n    MJPG  1920x1080   30 24 20 15 10 7.5 5 fps\n    taken: YUYV 640x480, 30 fps, the nearest to what is asked",
      "\n  /dev/video2  Integrated Camera: Integrated C (uvcvideo, usb-0000:00:14.0-8), mirrored\n",
      "\n  /dev/video3: no permission to open it: it is for the group video",
  };
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  camera_print_all(out, look_at_fakes, &(struct camera_wish){640, 480, 60});
  fclose(out);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if (!strstr(text, wanted[i]))
      fail_msg("'%s' is not in:\n%s", wanted[i], text);
  free(text);
}

static int see_nothing(struct camera *camera, const char *path, const struct camera_calls *calls) {
  (void)camera, (void)path, (void)calls;
  errno = ENOENT;
  return -1;
}

static void test_printed_nothing(void **state) {
  (void)state;
  char text[200] = "";
  FILE *out = fmemopen(text, sizeof text, "w");
  camera_print_all(out, see_nothing, &(struct camera_wish){0});
  fclose(out);
  assert_string_equal(text, "  none: there is no /dev/video* that gives pictures\n");
}

static void hear(void *opaque, enum log_level level, const char *text) {
  snprintf(opaque, 200, "%s%s", level == LOG_WARNING ? "warning: " : "", text);
}

/* Tests the options that FFmpeg gets for a camera, and the log lines about them. */
static void test_wishes(void **state) {
  (void)state;
  static const struct {
    struct source_options options;
    const char *own[2], *format, *size, *rate, *said;
  } cases[] = {
      {{0}, {NULL}, "mjpeg", "1280x720", "30.000000", "/dev/video0, HD Pro Webcam C920: MJPG 1280x720, 30 fps"},
      {{.width = 640, .height = 480},
       {NULL},
       "yuyv422",
       "640x480",
       "30.000000",
       "/dev/video0, HD Pro Webcam C920: YUYV 640x480, 30 fps"},
      {{.width = 640, .height = 480, .fps = 50},
       {NULL},
       "yuyv422",
       "640x480",
       "30.000000",
       "warning: /dev/video0, HD Pro Webcam C920: YUYV 640x480, 30 fps, the nearest it has"},
      {{.width = 640, .height = 480}, {"input_format", "h264"}, "h264", NULL, NULL, ""},
      {{.width = 640, .height = 480}, {"pixel_format", "yuyv422"}, NULL, NULL, NULL, ""},
  };
  struct camera camera;
  plug(&c920, &camera);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char said[200] = "";
    const struct log log = {hear, said};
    struct source_options options = cases[i].options;
    AVDictionary *wishes = NULL;
    options.log = &log;
    if (cases[i].own[0])
      av_dict_set(&wishes, cases[i].own[0], cases[i].own[1], 0);
    camera_wishes(&wishes, &camera, &options);
    const char *const wanted[3][2] = {
        {"input_format", cases[i].format}, {"video_size", cases[i].size}, {"framerate", cases[i].rate}};
    for (int j = 0; j < 3; j++) {
      const AVDictionaryEntry *entry = av_dict_get(wishes, wanted[j][0], NULL, 0);
      const char *value = entry ? entry->value : "(none)";
      if (strcmp(value, wanted[j][1] ? wanted[j][1] : "(none)"))
        fail_msg("case %zu: %s is %s", i, wanted[j][0], value);
    }
    av_dict_free(&wishes);
    if (strncmp(said, cases[i].said, strlen(cases[i].said)) || (*said && !*cases[i].said))
      fail_msg("case %zu: said '%s'", i, said);
  }
  platform_free_camera(&camera);
}

static bool note(void *opaque, const struct camera *camera, int reason) {
  char *list = opaque;
  snprintf(list + strlen(list), 200 - strlen(list), "%s %s %d;", camera->path, camera->name, reason == EACCES);
  return true;
}

static void test_list(void **state) {
  (void)state;
  char list[200] = "";
  camera_list(look_at_fakes, note, list);
  assert_string_equal(list, "/dev/video0 HD Pro Webcam C920 0;/dev/video2 Integrated Camera: Integrated C 0;"
                            "/dev/video3  1;");
}
#endif

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    int reason;
    const char *wanted;
  } cases[] = {{EACCES, "group video"},
               {EBUSY, "another program is using it"},
               {ENOENT, "there is no such camera"},
               {ENODEV, "there is no such camera"},
               {ENOTTY, "gives no pictures"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct error err = {0};
    assert_int_equal(camera_refuse("/dev/video78", cases[i].reason, &err), -1);
    assert_int_equal(err.status, STATUS_INPUT);
    if (!strstr(err.message, cases[i].wanted) || !strstr(err.message, "/dev/video78"))
      fail_msg("%s", err.message);
  }
  struct error err = {0};
  assert_int_equal(camera_refuse("/dev/video78", EIO, &err), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#if __has_include(<linux/videodev2.h>)
    cmocka_unit_test(test_looking),
    cmocka_unit_test(test_no_camera),
    cmocka_unit_test(test_choices),
    cmocka_unit_test(test_nothing_to_choose),
    cmocka_unit_test(test_mirror),
    cmocka_unit_test(test_list),
    cmocka_unit_test(test_printed),
    cmocka_unit_test(test_printed_nothing),
    cmocka_unit_test(test_wishes),
#endif
    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
