/* Tests files written by FFmpeg: what a killed process leaves behind, how MP4 files are rewritten at the end, and
 * failures of memory and files. */
#include "tests/rigs/cmocka_all.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libavcodec/avcodec.h>
#include <libavutil/log.h>

#include "app/sink/sink.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/hidden_picture.h"
#include "tests/rigs/small_file.h"

/* ENCODER_DELAY: the largest number of frames that encoders keep back at this size. */
enum { SIDE = SMALL_SIDE, FPS = SMALL_FPS, ENCODER_DELAY = 25 };

/* FFmpeg allocates with the following two functions. The call that decrements `left` to 0 fails. */
static atomic_long left = -1;

int posix_memalign(void **memory, size_t alignment, size_t size) {
  static int (*real)(void **, size_t, size_t);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "posix_memalign");
  return atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1 ? ENOMEM : real(memory, alignment, size);
}

void *realloc(void *memory, size_t size) {
  static void *(*real)(void *, size_t);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "realloc");
  return atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1 ? NULL : real(memory, size);
}

static char said[512];

static void note_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  if (level == LOG_WARNING)
    snprintf(said, sizeof said, "%s", text);
}

static const struct log quiet = {note_line, NULL};
static const struct source_options plainly = {.log = &quiet};

static int open_file(struct sink **sink, const char *name, const char *sound, struct error *err) {
  struct sink_options options = small_file_options(&plainly);
  options.sound = sound ? clip(sound) : NULL;
  return small_file_open(sink, name, &options, err);
}

static int write_frame(struct sink *sink, int number, struct error *err) {
  return small_file_frame(sink, number, 0, err);
}

/* Opens a sink, writes frames, finishes and closes, as render does. Returns err's status, or 0. */
static int write_file(const char *name, const char *sound, int frames) {
  struct error err = {0}, late = {0};
  struct sink *sink = NULL;
  int status = open_file(&sink, name, sound, &err);
  for (int i = 0; !status && i < frames; i++)
    status = write_frame(sink, i, &err);
  if (sink && sink_finish(sink, true, &late) && !status) {
    err = late;
    status = -1;
  }
  sink_close(&sink);
  if (status)
    snprintf(said, sizeof said, "%s", err.message);
  return status ? (int)err.status : 0;
}

