/* Tests the built program with a password in every address that it accepts: nothing that it prints, sends or writes
 * contains it. The servers are on 127.0.0.1. */
#include "tests/rigs/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

/* The secret is in the user name, password, query, fragment and stream key of addresses. */
#define SECRET "s3cr3t"
#define LOGIN "joe-" SECRET ":p" SECRET "w@"
#define OFFSCREEN "unset DISPLAY WAYLAND_DISPLAY; export SDL_VIDEODRIVER=offscreen; "
#define SMALL " --device cpu --threads 1 --size 64x64 "

enum { PATIENCE_MS = 300000, LOOK_AGAIN_MS = 30 };

static pid_t server;
static int port;

/* Runs a web server that serves the clips' folder and ignores passwords. */
static void serve(void) {
  char line[256] = "";
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  server = fork();
  assert_true(server >= 0);
  if (!server) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    if (!chdir(clip(".")))
      execlp("python3", "python3", "-u", "-c",
             "import http.server as h; s = h.ThreadingHTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)\n"
             "print('port', s.server_port, flush=True); s.serve_forever()",
             (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  for (size_t used = 0; used + 1 < sizeof line && !strchr(line, '\n'); used++)
    assert_int_equal(read(ends[0], line + used, 1), 1);
  assert_int_equal(sscanf(line, "port %d", &port), 1);
}

static int begin(void **state) {
  shell("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=s=64x64:r=25 -f lavfi -i sine -t 1 -c:v mpeg2video -g 5 "
        "-c:a mp2 film.ts");
  serve();
  return program_tiny_model(state);
}

static int end(void **unused) {
  (void)unused;
  return kill(server, SIGKILL);
}

/* Gets the program's answer to one IPC request; false: it does not answer yet. */
static bool ask(const char *question, char *answer, size_t size) {
  struct sockaddr_un place = {.sun_family = AF_UNIX};
  snprintf(place.sun_path, sizeof place.sun_path, "%s", clip("ipc"));
  int line = socket(AF_UNIX, SOCK_STREAM, 0);
  bool there = line >= 0 && !connect(line, (struct sockaddr *)&place, sizeof place) &&
               write(line, question, strlen(question)) == (ssize_t)strlen(question);
  ssize_t got = there ? read(line, answer, size - 1) : 0;
  close(line);
  answer[got > 0 ? got : 0] = 0;
  return got > 0;
}

/* Asks for the figures until they hold these words. */
static void wait_figures(char *answer, size_t size, const char *words) {
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    if (ask("{\"command\":[\"get_property\",\"figures\"]}\n", answer, size) && strstr(answer, words))
      return;
    usleep(LOOK_AGAIN_MS * 1000);
  }
  fail_msg("the figures do not hold '%s': %s", words, answer);
}

static void expect_no_secret(const char *where, const char *text) {
  const char *at = strstr(text, SECRET);
  at = at ? at : strstr(text, "joe-");
  if (at)
    fail_msg("%s: %.200s", where, at - text > 100 ? at - 100 : text);
}

static void expect_no_secret_in_file(const char *name) {
  char command[256];
  snprintf(command, sizeof command, "test -s %s && ! grep -q -a -e " SECRET " -e joe- %s", name, name);
  shell("%s", command);
}

/* `live` with secrets in all addresses: sources that are open or not reachable, outputs without a receiver, and the
 * recorded files. */
static void live_shows_none(void **unused) {
  (void)unused;
  char figures[65536];
  struct outcome outcome;
  pid_t pid = program_start(
      OFFSCREEN "@ live 'http://" LOGIN "127.0.0.1:%d/film.ts?token=" SECRET "#" SECRET "' 'rtsp://" LOGIN
                "127.0.0.1:1/camera?" SECRET "' --loop --to 'rtmp://" LOGIN "127.0.0.1:1/live/" SECRET
                "' --to 'udp://127.0.0.1:1?pkt_size=1316&x=" SECRET "' --control map@source --show map "
                "--control-source 'tcp://" LOGIN "127.0.0.1:1?" SECRET "' --record-sound 'http://" LOGIN
                "127.0.0.1:%d/film.ts?" SECRET "' --ipc ipc --record take.mkv --record-script take.json -vv" SMALL,
      port, port);
  wait_figures(figures, sizeof figures, "/film.ts: mpeg2video 64x64");
  expect_no_secret("figures", figures);
  assert_true(ask("{\"command\":[\"set_property\",\"source\",2]}\n", figures, sizeof figures));
  wait_figures(figures, sizeof figures, "rtsp://127.0.0.1:1/camera: cannot be opened");
  expect_no_secret("figures", figures);
  kill(pid, SIGINT);
  program_wait(&outcome, pid);
  expect_no_secret("terminal", outcome.said);
  assert_non_null(strstr(outcome.said, "rtmp://127.0.0.1:1/live/..."));
  expect_no_secret_in_file("err.txt");
  expect_no_secret_in_file("take.mkv");
}

static void render_shows_none(void **unused) {
  (void)unused;
  static const struct {
    int status;
    const char *says, *arguments;
  } cases[] = {
      {0, "film.ts", "render 'HTTP' x.mkv -y --frames 1 -vv"},
      {0, "film.ts", "render 'cache:HTTP' x.mkv -y --frames 1 -vv"},
      {0, "film.ts", "render 'async:HTTP' x.mkv -y --frames 1 -vv"},
      {0, "film.ts",
       "render 'concat:HTTP|HTTP' x.mkv -y --frames 1 -vv --input-options protocol_whitelist="
       "concat,http,tcp"},
      {3, "rtsp://127.0.0.1:1/camera", "render 'rtsp://" LOGIN "127.0.0.1:1/camera?" SECRET "' x.mkv -y -vv"},
      {3, "RTSP://", "render 'RTSP://" LOGIN "[::1]:1/camera?" SECRET "' x.mkv -y -vv"},
      {3, "http://127.0.0.1:1/map.ts",
       "render film.ts x.mkv -y --control map@source --show map --control-source "
       "'http://" LOGIN "127.0.0.1:1/map.ts?" SECRET "'"},
      {6, "http://127.0.0.1:1/x.ts", "render film.ts 'http://" LOGIN "127.0.0.1:1/x.ts?" SECRET "' -vv"},
      {6, "rtmp://127.0.0.1:1/live/...", "render film.ts 'rtmp://127.0.0.1:1/live/" SECRET "' -vv"},
      {2, "tee", "render film.ts 'tee:[f=flv]rtmp://127.0.0.1:1/live/" SECRET "'"},
      {2, "no command", "'rtsp://" LOGIN "127.0.0.1:1/camera'"},
      {2, "--input-options", "render 'HTTP' x.mkv -y --input-options '" SECRET "'"},
      {2, "once", "render a b --input-options password=" SECRET " --input-options a=b"},
      {3, "lavfi:movie", "render 'lavfi:movie=filename=rtsp\\://joe-" SECRET "\\:" SECRET "@127.0.0.1\\:1/x' x.mkv -y"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    char arguments[1024] = "", *to = arguments;
    for (const char *from = cases[i].arguments; *from;)
      if (!strncmp(from, "HTTP", 4)) {
        to += sprintf(to, "http://" LOGIN "127.0.0.1:%d/film.ts?token=" SECRET, port);
        from += 4;
      } else {
        *to++ = *from++;
      }
    program_run(&outcome, "@ %s%s", arguments, strstr(arguments, "film.ts") ? SMALL : "");
    if (outcome.status != cases[i].status || !strstr(outcome.said, outcome.status ? cases[i].says : ""))
      fail_msg("%s: status %d: %s", cases[i].arguments, outcome.status, outcome.said);
    expect_no_secret(cases[i].arguments, outcome.said);
  }
}

static void bench_reports_none(void **unused) {
  (void)unused;
  struct outcome outcome;
  program_run(&outcome,
              "@ bench --frames 2 --warmup 1 --save report.json --report report.html -vv --control map@source --show "
              "map --control-source 'http://" LOGIN "127.0.0.1:%d/film.ts?token=" SECRET "'" SMALL,
              port);
  expect_no_secret("terminal", outcome.said);
  if (outcome.status)
    fail_msg("status %d: %s", outcome.status, outcome.said);
  expect_no_secret_in_file("out.txt");
  expect_no_secret_in_file("report.json");
  expect_no_secret_in_file("report.html");
}

static void expect_fetch(const char *words) {
  struct outcome outcome;
  program_run(&outcome, "fetch acme/lora -vv");
  expect_no_secret("fetch", outcome.said);
  if (!outcome.status || !strstr(outcome.said, words))
    fail_msg("status %d, not '%s': %s", outcome.status, words, outcome.said);
}

static void fetch_shows_none(void **unused) {
  (void)unused;
  char hub[256];
  struct outcome outcome;
  program_run(&outcome, "fetch acme/lora");
  if (strstr(outcome.said, "built without"))
    return;
  snprintf(hub, sizeof hub, "http://" LOGIN "127.0.0.1:%d/hub?" SECRET, port);
  setenv("HF_ENDPOINT", hub, 1);
  expect_fetch("no such repository");
  setenv("HF_ENDPOINT", "ftp://" LOGIN "127.0.0.1:1", 1);
  expect_fetch("HF_ENDPOINT ftp://127.0.0.1:1: ");
  setenv("HF_ENDPOINT", LOGIN "127.0.0.1:1", 1);
  expect_fetch("HF_ENDPOINT: ");
  setenv("HF_ENDPOINT", "http://127.0.0.1:1", 1);
  setenv("http_proxy", LOGIN "127.0.0.1:99999", 1);
  expect_fetch("proxy");
  setenv("http_proxy", "gopher://" LOGIN "127.0.0.1:1", 1);
  expect_fetch("proxy");
  unsetenv("http_proxy");
  unsetenv("HF_ENDPOINT");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(live_shows_none),
      cmocka_unit_test(render_shows_none),
      cmocka_unit_test(bench_reports_none),
      cmocka_unit_test(fetch_shows_none),
  };
  if (argc != 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, begin, end);
  clips_close();
  return failed;
}
