/* Tests rendering to outputs that are read while they are written: standard output and the network. */
#include "tests/rigs/cmocka_all.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

#define SMALL " --size 64x64 "

enum { PATIENCE_MS = 300000, LOOK_AGAIN_MS = 50 };

static void expect_text(const char *wanted, const char *command) {
  char *text = (char *)shell_output(NULL, "%s", command);
  if (strcmp(text, wanted))
    fail_msg("'%s' gives '%s', not '%s'", command, text, wanted);
  free(text);
}

/* Returns the sound packets of a file in any container. */
static char *sound_of(const char *name) {
  return (char *)shell_output(
      NULL, "ffmpeg -v error -i %s -map 0:a -c copy -bsf:a null -f framemd5 - | grep -v '^#' | cut -d, -f5-", name);
}

static void expect_frames_and_sound(const char *name) {
  assert_int_equal(clip_count_frames(name), 25);
  char *was = sound_of("clip.mkv"), *is = sound_of(name);
  assert_string_equal(was, is);
  free(was);
  free(is);
}

static void test_standard_output(void **state) {
  (void)state;
  program_expect(0, "25 frames", "render clip.mkv -" SMALL ">default.mkv");
  expect_frames_and_sound("default.mkv");
  expect_text("matroska,webm\n", "ffprobe -v error -show_entries format=format_name -of default=nw=1:nk=1 default.mkv");
  shell("ffprobe -v error -select_streams v -show_entries packet=pts_time -of csv=p=0 clip.mkv | sort >was.txt && "
        "ffprobe -v error -select_streams v -show_entries packet=pts_time -of csv=p=0 default.mkv | sort >is.txt && "
        "cmp was.txt is.txt");
}

static void test_named_containers(void **state) {
  (void)state;
  static const struct {
    const char *name, *read_as;
    bool sound;
  } cases[] = {{"nut", "nut", true},
               {"mkv", "matroska,webm", true},
               {"ts", "mpegts", false},
               {"yuv4mpegpipe", "yuv4mpegpipe", false},
               {"mp4", "mov,mp4,m4a,3gp,3g2,mj2", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s\n", cases[i].read_as);
    program_expect(0, "25 frames", "render clip.mkv -" SMALL "--output-format %s >named.out", cases[i].name);
    expect_text(wanted, "ffprobe -v error -show_entries format=format_name -of default=nw=1:nk=1 named.out");
    assert_int_equal(clip_count_frames("named.out"), 25);
    if (cases[i].sound)
      expect_frames_and_sound("named.out");
  }
  /* --output-format counts before the file's name, and the file is completed in that format. */
  program_expect(0, "25 frames", "render clip.mkv video.wav" SMALL "--output-format mp4");
  expect_frames_and_sound("video.wav");
  shell("! grep -q moof video.wav && ! ls -A | grep -q settling");
}

static void test_refused(void **state) {
  (void)state;
  program_expect(2, "--output-format nonsense", "render clip.mkv -" SMALL "--output-format nonsense");
  program_expect(2, "no video", "render clip.mkv -" SMALL "--output-format wav");
  program_expect(2, "avif does not work as a stream", "render clip.mkv -" SMALL "--output-format avif");
  program_expect(2, "film_cpk does not work as a stream", "render clip.mkv -" SMALL "--output-format film_cpk");
  program_expect(2, "dash opens files of its own", "render clip.mkv -" SMALL "--output-format dash");
  program_expect(2, "null: has no container", "render clip.mkv null: --output-format mkv");
  program_expect(2, "behind another name", "render clip.mkv md5:copy.mkv -y");
  shell("test ! -s out.txt");
  program_expect(6, "not for a terminal", "render clip.mkv -" SMALL ">/dev/ptmx");
  program_expect(6, "not for a terminal", "render clip.mkv pipe:1" SMALL ">/dev/ptmx");
  program_expect(6, "closed", "render clip.mkv -" SMALL ">&-");
  program_expect(6, "No space left", "render clip.mkv -" SMALL ">/dev/full");
  program_expect(2, "same file", "render copy.mkv -" SMALL ">>copy.mkv");
  program_expect(2, "same file", "render - -" SMALL "<copy.mkv >>copy.mkv");
  program_expect(2, "same file", "render copy.mkv pipe:out" SMALL ">>copy.mkv");
  shell("cmp clip.mkv copy.mkv");
}

/* After three frames the source pauses; frames that are done are written without waiting. */
static void test_in_the_middle(void **state) {
  (void)state;
  enum { FRAME_BYTES = 64 * 64 * 3 / 2 };
  size_t size;
  struct outcome outcome;
  struct stat so_far = {0};
  shell("mkfifo begun");
  char *video = (char *)shell_output(&size, FFMPEG "-i clip.mkv -frames:v 3 -f yuv4mpegpipe -");
  int fifo = open(clip("begun"), O_RDWR | O_CLOEXEC);
  assert_true(fifo >= 0);
  pid_t pid =
      program_start("render - - --input-format yuv4mpegpipe --output-format yuv4mpegpipe" SMALL "<begun >middle.y4m");
  assert_int_equal(write(fifo, video, size), size);
  free(video);
  for (int waited = 0; waited < PATIENCE_MS && so_far.st_size < FRAME_BYTES; waited += LOOK_AGAIN_MS) {
    usleep(LOOK_AGAIN_MS * 1000);
    if (stat(clip("middle.y4m"), &so_far))
      so_far.st_size = 0;
  }
  close(fifo);
  program_wait(&outcome, pid);
  if (so_far.st_size < FRAME_BYTES || outcome.status)
    fail_msg("%ld bytes came before the end; %s", (long)so_far.st_size, outcome.said);
}

/* The reader closes the pipe: the program does not end by SIGPIPE (status 141). */
static void test_closed_pipe(void **state) {
  (void)state;
  static const char *const outputs[] = {"- >pipe", "- --output-format mp4 >pipe", "pipe --output-format mp4"};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    struct outcome outcome;
    shell("rm -f pipe; mkfifo pipe");
    program_run(&outcome, "true; head -c 1000 pipe >/dev/null & @ render lavfi:testsrc2=s=96x64" SMALL "%s",
                outputs[i]);
    if (outcome.status != 6 || outcome.lines != 1 || !strstr(outcome.said, "Broken pipe"))
      fail_msg("%s: status %d: %s", outputs[i], outcome.status, outcome.said);
  }
}