/* Killed after its last frame, with sound for the whole clip, for a part of it, and without sound. */
static void test_killed(void **state) {
  (void)state;
  enum { FRAMES = 110 };
  static const struct {
    const char *name, *sound;
  } cases[] = {{"killed.mp4", NULL},           {"killed.mov", NULL},           {"killed.mkv", NULL},
               {"killed.webm", NULL},          {"sound.mp4", "sine.mkv"},      {"sound.mkv", "sine.mkv"},
               {"part.mp4", "sine-short.mkv"}, {"part.mkv", "sine-short.mkv"}, {"late.mp4", "sine-late.mkv"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pid_t child = fork();
    if (!child) {
      struct error err;
      struct sink *sink;
      int failed = open_file(&sink, cases[i].name, cases[i].sound, &err);
      for (int frame = 0; !failed && frame < FRAMES; frame++)
        failed = write_frame(sink, frame, &err);
      raise(failed ? SIGABRT : SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    long frames = clip_count_frames(cases[i].name);
    if (frames < FRAMES - ENCODER_DELAY - FPS)
      fail_msg("%s: %ld of %d frames are there", cases[i].name, frames, FRAMES);
  }
}

/* No packet of sound is lost, not even the last one. */
static void test_every_packet(void **state) {
  (void)state;
  static const char *const sounds[] = {"opus.mkv", "sine.mkv", "vorbis.mkv", "clicks.mkv",
                                       "mp3.mkv",  "ac3.mkv",  "eac3.ts"};
  for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++) {
    if (write_file("every.mp4", sounds[i], 30) || *said)
      fail_msg("%s: %s", sounds[i], said);
    assert_int_equal(clip_times("every.mp4", CLIP_PACKETS, NULL, 0), 30);
    assert_int_equal(clip_times("every.mp4", CLIP_SOUND, NULL, 0), clip_times(sounds[i], CLIP_SOUND, NULL, 0));
    shell("! grep -q moof every.mp4");
  }
  /* packets have other lengths, but all samples are there */
  assert_int_equal(write_file("every.mov", "pcm.mkv", 30), 0);
  assert_string_equal(said, "");
  shell("test \"$(ffmpeg -v error -i every.mov -map 0:a -f md5 -)\" = \"$(ffmpeg -v error -i pcm.mkv -map 0:a -f md5 "
        "-)\"");
}

/* Files with temporary names that another program made are left alone, and so is a file that another process is still
 * writing. */
static void test_settling(void **state) {
  (void)state;
  struct stat file;
  shell("echo mine >settled.mp4.settling && echo stranger >stranger.txt && ln -s stranger.txt settled.mov.settling && "
        "mkfifo fifo.mp4.settling && echo half >.reverie-settling-abc123 && echo notes >.reverie-settling-notes.txt && "
        "ln -s stranger.txt .reverie-settling-abc456 && echo busy >.reverie-settling-abc789");
  int busy = open(clip(".reverie-settling-abc789"), O_RDONLY);
  assert_int_equal(flock(busy, LOCK_EX), 0);
  shell("umask 077 && : >settled.mp4 && chmod 640 settled.mp4");
  assert_int_equal(write_file("settled.mp4", NULL, 5), 0);
  assert_int_equal(write_file("settled.mov", NULL, 5), 0);
  assert_int_equal(write_file("fifo.mp4", NULL, 5), 0);
  assert_string_equal(said, "");
  shell("test \"$(cat settled.mp4.settling)\" = mine && test \"$(cat stranger.txt)\" = stranger && "
        "test -L settled.mov.settling && test -p fifo.mp4.settling");
  shell("test ! -e .reverie-settling-abc123 && test -e .reverie-settling-notes.txt && "
        "test -L .reverie-settling-abc456 && test -e .reverie-settling-abc789 && "
        "test $(ls -A | grep -c reverie-settling) = 3");
  assert_int_equal(stat(clip("settled.mp4"), &file), 0);
  assert_int_equal(file.st_mode & 07777, 0640);
  shell("! grep -q moof settled.mp4 settled.mov fifo.mp4");
  close(busy);
  /* The next run removes the abandoned file, whatever it writes itself. */
  assert_int_equal(write_file("next.mkv", NULL, 5), 0);
  shell("test ! -e .reverie-settling-abc789");
}

/* In a folder in which no second file can be created, the file stays as it was written, and can be played. */
static void test_folder_without_room(void **state) {
  (void)state;
  if (!geteuid())
    skip();
  shell("mkdir full && : >full/kept.mp4 && chmod 500 full");
  assert_int_equal(write_file("full/kept.mp4", NULL, 30), 0);
  assert_non_null(strstr(said, "stays in fragments"));
  shell("chmod 700 full && grep -q moof full/kept.mp4");
  assert_int_equal(clip_times("full/kept.mp4", CLIP_PACKETS, NULL, 0), 30);
}

/* If data are missing when the file is rewritten at the end, a message and the status report the lost frames. */
static void test_lost_frames(void **state) {
  (void)state;
  struct error err = {0};
  struct sink *sink;
  assert_int_equal(open_file(&sink, "lost.mp4", NULL, &err), 0);
  for (int i = 0; i < 100; i++)
    assert_int_equal(write_frame(sink, i, &err), 0);
  struct stat file;
  assert_int_equal(stat(clip("lost.mp4"), &file), 0);
  assert_true(file.st_size > 4000);
  assert_int_equal(truncate(clip("lost.mp4"), file.st_size / 2), 0); /* truncates the file; later writes leave a hole */
  assert_int_equal(sink_finish(sink, true, &err), -1);
  assert_int_equal(err.status, STATUS_OUTPUT);
  assert_non_null(strstr(err.message, "of 100 frames can be read again"));
  sink_close(&sink);
}

/* Whichever allocation fails, either the status reports it or every frame is there. */
static void test_failing_memory(void **state) {
  (void)state;
  enum { FRAMES = 6, TRIES = 60 };
  static const char *const names[] = {"memory.mp4", "memory.mkv"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const long plenty = 1000000000;
    atomic_store(&left, plenty);
    assert_int_equal(write_file(names[i], "sine.mkv", FRAMES), 0);
    long all = plenty - atomic_load(&left);
    int told = 0;
    for (long at = 1; at <= all; at += 1 + all / TRIES) {
      pid_t child = fork();
      if (!child) {
        signal(SIGABRT, SIG_DFL); /* otherwise cmocka's handler would go on with the tests in the child */
        signal(SIGSEGV, SIG_DFL);
        atomic_store(&left, at);
        int status = write_file(names[i], "sine.mkv", FRAMES);
        atomic_store(&left, -1);
        _exit(status);
      }
      int status = 0;
      assert_int_equal(waitpid(child, &status, 0), child);
      bool silent = WIFEXITED(status) && !WEXITSTATUS(status); /* FFmpeg itself may abort, which is no silent loss */
      told += !silent;
      if (silent && clip_count_frames(names[i]) != FRAMES)
        fail_msg("%s: allocation %ld of %ld fails: %ld frames", names[i], at, all, clip_count_frames(names[i]));
    }
    assert_true(told > 0);
  }
}

/* Writes a frame that the test holds, so that it can see who else does. */
static int write_held(struct sink *sink, struct host_pictures *pictures, struct frame *frames, int count) {
  int most = 0;
  for (int i = 0; i < count; i++) {
    struct frame *frame = &frames[i];
    assert_int_equal(host_pictures_take(pictures, PIXEL_YUV420P, SIDE, SIDE, frame, NULL), 0);
    for (int plane = 0; plane < 3; plane++)
      for (int y = 0; y < frame_rows(frame->format, plane, SIDE); y++)
        memset(frame_plane(frame, plane) + y * frame->pitch[plane], plane ? 128 + i : 16 + (y + i) % 200,
               (size_t)frame_row_bytes(frame->format, plane, SIDE));
    hidden_replace(frame);
    frame->pts = i * 1000 / FPS;
    assert_int_equal(sink_write(sink, frame, NULL), 0);
    int held = 0;
    for (int j = 0; j <= i; j++)
      held += frames[j].picture->holds - 1;
    most = held > most ? held : most;
  }
  return most;
}

/* An encoder may hold a limited number of pictures and releases them. Its output equals that for frames whose memory it
 * must copy. */
static void test_pictures_are_let_go(void **state) {
  enum { FRAMES = 40 };
  (void)state;
  static const char *const names[] = {"held.mkv", "held.mp4", "held.webm", "held.gif"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct host_pictures pictures = {0};
    struct frame frames[FRAMES];
    struct sink *sink = NULL;
    shell("rm -f %s other-%s", names[i], names[i]);
    assert_int_equal(open_file(&sink, names[i], NULL, NULL), 0);
    assert_in_range(write_held(sink, &pictures, frames, FRAMES), 0, SINK_HOLDS);
    assert_int_equal(sink_finish(sink, true, NULL), 0);
    sink_close(&sink);
    char other[32];
    snprintf(other, sizeof other, "other-%s", names[i]);
    assert_int_equal(open_file(&sink, other, NULL, NULL), 0);
    for (int j = 0; j < FRAMES; j++) {
      struct frame copied = frames[j];
      frame_wait(&copied, MEMORY_HOST, NULL);
      copied.picture = NULL;
      assert_int_equal(sink_write(sink, &copied, NULL), 0);
    }
    assert_int_equal(sink_finish(sink, true, NULL), 0);
    sink_close(&sink);
    shell(
        "ffmpeg -nostdin -v error -i %s -f framemd5 -y a.txt && ffmpeg -nostdin -v error -i %s -f framemd5 -y b.txt && "
        "cmp a.txt b.txt",
        names[i], other);
    for (int j = 0; j < FRAMES; j++) {
      assert_int_equal(frames[j].picture->holds, 1);
      frame_release(&frames[j]);
    }
    host_pictures_free(&pictures);
  }
}

static int write_white(struct sink *sink, enum pixel_format format, int number, int width, int height) {
  static uint8_t white[4 * SIDE * SIDE * 4], gray[SIDE * SIDE];
  memset(white, format == PIXEL_RGBA ? 255 : 235, sizeof white);
  memset(gray, 128, sizeof gray);
  struct frame frame = {.format = format,
                        .width = width,
                        .height = height,
                        .plane = {white},
                        .pitch = {format == PIXEL_RGBA ? width * 4 : width, width / 2, width / 2},
                        .pts = number * 1000 / FPS};
  if (format == PIXEL_YUV420P)
    frame.plane[1] = frame.plane[2] = gray;
  return sink_write(sink, &frame, NULL);
}

/* Pictures of changing size: all are scaled to the size of the first one, in their own shape with black bars. */
static void test_other_sizes_are_fitted(void **state) {
  (void)state;
  static const struct {
    int width, height, left, top;
  } cases[] = {{SIDE, SIDE, 0, 0},
               {2 * SIDE, 2 * SIDE, 0, 0},
               {2 * SIDE, SIDE, 0, SIDE / 4},
               {SIDE / 2, SIDE, SIDE / 4, 0},
               {SIDE, SIDE, 0, 0}};
  enum { CASES = sizeof cases / sizeof *cases };
  static const enum pixel_format formats[] = {PIXEL_RGBA, PIXEL_YUV420P};
  for (int f = 0; f < 2; f++) {
    struct sink *sink = NULL;
    struct sink_options options = small_file_options(&plainly);
    options.format = formats[f];
    options.codec = "ffv1";
    shell("rm -f sizes.mkv");
    assert_int_equal(small_file_open(&sink, "sizes.mkv", &options, NULL), 0);
    for (int i = 0; i < CASES; i++)
      assert_int_equal(write_white(sink, formats[f], i, cases[i].width, cases[i].height), 0);
    assert_int_equal(sink_finish(sink, true, NULL), 0);
    sink_close(&sink);
    size_t size;
    uint8_t *pixels = shell_output(&size, "ffmpeg -nostdin -v error -i sizes.mkv -f rawvideo -pix_fmt gray -");
    assert_int_equal(size, CASES * SIDE * SIDE);
    for (int i = 0; i < CASES; i++)
      for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
          bool bar = y < cases[i].top || y >= SIDE - cases[i].top || x < cases[i].left || x >= SIDE - cases[i].left;
          assert_in_range(pixels[(i * SIDE + y) * SIDE + x], bar ? 0 : 250, bar ? 3 : 255);
        }
    free(pixels);
  }
}

/* On a full disk the reported number of pictures is the number in the file, though the encoder got more. */
static void test_full_disk(void **state) {
  (void)state;
  enum { ROOM = 40000, FRAMES_MAX = 2000 };
  static const char *const names[] = {"cut.mp4", "cut.mkv", "cut.ts"};
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 3; i++) {
    struct sink *sink = NULL;
    struct error err = {0}, late;
    int given = 0;
    assert_int_equal(open_file(&sink, names[i], NULL, NULL), 0);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ROOM, before.rlim_max});
    while (given < FRAMES_MAX && !write_frame(sink, given, &err))
      given++;
    sink_finish(sink, true, &late);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_non_null(strstr(err.message, strerror(EFBIG)));
    long kept = sink_pictures(sink);
    assert_in_range(kept, 1, given);
    sink_close(&sink);
    assert_int_equal(kept, clip_times(names[i], CLIP_PACKETS, NULL, 0));
  }
  signal(SIGXFSZ, SIG_DFL);
}

