/* Tests sources: compares decoded frames with the ffmpeg program, and tests damaged files. */
#include "tests/rigs/cmocka_all.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libavutil/log.h>

#include "app/source/pipewire_planes.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/next_frame.h"

static struct source *open_clip(const char *spec, const struct source_options *options) {
  static const struct source_options plain;
  struct source *source;
  struct error err;
  if (source_open(&source, spec, options ? options : &plain, &err))
    fail_msg("%s: %s", spec, err.message);
  return source;
}

static void refuse(const char *spec, const struct source_options *options, enum status status, const char *wanted) {
  static const struct source_options plain;
  struct source *source;
  struct frame frame = {0};
  struct error err = {0};
  int failed = source_open(&source, spec, options ? options : &plain, &err);
  if (!failed)
    failed = next_frame(source, &frame, &err);
  frame_release(&frame);
  source_close(&source);
  if (failed >= 0)
    fail_msg("%s was opened", spec);
  assert_int_equal(err.status, status);
  assert_null(strchr(err.message, '\n'));
  if (!strstr(err.message, wanted))
    fail_msg("'%s' is not in '%s'", wanted, err.message);
}

static long count_frames(const char *spec, const struct source_options *options, struct source_info *info) {
  struct source *source = open_clip(spec, options);
  struct frame frame = {0};
  struct error err;
  long count = 0;
  int got;
  while ((got = next_frame(source, &frame, &err)) > 0)
    assert_int_equal(frame.serial, count++);
  if (got < 0)
    fail_msg("%s: %s", spec, err.message);
  if (info)
    source_get_info(source, info);
  frame_release(&frame);
  source_close(&source);
  return count;
}

/* Returns the planes of all frames without padding, as the ffmpeg program writes rawvideo. */
static uint8_t *read_pixels(const char *name, const struct source_options *options, enum pixel_format *format,
                            size_t *size) {
  struct source *source = open_clip(clip(name), options);
  struct frame frame = {0};
  struct error err;
  uint8_t *pixels = NULL;
  int got;
  *size = 0;
  while ((got = next_frame(source, &frame, &err)) > 0) {
    *format = frame.format;
    for (int plane = 0; plane < frame_planes(frame.format); plane++) {
      size_t bytes = (size_t)frame_row_bytes(frame.format, plane, frame.width);
      size_t rows = (size_t)frame_rows(frame.format, plane, frame.height);
      pixels = realloc(pixels, *size + bytes * rows);
      assert_non_null(pixels);
      for (size_t y = 0; y < rows; y++, *size += bytes)
        memcpy(pixels + *size, frame.plane[plane] + (ptrdiff_t)y * frame.pitch[plane], bytes);
    }
  }
  assert_int_equal(got, 0);
  frame_release(&frame);
  source_close(&source);
  return pixels;
}

/* A pixel format of FFmpeg, the format that the source should convert it to, and the largest mean difference of bytes
 * (of 16-bit samples the upper ones) from what the ffmpeg program makes in the format `as`. */
struct format_case {
  const char *ffmpeg, *as;
  enum pixel_format ours;
  double limit;
};

static void compare_pixels(const char *name, const struct source_options *options, const char *input_arguments,
                           const struct format_case *wanted) {
  enum pixel_format format = PIXEL_FORMATS;
  size_t size, reference_size, step = wanted->ours == PIXEL_P010 && wanted->limit > 0 ? 2 : 1;
  uint8_t *pixels = read_pixels(name, options, &format, &size);
  uint8_t *reference =
      shell_output(&reference_size, "ffmpeg -nostdin -v error %s -i %s -pix_fmt %s -f rawvideo -fps_mode passthrough -",
                   input_arguments, name, wanted->as);
  if (format != wanted->ours || size != reference_size)
    fail_msg("%s: %s, %zu bytes instead of %s, %zu bytes", name, frame_format_name(format), size,
             frame_format_name(wanted->ours), reference_size);
  double sum = 0;
  for (size_t i = step - 1; i < size; i += step)
    sum += abs(pixels[i] - reference[i]);
  if (sum * (double)step > wanted->limit * (double)size)
    fail_msg("%s: mean difference %g, allowed %g", name, sum * (double)step / (double)size, wanted->limit);
  free(pixels);
  free(reference);
}