/* Opens a socket of this type on a free port. */
static int open_port(int kind, int *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int server = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
  if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) ||
      getsockname(server, (struct sockaddr *)&address, &size) || (kind == SOCK_STREAM && listen(server, 1))) {
    print_message("no local network here\n");
    skip();
  }
  *port = ntohs(address.sin_port);
  return server;
}

/* Accepts the connection, and writes at most `limit` bytes of it to a file. */
static void receive(int server, const char *name, size_t limit) {
  struct pollfd ready = {.fd = server, .events = POLLIN};
  assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
  int connection = accept(server, NULL, NULL);
  assert_true(connection >= 0);
  FILE *file = fopen(clip(name), "wb");
  assert_non_null(file);
  char bytes[1000];
  ssize_t got;
  for (size_t total = 0; total < limit && (got = read(connection, bytes, sizeof bytes)) > 0; total += (size_t)got)
    assert_int_equal(fwrite(bytes, 1, (size_t)got, file), got);
  fclose(file);
  close(connection);
}

static void test_tcp(void **state) {
  (void)state;
  static const char *const formats[][2] = {{"", "mpegts"}, {"--output-format nut", "nut"}};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    int port, server = open_port(SOCK_STREAM, &port);
    pid_t pid = program_start("render clip.mkv tcp://127.0.0.1:%d" SMALL "%s", port, formats[i][0]);
    receive(server, "got.out", SIZE_MAX);
    program_wait(&outcome, pid);
    close(server);
    assert_int_equal(outcome.status, 0);
    char command[128], wanted[16];
    snprintf(command, sizeof command, "ffprobe -v error -f %s -show_entries format=format_name -of csv=p=0 got.out",
             formats[i][1]);
    snprintf(wanted, sizeof wanted, "%s\n", formats[i][1]);
    expect_text(wanted, command);
    assert_int_equal(clip_count_frames("got.out"), 25);
  }
  expect_frames_and_sound("got.out");
}

static void test_lost_connection(void **state) {
  (void)state;
  struct outcome outcome;
  int port, server = open_port(SOCK_STREAM, &port);
  pid_t pid = program_start("render lavfi:testsrc2=s=96x64 tcp://127.0.0.1:%d" SMALL, port);
  receive(server, "got.out", 2000);
  close(server);
  program_wait(&outcome, pid);
  if (outcome.status != 6 || outcome.lines != 1 || !strstr(outcome.said, "cannot be written"))
    fail_msg("status %d: %s", outcome.status, outcome.said);
  program_expect(6, "refused", "render clip.mkv tcp://127.0.0.1:%d" SMALL, port);
}

