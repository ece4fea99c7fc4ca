/* Tests how inputs end: complete, cut short, truncated while they are read, or with a read error. */
#include "tests/rigs/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <libavutil/log.h>

#include "app/source/source.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/next_frame.h"

/* --- a disk with an unreadable place: FFmpeg's calls of read come here --- */

static struct {
  bool on;
  dev_t device;
  ino_t file;
  off_t from, to;
} bad_place;

static void spoil(const char *name, off_t from, off_t to) {
  struct stat file;
  assert_int_equal(stat(clip(name), &file), 0);
  bad_place.device = file.st_dev;
  bad_place.file = file.st_ino;
  bad_place.from = from;
  bad_place.to = to;
  bad_place.on = true;
}

ssize_t read(int fd, void *buffer, size_t size) {
  struct stat file;
  if (bad_place.on && !fstat(fd, &file) && file.st_ino == bad_place.file && file.st_dev == bad_place.device) {
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < bad_place.to && at + (off_t)size > bad_place.from) {
      errno = EIO;
      return -1;
    }
  }
  return syscall(SYS_read, fd, buffer, size);
}

/* --- the result of reading an input --- */

struct end {
  long frames;
  bool failed;
  struct error err;
};

static void add_line(void *opaque, enum log_level level, const char *text) {
  if (level == LOG_WARNING)
    strncat((char *)opaque, text, 999 - strlen((char *)opaque));
}

/* Reads to the end. at: number of the frame at which the file of this name is truncated to half its size; 0: never. */
static struct end read_all(const char *name, struct source_options options, long at) {
  char said[1000] = "";
  const struct log log = {add_line, said};
  struct end end = {0};
  struct source *source;
  struct frame frame = {0};
  struct stat file;
  options.log = &log;
  if (source_open(&source, clip(name), &options, &end.err))
    fail_msg("%s", end.err.message);
  int got;
  while ((got = next_frame(source, &frame, &end.err)) > 0)
    if (++end.frames == at) {
      assert_int_equal(stat(clip(name), &file), 0);
      assert_int_equal(truncate(clip(name), file.st_size / 2), 0);
    }
  end.failed = got < 0;
  if (end.failed)
    assert_int_equal(end.err.status, STATUS_INPUT);
  else if (*said)
    fail_msg("%s: %s", name, said);
  frame_release(&frame);
  source_close(&source);
  return end;
}

static void expect_failure(const char *name, const struct end *end, const char *wanted) {
  if (!end->failed || !strstr(end->err.message, wanted) || strchr(end->err.message, '\n'))
    fail_msg("%s: %ld frames, %s, not '%s'", name, end->frames, end->failed ? end->err.message : "no error", wanted);
}

/* --- the tests --- */