static void test_formats_read_directly(void **state) {
  (void)state;
  static const struct format_case formats[] = {
      {"nv12", "nv12", PIXEL_NV12, 0},       {"yuv420p", "yuv420p", PIXEL_YUV420P, 0},
      {"yuyv422", "yuyv422", PIXEL_YUYV, 0}, {"p010le", "p010le", PIXEL_P010, 0},
      {"bgra", "bgra", PIXEL_BGRA, 0},       {"rgba", "rgba", PIXEL_RGBA, 0},
  };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    char name[32], arguments[128], key_values[128];
    /* An odd size where the format allows it; no container can hold all of these formats. */
    const char *size = formats[i].ours == PIXEL_YUYV ? "98x51" : "97x51";
    snprintf(name, sizeof name, "%s.raw", formats[i].ffmpeg);
    snprintf(arguments, sizeof arguments, "-f rawvideo -pixel_format %s -video_size %s", formats[i].ffmpeg, size);
    snprintf(key_values, sizeof key_values, "pixel_format=%s:video_size=%s", formats[i].ffmpeg, size);
    shell(FFMPEG "-f lavfi -i testsrc2=s=128x64:r=10 -frames:v 3 -s %s -f rawvideo -pix_fmt %s %s", size,
          formats[i].ffmpeg, name);
    const struct source_options options = {.input_format = "rawvideo", .input_options = key_values};
    compare_pixels(name, &options, arguments, &formats[i]);
  }
}

static void test_formats_converted(void **state) {
  (void)state;
  static const struct format_case formats[] = {
      {"yuv444p", "yuv420p", PIXEL_YUV420P, 1}, {"yuv422p", "yuv420p", PIXEL_YUV420P, 1},
      {"gray", "yuvj420p", PIXEL_YUV420P, 1},   {"yuv420p10le", "yuv420p", PIXEL_YUV420P, 1},
      {"yuv420p10le", "p010le", PIXEL_P010, 1}, {"yuv422p10le", "p010le", PIXEL_P010, 1},
      {"rgb24", "rgba", PIXEL_RGBA, 1},         {"gbrp", "rgba", PIXEL_RGBA, 1},
      {"pal8", "rgba", PIXEL_RGBA, 1},
  };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    char name[32];
    snprintf(name, sizeof name, "from-%s.nut", formats[i].ffmpeg);
    const char *size = formats[i].ours == PIXEL_P010 ? "98x52" : "97x51";
    shell(FFMPEG "-f lavfi -i testsrc2=s=128x64:r=10 -frames:v 2 -s %s -c:v rawvideo -pix_fmt %s %s", size,
          formats[i].ffmpeg, name);
    compare_pixels(name, NULL, "", &formats[i]);
  }
}

static void test_color_tags(void **state) {
  (void)state;
  static const struct {
    const char *size, *tags;
    enum color_matrix matrix;
    enum color_range range;
  } clips[] = {
      {"64x64", "", MATRIX_BT601, RANGE_LIMITED},
      {"1280x64", "", MATRIX_BT709, RANGE_LIMITED},
      {"64x64", "-colorspace bt709 -color_range pc", MATRIX_BT709, RANGE_FULL},
      {"1280x64", "-colorspace smpte170m -color_range tv", MATRIX_BT601, RANGE_LIMITED},
      {"64x64", "-colorspace bt2020nc", MATRIX_BT2020, RANGE_LIMITED},
  };
  for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
    struct frame frame = {0};
    struct error err;
    shell(FFMPEG "-f lavfi -i color=c=red:s=%s -frames:v 1 -c:v ffv1 -pix_fmt yuv420p %s tags.mkv", clips[i].size,
          clips[i].tags);
    struct source *source = open_clip(clip("tags.mkv"), NULL);
    assert_int_equal(next_frame(source, &frame, &err), 1);
    assert_int_equal(frame.matrix, clips[i].matrix);
    assert_int_equal(frame.range, clips[i].range);
    frame_release(&frame);
    source_close(&source);
  }
}