/* A picture sequence on a full disk: the reported pictures are there and complete, and nothing else is left. New files
 * have the usual permissions, and a replaced file keeps its own. */
static void test_full_disk_of_pictures(void **state) {
  (void)state;
  enum { WHOLE = 3, OWN_MODE = 0640 };
  struct rlimit before;
  struct sink *sink = NULL;
  struct error err = {0};
  struct stat made;
  mode_t mask = umask(022);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  shell("mkdir pictures && echo old >pictures/2.bmp && chmod 640 pictures/2.bmp && echo old >pictures/4.bmp && "
        "echo half >pictures/.reverie-settling-abc123"); /* a file that a killed run left behind */
  assert_int_equal(open_file(&sink, "pictures/%d.bmp", NULL, &err), 0);
  for (int i = 0; i <= WHOLE; i++) /* the last picture is written only when the next one comes */
    assert_int_equal(write_frame(sink, i, &err), 0);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){SIDE * SIDE, before.rlim_max});
  assert_int_not_equal(write_frame(sink, WHOLE + 1, &err), 0);
  sink_finish(sink, true, &(struct error){0});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  assert_non_null(strstr(err.message, strerror(EFBIG)));
  assert_int_equal(sink_pictures(sink), WHOLE);
  sink_close(&sink);
  expect_same("what is there", "echo 1.bmp 2.bmp 3.bmp 4.bmp old",
              "ls -A pictures | paste -sd' ' | tr '\\n' ' '; "
              "cat pictures/4.bmp");
  for (int i = 0; i < WHOLE; i++) {
    char name[32];
    snprintf(name, sizeof name, "pictures/%d.bmp", i + 1);
    assert_int_equal(clip_count_frames(name), 1);
    assert_int_equal(stat(clip(name), &made), 0);
    assert_int_equal(made.st_mode & 0777, i == 1 ? OWN_MODE : 0644);
  }
  umask(mask);
}