static const struct {
  const char *name, *arguments;
  long frames;
} whole[] = {
    {"a.mp4", "-i clip.mkv -c copy", 50},
    {"a.mov", "-i clip.mkv -c copy", 50},
    {"copy.mkv", "-i clip.mkv -c copy", 50},
    {"a.webm", "-i clip.mkv -c:v libvpx -deadline realtime -cpu-used 8 -c:a libopus", 50},
    {"a.ts", "-i clip.mkv -c copy", 50},
    {"blu.m2ts", "-i clip.mkv -c copy -mpegts_m2ts_mode 1", 50},
    {"a.mpg", "-i clip.mkv -c:v mpeg2video -c:a mp2", 50},
    {"a.avi", "-i clip.mkv -c:v mpeg4 -bf 2 -c:a mp3", 50},
    {"copy.avi", "-i a.avi -c copy", 50},
    {"a.flv", "-i clip.mkv -c copy", 50},
    {"a.wmv", "-i clip.mkv -c:v wmv2 -c:a wmav2", 50},
    {"a.mxf", "-i clip.mkv -c:v mpeg2video -c:a pcm_s16le -ar 48000", 50},
    {"a.nut", "-i clip.mkv -c copy", 50},
    {"a.gif", "-i clip.mkv", 50},
    {"a.y4m", "-i clip.mkv", 50},
    {"a.ivf", "-i clip.mkv -an -c:v libvpx -deadline realtime -cpu-used 8", 50},
    {"a.m2v", "-i clip.mkv -an -c:v mpeg2video", 50},
    {"a.h264", "-i clip.mkv -an -c copy", 50},
    {"f%03d.png", "-i clip.mkv -frames:v 6", 6},
    {"edit.mp4", "-ss 0.9 -i clip.mkv -c copy", 0},
    {"fragments.mp4", "-i clip.mkv -c copy -movflags frag_keyframe+empty_moov", 50},
    {"sidx.mp4", "-i clip.mkv -c copy -movflags dash+global_sidx", 50},
    {"late.mkv", "-i clip.mkv -c copy -output_ts_offset 10", 50},
    {"list.m3u8", "-i clip.mkv -c copy -hls_time 0.5", 50},
    {"uneven.mp4",
     "-i clip.mkv -vf \"select='not(eq(mod(n\\,7)\\,3))',setpts='PTS+if(gt(N\\,20)\\,0.37\\,0)/TB'\" "
     "-an -bf 3",
     43},
    {"uneven.mkv", "-i uneven.mp4 -c copy", 43},
    {"slides.mkv", "-i clip.mkv -an -vf \"select='not(mod(n\\,17))'\"", 3},
    {"slow.mkv", "-f lavfi -i testsrc2=s=64x48:r=0.2:d=10", 2},
    {"long.mp4", "-i clip.mkv -f lavfi -i sine=d=4 -map 0:v -map 1 -c:v copy -c:a aac", 50},
    {"long.mkv", "-i long.mp4 -c copy", 50},
    {"long.ts", "-i long.mp4 -c copy", 50},
    {"long.avi", "-i a.avi -f lavfi -i sine=d=4 -map 0:v -map 1 -c:v copy -c:a mp3", 50},
    {"long.flv", "-i long.mp4 -c copy", 50},
    {"short.mkv", "-i clip.mkv -t 0.5 -i clip.mkv -map 0:v -map 1:a -c copy", 50},
};

/* Complete files give no message and no failure. */
static void test_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    shell(FFMPEG "%s -fps_mode passthrough %s", whole[i].arguments, whole[i].name);
    struct end end = read_all(whole[i].name, (struct source_options){0}, 0);
    if (end.failed || (whole[i].frames && end.frames != whole[i].frames))
      fail_msg("%s: %ld frames; %s", whole[i].name, end.frames, end.failed ? end.err.message : "no error");
  }
  shell(FFMPEG "-i clip.mkv -c copy -f matroska - | cat >piped.mkv");
  assert_false(read_all("piped.mkv", (struct source_options){0}, 0).failed);
}

/* Half of a file, for containers that tell how much there should be: a message has both numbers. */
static void test_half(void **state) {
  (void)state;
  static const struct {
    const char *name, *wanted;
  } cases[] = {{"front.mp4", "index names 50 frames, and 2"},
               {"front.mov", "index names 50 frames, and 2"},
               {"sidx.mp4", "header names 2.00 s, and "},
               {"copy.mkv", "header names 2.0"},
               {"long.mkv", "header names 4.0"},
               {"a.webm", "header names 2."},
               {"a.ts", "of its last packet's 188 bytes 7 are there"},
               {"blu.m2ts", "of its last packet's 192 bytes 7 are there"},
               {"copy.avi", "header names 5"},
               {"a.flv", "header names 2."},
               {"a.mxf", "header names 2.00 s, and "}};
  for (int i = 0; i < 2; i++)
    shell(FFMPEG "-i clip.mkv -c copy -movflags faststart %s", cases[i].name);
  shell("mkfifo through");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *name = cases[i].name;
    const char *cut = strrchr(name, '.') + 1;
    int packet = strcmp(cut, "ts") ? 192 : 188;
    shell("size=$(stat -c %%s %s) && head -c $((size / 2 / %d * %d + 7)) %s >half.%s", name, packet, packet, name, cut);
    char half[32];
    snprintf(half, sizeof half, "half.%s", cut);
    struct end end = read_all(half, (struct source_options){0}, 0);
    expect_failure(half, &end, cases[i].wanted);
    assert_in_range(end.frames, 15, 45);
    if (strcmp(name, "sidx.mp4")) { /* this file's index of fragments can only be read by seeking */
      shell("cat half.%s >through &", cut);
      struct end piped = read_all("through", (struct source_options){0}, 0);
      expect_failure("through", &piped, cases[i].wanted);
      assert_int_equal(piped.frames, end.frames);
    }
  }
}