/* Rotated clips compared with the ffmpeg program, which rotates them itself. */
static void test_rotation(void **state) {
  (void)state;
  static const int angles[] = {90, 180, 270};
  shell(FFMPEG "-f lavfi -i testsrc2=s=98x50:r=10 -frames:v 2 -c:v libx264 -qp 0 -pix_fmt yuv420p upright.mp4");
  for (int i = 0; i < 3; i++) {
    char name[32];
    struct source_info info;
    snprintf(name, sizeof name, "turned%d.mp4", angles[i]);
    shell(FFMPEG "-i upright.mp4 -c copy -metadata:s:v:0 rotate=%d %s", angles[i], name);
    compare_pixels(name, NULL, "", &(struct format_case){"", "yuv420p", PIXEL_YUV420P, 0});
    assert_int_equal(count_frames(clip(name), NULL, &info), 2);
    assert_int_equal(info.width, angles[i] == 180 ? 98 : 50);
    assert_int_equal(info.height, angles[i] == 180 ? 50 : 98);
  }
}

/* Frames 0 to 39 with uneven times, B-frames and sound: every time stamp equals ffprobe's. */
static void test_uneven_timestamps(void **state) {
  (void)state;
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x48:r=30:d=2 -f lavfi -i sine=d=2 "
        "-vf \"select='not(eq(mod(n\\,7)\\,3))',setpts='PTS+if(gt(N\\,20)\\,0.37\\,0)/TB'\" -fps_mode passthrough "
        "-c:v libx264 -bf 3 -c:a aac vfr.mp4");
  char *listed = (char *)shell_output(NULL, "ffprobe -v error -select_streams v -show_entries frame=pts -of csv=p=0 "
                                            "vfr.mp4");
  struct source *source = open_clip(clip("vfr.mp4"), NULL);
  struct frame frame = {0};
  struct error err;
  int frames = 0;
  for (char *line = strtok(listed, "\n"); line; line = strtok(NULL, "\n"), frames++) {
    assert_int_equal(next_frame(source, &frame, &err), 1);
    assert_int_equal(frame.pts, strtoll(line, NULL, 10));
    assert_int_equal(frame.serial, frames);
  }
  assert_true(frames > 40);
  assert_int_equal(next_frame(source, &frame, &err), 0);
  frame_release(&frame);
  source_close(&source);
  free(listed);
}

/* One wrong time stamp in a stream with B-frames: its frame gets a time between its neighbours, and the others keep
 * theirs. */
static void test_wild_timestamp(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=2 -c:v libx264 -bf 2 tame.mkv; " FFMPEG
               "-i tame.mkv -c copy -bsf:v setts=pts='if(eq(N\\,15)\\,8600\\,PTS)' wild.mkv");
  struct source *tame = open_clip(clip("tame.mkv"), NULL), *wild = open_clip(clip("wild.mkv"), NULL);
  struct frame right = {0}, given = {0};
  struct error err;
  for (int i = 0; i < 50; i++) {
    assert_int_equal(next_frame(tame, &right, &err), 1);
    assert_int_equal(next_frame(wild, &given, &err), 1);
    assert_int_equal(given.pts, right.pts);
  }
  assert_int_equal(next_frame(wild, &given, &err), 0);
  frame_release(&right);
  source_close(&tame);
  frame_release(&given);
  source_close(&wild);
  assert_int_equal(count_frames(clip("wild.mkv"), &(struct source_options){.duration = 1}, NULL), 25);
}

static void test_info(void **state) {
  (void)state;
  struct source_info info;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 info.mp4");
  assert_int_equal(count_frames(clip("info.mp4"), NULL, &info), 25);
  assert_true(info.width == 64 && info.height == 48 && info.frames == 25 && !info.realtime && info.damaged == 0);
  assert_true(info.fps == 25 && info.duration == 1 && info.shape == 64.0 / 48);
  assert_non_null(strstr(info.description, "info.mp4: h264 64x48, 25 fps"));
  shell(FFMPEG "-ss 0.5 -i info.mp4 -c copy edited.mp4"); /* cut in the middle of a group of pictures */
  long shown = count_frames(clip("edited.mp4"), NULL, &info);
  assert_in_range(shown, 12, 13);
  assert_int_equal(info.frames, shown);
}