/* A missing hardware encoder is named, and the message says what to do without it. */
static void test_hardware_that_is_not_there(void **state) {
  (void)state;
  static const char *const codecs[] = {"h264_nvenc", "h264_vaapi", "h264_v4l2m2m"};
  for (int i = 0; i < 3; i++) {
    struct sink *sink = NULL;
    struct error err = {0};
    struct sink_options options = small_file_options(&plainly);
    options.codec = codecs[i];
    if (avcodec_find_encoder_by_name(codecs[i]) && sink_open(&sink, clip("hardware.mkv"), &options, &err)) {
      assert_int_equal(err.status, STATUS_DEVICE);
      assert_non_null(strstr(err.message, codecs[i]));
      assert_non_null(strstr(err.message, "there is no such hardware here"));
      assert_non_null(strstr(err.message, "--codec h264 "));
    }
    sink_close(&sink);
  }
}

/* Opens a port at which the system accepts connections and nobody reads. */
static int listen_and_be_silent(int *port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int line = socket(AF_INET, SOCK_STREAM, 0);
  if (line < 0 || bind(line, (struct sockaddr *)&at, size) || listen(line, 8) ||
      getsockname(line, (struct sockaddr *)&at, &size))
    skip();
  *port = ntohs(at.sin_port);
  return line;
}