/* A part of a file that was cut may still be complete. */
static void test_parts(void **state) {
  (void)state;
  shell("size=$(stat -c %%s front.mp4) && head -c $((size * 3 / 4)) front.mp4 >most.mp4");
  struct end end = read_all("most.mp4", (struct source_options){.duration = 0.4}, 0);
  assert_true(!end.failed && end.frames == 10);
  end = read_all("most.mp4", (struct source_options){.start = 0.5, .duration = 0.4}, 0);
  assert_true(!end.failed && end.frames == 10);
  end = read_all("most.mp4", (struct source_options){.start = 0.5}, 0);
  expect_failure("most.mp4", &end, "index names 50 frames, and 3");
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    /* a.h264 has no times, and those of late.mkv begin after the part's end */
    if (whole[i].frames == 50 && strcmp(whole[i].name, "a.h264") && strcmp(whole[i].name, "late.mkv")) {
      end = read_all(whole[i].name, (struct source_options){.start = 1}, 0);
      if (!end.failed)
        end = read_all(whole[i].name, (struct source_options){.duration = 1}, 0);
      if (end.failed)
        fail_msg("%s: %s", whole[i].name, end.err.message);
    }
}

static void test_cut_while_read(void **state) {
  (void)state;
  static const char *const names[] = {"big.ts", "big.mkv", "big.mpg", "big.mp4", "big.nut"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=320x240:r=25:d=4 -c:v mpeg2video -q:v 2 big.ts");
  for (int i = 0; i < 5; i++) {
    if (i)
      shell(FFMPEG "-i big.ts -c copy %s", names[i]);
    struct end end = read_all(names[i], (struct source_options){0}, 20);
    expect_failure(names[i], &end, "cut short");
    assert_in_range(end.frames, 25, 75);
  }
}

/* A read error at the beginning, in the middle, or at the last byte: everything before it is delivered first. */
static void test_bad_place(void **state) {
  (void)state;
  static const char *const names[] = {"bad.ts", "bad.mkv", "bad.mp4", "bad.avi", "bad.flv", "bad.mpg"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=320x240:r=25:d=4 -c:v mpeg2video -q:v 2 bad.ts");
  for (int i = 0; i < 6; i++) {
    struct stat file;
    if (i)
      shell(FFMPEG "-i bad.ts %s %s", strstr(names[i], "flv") ? "-c:v flv1 -q:v 2" : "-c copy", names[i]);
    assert_int_equal(stat(clip(names[i]), &file), 0);
    spoil(names[i], file.st_size / 2, file.st_size / 2 + 4096);
    struct end end = read_all(names[i], (struct source_options){0}, 0);
    bad_place.on = false;
    expect_failure(names[i], &end, "Input/output error");
    if (end.frames < 30 || end.frames > 60)
      fail_msg("%s: %ld frames, %s", names[i], end.frames, end.err.message);
  }
}

/* If garbage follows the frames of a file, they are delivered, and no error ends the input. */
static void test_garbage_behind(void **state) {
  (void)state;
  static const char *const names[] = {"a.mp4", "copy.mkv", "a.flv"};
  clip_random_bytes("garbage", 20000);
  for (int i = 0; i < 3; i++) {
    shell("cat %s garbage >behind", names[i]);
    struct source *source;
    struct frame frame = {0};
    struct error err;
    long frames = 0;
    int got;
    assert_int_equal(source_open(&source, clip("behind"), &(struct source_options){0}, &err), 0);
    while ((got = next_frame(source, &frame, &err)) > 0)
      frames++;
    frame_release(&frame);
    source_close(&source);
    if (got || frames != 50)
      fail_msg("%s: %ld frames; %s", names[i], frames, err.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),          cmocka_unit_test(test_half),      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_cut_while_read), cmocka_unit_test(test_bad_place), cmocka_unit_test(test_garbage_behind),
  };
  av_log_set_level(AV_LOG_QUIET);
  if (!clips_open())
    return 77;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -bf 2 -g 10 -c:a aac clip.mkv");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