/* Pixels that are not square: the first frame has their shape, and so does the source's description before it. */
static void test_shape(void **state) {
  (void)state;
  static const struct {
    const char *sar, *arguments;
    float aspect;
  } cases[] = {{"64/45", "", 64.0f / 45}, {"8/9", "", 8.0f / 9}, {"1/1", "", 1},
               {"100/1", "", 1},          {"0/1", "", 1},        {"4/3", "-metadata:s:v:0 rotate=90", 0.75f}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shell(FFMPEG "-f lavfi -i testsrc2=s=72x64:r=25:d=0.2,setsar=%s -c:v libx264 stored.mp4", cases[i].sar);
    shell(FFMPEG "-i stored.mp4 -c copy %s shape.mp4", cases[i].arguments);
    struct source *source = open_clip(clip("shape.mp4"), NULL);
    struct source_info info;
    struct frame frame = {0};
    struct error err;
    source_get_info(source, &info);
    assert_int_equal(next_frame(source, &frame, &err), 1);
    assert_float_equal(frame.sample_aspect, cases[i].aspect, 1e-6);
    assert_float_equal(info.shape, cases[i].aspect * (float)frame.width / (float)frame.height, 1e-5);
    frame_release(&frame);
    source_close(&source);
  }
}

/* A sequence with any first number, at the requested rate. */
static void test_picture_sequence(void **state) {
  (void)state;
  struct source_info info;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -start_number 4711 frame-%%06d.png");
  assert_int_equal(count_frames(clip("frame-%06d.png"), NULL, &info), 5);
  assert_true(info.fps == 25 && info.shape == 64.0 / 48);
  assert_int_equal(count_frames(clip("frame-%06d.png"), &(struct source_options){.fps = 10}, &info), 5);
  assert_true(info.fps == 10 && info.duration > 0.499 && info.duration < 0.501);
  const struct source_options later = {.input_options = "start_number=4713:framerate=5"};
  assert_int_equal(count_frames(clip("frame-%06d.png"), &later, &info), 3);
  assert_true(info.fps == 5);
  refuse(clip("picture-%06d.png"), NULL, STATUS_INPUT, "No such file");
}

static void test_parts_and_loops(void **state) {
  (void)state;
  struct source_info info;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=20:d=3 -c:v libx264 -g 20 -bf 2 parts.mp4");
  assert_int_equal(count_frames(clip("parts.mp4"), &(struct source_options){.start = 1.25}, NULL), 35);
  assert_int_equal(count_frames(clip("parts.mp4"), &(struct source_options){.duration = 0.5}, &info), 10);
  assert_int_equal(info.frames, 10);
  assert_int_equal(count_frames(clip("parts.mp4"), &(struct source_options){.start = 2.5, .duration = 9}, NULL), 10);
  struct source *source = open_clip(clip("parts.mp4"), &(struct source_options){.start = 1.25});
  struct frame frame = {0};
  struct error err;
  assert_int_equal(next_frame(source, &frame, &err), 1);
  assert_int_equal(frame.pts, 0);
  frame_release(&frame);
  source_close(&source);
  refuse(clip("parts.mp4"), &(struct source_options){.start = 30}, STATUS_INPUT, "after --start");

  source = open_clip(clip("parts.mp4"), &(struct source_options){.loop = true, .live = true});
  int64_t last = -1, step = 0;
  for (int i = 0; i < 150; i++) {
    assert_int_equal(next_frame(source, &frame, &err), 1);
    assert_true(frame.pts > last);
    if (i > 1)
      assert_int_equal(frame.pts - last, step);
    step = frame.pts - last;
    last = frame.pts;
    assert_int_equal(frame.serial, i);
  }
  frame_release(&frame);
  source_close(&source);
}