/* Sending to a receiver that never answers ends after a time limit with a message, or at once when it is
 * interrupted. */
static void test_receivers_that_never_answer(void **state) {
  (void)state;
  static const char *const addresses[] = {"rtmp://127.0.0.1:%d/live/show", "rtsp://127.0.0.1:%d/show"};
  int port, line = listen_and_be_silent(&port);
  for (int i = 0; i < 4; i++) {
    struct sink *sink = NULL;
    struct error err = {0};
    char spec[80];
    bool by_stop = i & 1;
    atomic_bool stop = by_stop;
    struct sink_options options = small_file_options(&plainly);
    options.realtime = true;
    options.patience = by_stop ? 0 : 0.3;
    options.stop = &stop;
    snprintf(spec, sizeof spec, addresses[i / 2], port);
    assert_int_equal(sink_open(&sink, spec, &options, &err), -1);
    if ((int)err.status != (by_stop ? STATUS_INTERRUPTED : STATUS_OUTPUT) ||
        !strstr(err.message, by_stop ? "interrupted" : "nobody answers"))
      fail_msg("status %d: %s", err.status, err.message);
  }
  close(line);
}

static int forget(void **state) {
  (void)state;
  *said = 0;
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_killed, forget),
      cmocka_unit_test_setup(test_every_packet, forget),
      cmocka_unit_test_setup(test_settling, forget),
      cmocka_unit_test_setup(test_folder_without_room, forget),
      cmocka_unit_test_setup(test_lost_frames, forget),
      cmocka_unit_test_setup(test_failing_memory, forget),
      cmocka_unit_test_setup(test_pictures_are_let_go, forget),
      cmocka_unit_test_setup(test_other_sizes_are_fitted, forget),
      cmocka_unit_test_setup(test_full_disk, forget),
      cmocka_unit_test_setup(test_full_disk_of_pictures, forget),
      cmocka_unit_test_setup(test_hardware_that_is_not_there, forget),
      cmocka_unit_test_setup(test_receivers_that_never_answer, forget),
  };
  if (!clips_open())
    return 77;
  av_log_set_level(AV_LOG_QUIET);
  shell(FFMPEG "-f lavfi -i sine=d=5 -c:a aac sine.mkv && " FFMPEG
               "-f lavfi -i sine=d=1 -c:a aac sine-short.mkv && " FFMPEG
               "-itsoffset 1.5 -i sine.mkv -c copy sine-late.mkv");
  shell(FFMPEG "-f lavfi -i sine=d=1.6 -c:a libopus opus.mkv && " FFMPEG
               "-i opus.mkv -c:a libvorbis vorbis.mkv -c:a libmp3lame mp3.mkv -c:a ac3 ac3.mkv -c:a eac3 eac3.ts "
               "-c:a pcm_s16le pcm.mkv");
  /* Vorbis with short packets between long ones. */
  shell(FFMPEG "-f lavfi -i 'aevalsrc=0.8*gt(sin(20*t)\\,0.98)*sin(9000*t):d=1.6' -c:a libvorbis clicks.mkv");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