/* Interrupted while nobody accepts the connection. */
static void test_interrupted(void **state) {
  (void)state;
  struct outcome outcome;
  int port;
  close(open_port(SOCK_STREAM, &port)); /* finds a port that is free */
  shell(": >err.txt");
  pid_t pid = program_start("render clip.mkv 'tcp://127.0.0.1:%d?listen=1'" SMALL "-v", port);
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    char *said = (char *)shell_output(NULL, "cat err.txt");
    bool waiting = strstr(said, "encoded with");
    free(said);
    if (waiting)
      break;
    usleep(LOOK_AGAIN_MS * 1000);
  }
  kill(pid, SIGINT);
  program_wait(&outcome, pid);
  if (outcome.status != 130 || !strstr(outcome.said, "interrupted"))
    fail_msg("status %d: %s", outcome.status, outcome.said);
}

/* Interrupted while the reader takes nothing and the pipe is full. */
static void test_interrupted_pipe(void **state) {
  (void)state;
  struct outcome outcome;
  int waiting = 0, before = 0, same = 0;
  shell("mkfifo unread");
  int fifo = open(clip("unread"), O_RDWR | O_CLOEXEC);
  assert_true(fifo >= 0);
  pid_t pid = program_start("render lavfi:testsrc2=s=96x64 -" SMALL "--output-format yuv4mpegpipe >unread");
  for (int waited = 0; waited < PATIENCE_MS && same < 10; waited += LOOK_AGAIN_MS) {
    usleep(LOOK_AGAIN_MS * 1000);
    assert_int_equal(ioctl(fifo, FIONREAD, &waiting), 0);
    same = waiting && waiting == before ? same + 1 : 0;
    before = waiting;
  }
  kill(pid, SIGINT);
  program_wait(&outcome, pid);
  close(fifo);
  if (outcome.status != 130 || !strstr(outcome.said, "interrupted"))
    fail_msg("status %d: %s", outcome.status, outcome.said);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* UDP: datagrams of whole packets, sent no earlier than they are due, and no picture waits for a later one. */
static void test_udp(void **state) {
  (void)state;
  struct outcome outcome;
  siginfo_t ended = {0};
  int port, socket = open_port(SOCK_DGRAM, &port);
  FILE *file = fopen(clip("got.ts"), "wb");
  assert_non_null(file);
  double started = seconds_now();
  pid_t pid = program_start("render clip.mkv udp://127.0.0.1:%d" SMALL, port);
  struct pollfd ready = {.fd = socket, .events = POLLIN};
  for (bool over = false;;) {
    unsigned char bytes[65536];
    if (poll(&ready, 1, LOOK_AGAIN_MS) == 1) {
      ssize_t got = recv(socket, bytes, sizeof bytes, 0);
      assert_true(got > 0 && got % 188 == 0 && bytes[0] == 0x47);
      assert_int_equal(fwrite(bytes, 1, (size_t)got, file), got);
    } else if (over) {
      break;
    } else { /* data that were sent last may arrive only now */
      over = waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid;
    }
  }
  double took = seconds_now() - started;
  program_wait(&outcome, pid);
  fclose(file);
  close(socket);
  assert_int_equal(outcome.status, 0);
  assert_int_equal(clip_count_frames("got.ts"), 25);
  expect_text("h264,0\n", "ffprobe -v error -select_streams v -show_entries stream=codec_name,has_b_frames -of csv=p=0 "
                          "got.ts | head -1 | cut -d, -f1,2");
  if (took < 2.3)
    fail_msg("2.4 s of video were sent in %.2f s", took);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_standard_output),  cmocka_unit_test(test_named_containers),
      cmocka_unit_test(test_refused),          cmocka_unit_test(test_in_the_middle),
      cmocka_unit_test(test_closed_pipe),      cmocka_unit_test(test_tcp),
      cmocka_unit_test(test_lost_connection),  cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_interrupted_pipe), cmocka_unit_test(test_udp),
  };
  if (argc != 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x64:r=10:d=2.5 -f lavfi -i sine=d=2.5 -c:v libx264 -c:a mp2 clip.mkv && "
               "cp clip.mkv copy.mkv");
  int failed = cmocka_run_group_tests(tests, program_tiny_model, NULL);
  clips_close();
  return failed;
}