/* A part that is played in a loop begins at its start each time, not at the key frame before it. */
static void test_loop_of_a_part(void **state) {
  (void)state;
  enum { FIRST = 25, COUNT = 10 };
  const struct source_options part = {.loop = true, .start = 1.25, .duration = 0.5};
  shell(FFMPEG "-f lavfi -i color=black:s=32x32:r=20,format=yuv420p,geq=lum='16+4*N':cb=128:cr=128 -frames:v 40 -c:v "
               "libx264 -qp 0 -g 20 -bf 0 grey.mp4");
  struct source *source = open_clip(clip("grey.mp4"), &part);
  struct frame frame = {0};
  struct error err;
  for (int i = 0; i < 3 * COUNT; i++) {
    assert_int_equal(next_frame(source, &frame, &err), 1);
    assert_int_equal((frame.plane[0][0] - 16) / 4, FIRST + i % COUNT);
  }
  frame_release(&frame);
  source_close(&source);
}

/* Frames that were read to analyse a file are delivered, too. */
static void test_live_takes_all(void **state) {
  (void)state;
  const struct source_options live = {.live = true};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 short.mp4");
  shell(FFMPEG "-i short.mp4 short.gif; " FFMPEG "-i short.mp4 -frames:v 1 short.png");
  assert_int_equal(count_frames(clip("short.mp4"), &live, NULL), 25);
  assert_int_equal(count_frames(clip("short.gif"), &live, NULL), 25);
  assert_int_equal(count_frames(clip("short.png"), &live, NULL), 1);
}

/* MPEG streams have no index, and a seek may land after the key frame that is needed. */
static void test_streams_without_index(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=3 -c:v mpeg2video -g 12 short.ts; " FFMPEG
               "-i short.ts -c copy short.mpg; " FFMPEG
               "-f lavfi -i testsrc2=s=64x48:r=25:d=30 -c:v libx264 -g 1000 -sc_threshold 0 long.ts");
  static const char *const names[] = {"short.ts", "short.mpg"};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(count_frames(clip(names[i]), NULL, NULL), 75);
    assert_int_equal(count_frames(clip(names[i]), &(struct source_options){.start = 1}, NULL), 50);
    assert_int_equal(count_frames(clip(names[i]), &(struct source_options){.start = 0.04}, NULL), 74);
    struct source *source = open_clip(clip(names[i]), &(struct source_options){.loop = true, .live = true});
    struct frame frame = {0};
    struct error err;
    int64_t last = 0;
    for (int j = 0; j < 200; j++) {
      assert_int_equal(next_frame(source, &frame, &err), 1);
      if (j)
        /* 1/25 s in ticks of 90 kHz: no frame is missing where the clip starts again */
        assert_int_equal(frame.pts - last, 3600);
      last = frame.pts;
    }
    frame_release(&frame);
    source_close(&source);
  }
  assert_int_equal(count_frames(clip("long.ts"), &(struct source_options){.start = 1}, NULL), 725);
  assert_int_equal(count_frames(clip("long.ts"), &(struct source_options){.start = 20}, NULL), 250);
}

/* --start counts from the file's first time stamp. */
static void test_start_of_late_clip(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=3 -c:v libx264 -g 10 -output_ts_offset 10 late.mkv");
  assert_int_equal(count_frames(clip("late.mkv"), &(struct source_options){.start = 1}, NULL), 50);
  struct source *source = open_clip(clip("late.mkv"), NULL);
  struct frame frame = {0};
  struct error err;
  assert_int_equal(next_frame(source, &frame, &err), 1);
  assert_int_equal(frame.pts, 10000);
  frame_release(&frame);
  source_close(&source);
}

static atomic_bool pipe_stop;

static void *stop_soon(void *opaque) {
  (void)opaque;
  usleep(300000);
  atomic_store(&pipe_stop, true);
  return NULL;
}

/* A pipe is read like a file, cannot start again, and can be interrupted while nobody writes. */
static void test_pipe(void **state) {
  (void)state;
  shell("mkfifo pipe");
  shell(FFMPEG "-i short.mp4 -c copy -f matroska - >pipe &");
  assert_int_equal(count_frames(clip("pipe"), &(struct source_options){.loop = true}, NULL), 25);

  struct source *source;
  struct error err = {0};
  pthread_t thread;
  int keep_open = open(clip("pipe"), O_RDWR);
  assert_true(keep_open >= 0);
  assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
  assert_int_equal(source_open(&source, clip("pipe"), &(struct source_options){.stop = &pipe_stop}, &err), -1);
  pthread_join(thread, NULL);
  close(keep_open);
}

static void test_bad_input(void **state) {
  (void)state;
  shell("printf '' >empty.mp4; mkdir -p folder.mp4; echo 'no video at all' >text.mkv");
  clip_random_bytes("random.mp4", 100000);
  clip_random_bytes("random.bin", 100000);
  shell(FFMPEG "-f lavfi -i sine=d=1 -c:a pcm_s16le sound.wav");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 whole.mp4");
  shell("head -c 2000 whole.mp4 >no-index.mp4");
  refuse(clip("missing.mp4"), NULL, STATUS_INPUT, "No such file");
  refuse(clip("empty.mp4"), NULL, STATUS_INPUT, "empty.mp4");
  refuse("x11grab::4091.0+100,100", NULL, STATUS_INPUT, "no X server answers there");
  refuse(":4091.0", NULL, STATUS_INPUT, "no X server answers there");
  refuse(clip("folder.mp4"), NULL, STATUS_INPUT, "folder.mp4");
  refuse(clip("text.mkv"), NULL, STATUS_INPUT, "text.mkv");
  refuse(clip("random.mp4"), NULL, STATUS_INPUT, "random.mp4");
  refuse(clip("random.bin"), NULL, STATUS_INPUT, "random.bin");
  refuse(clip("sound.wav"), NULL, STATUS_INPUT, "no video");
  refuse(clip("no-index.mp4"), NULL, STATUS_INPUT, "no-index.mp4");
  refuse("/dev/video63", NULL, STATUS_INPUT, "/dev/video63");
  refuse("lavfi:nonsense=1", NULL, STATUS_INPUT, "lavfi");
  refuse("pattern:0x0", NULL, STATUS_INPUT, "pattern");
  refuse("pattern:99999x16", NULL, STATUS_INPUT, "pattern");
  refuse(clip("whole.mp4"), &(struct source_options){.input_format = "nonsense"}, STATUS_USAGE, "nonsense");
  refuse(clip("whole.mp4"), &(struct source_options){.input_options = "nonsense=1"}, STATUS_USAGE, "nonsense");
  refuse(clip("whole.mp4"), &(struct source_options){.input_options = "=="}, STATUS_USAGE, "KEY=VALUE");
}

/* Wrong bytes in the middle lose at most the frames around them. */
static void test_damage(void **state) {
  (void)state;
  struct source_info info;
  shell(FFMPEG "-f lavfi -i testsrc2=s=160x120:r=25:d=4 -c:v libx264 -g 10 damage.mkv");
  FILE *file = fopen(clip("damage.mkv"), "r+b");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  for (int i = 0; i < 30; i++) {
    fseek(file, size / 4 + i * size / 60, SEEK_SET);
    fwrite("damaged!", 1, 8, file);
  }
  fclose(file);
  long frames = count_frames(clip("damage.mkv"), NULL, &info);
  assert_in_range(frames, 50, 101);
  assert_true(info.damaged > 0);
}

static void test_lavfi(void **state) {
  (void)state;
  struct source_info info;
  assert_int_equal(count_frames("lavfi:testsrc2=s=66x34:r=12:d=1", NULL, &info), 12);
  assert_true(info.width == 66 && info.height == 34 && !info.realtime && info.fps == 12);
  struct source_options seconds = {.duration = 0.5};
  assert_int_equal(count_frames("lavfi:testsrc2=s=66x34:r=12", &seconds, NULL), 6);
  /* A source with its own pace may begin at any time stamp: its first frame has time 0. */
  struct source *source = open_clip("lavfi:testsrc2=s=66x34:r=50,setpts=PTS+1000000,realtime", &seconds);
  struct frame frame = {0};
  struct error err;
  assert_int_equal(next_frame(source, &frame, &err), 1);
  assert_int_equal(frame.pts, 0);
  assert_int_equal(next_frame(source, &frame, &err), 1);
  assert_int_equal(frame.pts, 1);
  source_get_info(source, &info);
  assert_true(info.realtime);
  frame_release(&frame);
  source_close(&source);
}

static void *interrupt_soon(void *source) {
  nanosleep(&(struct timespec){0, 100000000}, NULL);
  source_interrupt(source);
  return NULL;
}

/* A read that waits for the next frame of a source with one in 15 minutes is interrupted. */
static void test_interrupt(void **state) {
  (void)state;
  atomic_bool stop;
  struct source_options options = {.live = true, .fps = 0.001, .stop = &stop};
  struct frame frame = {0};
  struct error err;
  for (int by_flag = 0; by_flag < 2; by_flag++) {
    atomic_init(&stop, false);
    struct source *source = open_clip("pattern:64x48", &options);
    pthread_t thread;
    assert_int_equal(next_frame(source, &frame, &err), 1);
    if (by_flag)
      atomic_store(&stop, true);
    else
      pthread_create(&thread, NULL, interrupt_soon, source);
    assert_int_equal(next_frame(source, &frame, &err), 0);
    assert_true(source_interrupted(source));
    if (!by_flag)
      pthread_join(thread, NULL);
    frame_release(&frame);
    source_close(&source);
  }
}

/* --- buffers of PipeWire --- */

/* The planes of a picture of 5x3 pixels, with exactly the bytes that they need. */
static void test_planes_of_odd_rows(void **state) {
  (void)state;
  static const struct {
    enum pixel_format format;
    int stride;
    size_t bytes;
    int pitch;
  } cases[] = {
      {PIXEL_YUV420P, 5, 3 * 5 + 2 * 2 * 3, 3}, {PIXEL_YUV420P, 0, 3 * 5 + 2 * 2 * 3, 3},
      {PIXEL_YUV420P, 7, 3 * 7 + 2 * 2 * 4, 4}, {PIXEL_YUV420P, 8, 3 * 8 + 2 * 2 * 4, 4},
      {PIXEL_NV12, 5, 3 * 5 + 2 * 6, 6},        {PIXEL_NV12, 8, 3 * 8 + 2 * 8, 8},
  };
  static const uint8_t memory[64];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct frame frame = {.format = cases[i].format, .width = 5, .height = 3};
    int last = frame_planes(frame.format) - 1;
    assert_true(pipewire_planes(&frame, memory, 2 + cases[i].bytes, 2, cases[i].stride));
    assert_int_equal(frame.pitch[last], cases[i].pitch);
    assert_ptr_equal(frame.plane[0], memory + 2);
    assert_ptr_equal(frame.plane[last] + 2 * cases[i].pitch, memory + 2 + cases[i].bytes);
    assert_false(pipewire_planes(&frame, memory, 1 + cases[i].bytes, 2, cases[i].stride));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_planes_of_odd_rows),
      cmocka_unit_test(test_formats_read_directly),
      cmocka_unit_test(test_formats_converted),
      cmocka_unit_test(test_color_tags),
      cmocka_unit_test(test_rotation),
      cmocka_unit_test(test_uneven_timestamps),
      cmocka_unit_test(test_wild_timestamp),
      cmocka_unit_test(test_info),
      cmocka_unit_test(test_shape),
      cmocka_unit_test(test_picture_sequence),
      cmocka_unit_test(test_parts_and_loops),
      cmocka_unit_test(test_loop_of_a_part),
      cmocka_unit_test(test_live_takes_all),
      cmocka_unit_test(test_streams_without_index),
      cmocka_unit_test(test_start_of_late_clip),
      cmocka_unit_test(test_pipe),
      cmocka_unit_test(test_bad_input),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_lavfi),
      cmocka_unit_test(test_interrupt),
  };
  av_log_set_level(AV_LOG_QUIET);
  if (!clips_open())
    return 77;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
