/* Tests which other files and servers an input may open: those named by a playlist, a manifest or a session
 * description. Servers are on 127.0.0.1. */
#include "tests/rigs/cmocka_all.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libavutil/log.h>

#include "app/source/protocols.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/next_frame.h"

/* --- a web server for the clips' folder --- */

static struct {
  int socket, port;
  pthread_t thread;
  atomic_int asked;
} web;

static void answer(int connection) {
  char request[4096], name[256], bytes[4096];
  ssize_t got = read(connection, request, sizeof request - 1);
  request[got > 0 ? got : 0] = 0;
  FILE *file = sscanf(request, "GET /%255s ", name) == 1 ? fopen(clip(name), "rb") : NULL;
  dprintf(connection, "HTTP/1.1 %s\r\nConnection: close\r\n\r\n", file ? "200 OK" : "404 Not Found");
  for (size_t count; file && (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
    if (send(connection, bytes, count, MSG_NOSIGNAL) < 0)
      break;
  if (file)
    fclose(file);
  close(connection);
}

static void *serve(void *opaque) {
  (void)opaque;
  for (int connection; (connection = accept(web.socket, NULL, NULL)) >= 0;) {
    atomic_fetch_add(&web.asked, 1);
    answer(connection);
  }
  return NULL;
}

static int start_web(void **state) {
  (void)state;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  web.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (web.socket < 0 || bind(web.socket, (struct sockaddr *)&address, sizeof address) || listen(web.socket, 8) ||
      getsockname(web.socket, (struct sockaddr *)&address, &size))
    return -1;
  web.port = ntohs(address.sin_port);
  return pthread_create(&web.thread, NULL, serve, NULL);
}

static int stop_web(void **state) {
  (void)state;
  shutdown(web.socket, SHUT_RDWR);
  pthread_join(web.thread, NULL);
  return close(web.socket);
}

/* --- opening --- */

static const struct source_options plain;
static atomic_bool enough; /* makes source_open give up after a while, if it does not refuse the input */

static void *lose_patience(void *opaque) {
  struct pollfd opened = {.fd = *(int *)opaque, .events = POLLIN};
  if (!poll(&opened, 1, 5000))
    atomic_store(&enough, true);
  return NULL;
}

static void expect_frames(const char *spec, long wanted, const struct source_options *options) {
  struct source *source;
  struct frame frame = {0};
  struct error err = {0};
  long frames = 0;
  int got = source_open(&source, spec, options, &err);
  while (!got && next_frame(source, &frame, &err) > 0)
    frames++;
  frame_release(&frame);
  source_close(&source);
  if (frames != wanted)
    fail_msg("%s: %ld frames, %s", spec, frames, err.message);
}

/* Checks that an input is refused with a line that says why, before anything is sent to the server. */
static void refuse(const char *spec) {
  struct source *source;
  struct frame frame = {0};
  struct error err = {0};
  pthread_t thread;
  int ends[2], asked = atomic_load(&web.asked);
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  atomic_store(&enough, false);
  pthread_create(&thread, NULL, lose_patience, ends);
  struct source_options options = {.stop = &enough};
  int got = source_open(&source, spec, &options, &err);
  if (!got)
    got = next_frame(source, &frame, &err);
  frame_release(&frame);
  source_close(&source);
  assert_int_equal(write(ends[1], "", 1), 1);
  pthread_join(thread, NULL);
  close(ends[0]);
  close(ends[1]);
  if (got >= 0 || err.status != STATUS_INPUT || !strstr(err.message, "protocol_whitelist"))
    fail_msg("%s: %d, %s", spec, got, err.message);
  assert_int_equal(atomic_load(&web.asked), asked);
}

static void refuse_through_pipe(const char *name) {
  shell("cat %s >through &", name);
  refuse(clip("through"));
}

static void write_playlist(const char *name, const char *segment) {
  shell("printf '#EXTM3U\\n#EXT-X-TARGETDURATION:1\\n#EXTINF:1.0,\\n%s\\n#EXT-X-ENDLIST\\n' >%s", segment, name);
}

/* --- the tests --- */

static void test_lists(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"clip.mp4", "file,crypto,data"},
      {"/a:b/clip.mp4", "file,crypto,data"},
      {"file:/clip.mp4", "file,crypto,data"},
      {"http://a/b", "http,http,https,httpproxy,tls,tcp,crypto,data"},
      {"https://a/b", "https,http,https,httpproxy,tls,tcp,crypto,data"},
      {"udp://127.0.0.1:1", "udp,crypto,data"},
      {"srt://a:1", "srt,crypto,data"},
      {"rtp://a:1", "rtp,udp"},
      {"crypto+file:/clip", "crypto,file,crypto,data"},
      {"cache:http://a/b", "cache,http,http,https,httpproxy,tls,tcp,crypto,data"},
      {"concat:a.ts|b.ts", "concat,file,subfile,crypto,data"},
      {"subfile,,start,1,end,2,,:a.ts", "subfile,file,crypto,data"},
  };
  char list[PROTOCOLS_MAX];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(protocols_for(cases[i][0], list), cases[i][1]);
}

/* A playlist in a file may name files in its folder or below, and nothing else. */
static void test_playlist_in_file(void **state) {
  (void)state;
  char url[128], path[512];
  shell("mkdir -p lists/below && cp clip.ts lists && cp clip.ts lists/below && ln -s ../clip.ts lists/link.ts && "
        "mkfifo lists/fifo.ts");
  write_playlist("lists/a.m3u8", "clip.ts");
  expect_frames(clip("lists/a.m3u8"), 25, &plain);
  write_playlist("lists/a.m3u8", "below/clip.ts");
  expect_frames(clip("lists/a.m3u8"), 25, &plain);
  snprintf(path, sizeof path, "%s", clip("lists/clip.ts"));
  write_playlist("lists/a.m3u8", path);
  expect_frames(clip("lists/a.m3u8"), 25, &plain);

  snprintf(path, sizeof path, "%s", clip("clip.ts"));
  snprintf(url, sizeof url, "http://127.0.0.1:%d/clip.ts", web.port);
  const char *const elsewhere[] = {"../clip.ts", "link.ts", "fifo.ts", path, url, "below/../../clip.ts"};
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
    write_playlist("lists/a.m3u8", elsewhere[i]);
    refuse(clip("lists/a.m3u8"));
  }
  /* If the user names the protocols on the command line, they are allowed. */
  write_playlist("lists/a.m3u8", url);
  const struct source_options trusting = {.input_options = "protocol_whitelist=file,http,tcp"};
  expect_frames(clip("lists/a.m3u8"), 25, &trusting);
}

static void test_concat(void **state) {
  (void)state;
  shell("mkdir -p joined && cp clip.ts joined && printf 'ffconcat version 1.0\\nfile clip.ts\\nfile clip.ts\\n' "
        ">joined/a.ffconcat && printf 'ffconcat version 1.0\\nfile ../clip.ts\\n' >joined/b.ffconcat");
  expect_frames(clip("joined/a.ffconcat"), 50, &plain);
  refuse(clip("joined/b.ffconcat"));
  /* The forbidden file is named by a playlist that another list names. */
  write_playlist("joined/c.m3u8", "../clip.ts");
  shell("printf 'ffconcat version 1.0\\nfile c.m3u8\\n' >joined/c.ffconcat");
  refuse(clip("joined/c.ffconcat"));
}

/* A playlist in a pipe may name no files. */
static void test_pipe(void **state) {
  (void)state;
  char url[128];
  shell("mkfifo through");
  shell("cat clip.ts >through &");
  expect_frames(clip("through"), 25, &plain);
  snprintf(url, sizeof url, "http://127.0.0.1:%d/clip.ts", web.port);
  write_playlist("web.m3u8", url);
  refuse_through_pipe("web.m3u8");
  write_playlist("local.m3u8", clip("clip.ts"));
  refuse_through_pipe("local.m3u8");
}

static void test_manifest(void **state) {
  (void)state;
  shell(FFMPEG "-i clip.ts -c copy -movflags dash whole.mp4");
  shell("printf '<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" "
        "mediaPresentationDuration=\"PT1S\" minBufferTime=\"PT1S\" "
        "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"><Period><AdaptationSet contentType=\"video\" "
        "mimeType=\"video/mp4\"><Representation id=\"0\" bandwidth=\"90000\" width=\"64\" height=\"48\"><BaseURL>"
        "http://127.0.0.1:%d/whole.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>' >web.mpd",
        web.port);
  refuse_through_pipe("web.mpd");
  refuse(clip("web.mpd"));
  const struct source_options trusting = {.input_options = "protocol_whitelist=file,http,tcp"};
  expect_frames(clip("web.mpd"), 25, &trusting);
}

/* A session description (SDP) opens ports on this machine. */
static void test_session(void **state) {
  (void)state;
  shell("printf 'v=0\\no=- 0 0 IN IP4 127.0.0.1\\ns=x\\nc=IN IP4 127.0.0.1\\nt=0 0\\nm=video 5004 RTP/AVP 96\\n"
        "a=rtpmap:96 H264/90000\\n' >talk.sdp");
  refuse(clip("talk.sdp"));
  refuse_through_pipe("talk.sdp");
}

/* A URL on the command line may name other URLs in its playlist, but no local files. */
static void test_typed_url(void **state) {
  (void)state;
  char url[128], local[600];
  int asked = atomic_load(&web.asked);
  snprintf(url, sizeof url, "http://127.0.0.1:%d/clip.ts", web.port);
  expect_frames(url, 25, &plain);
  write_playlist("typed.m3u8", "clip.ts");
  snprintf(url, sizeof url, "http://127.0.0.1:%d/typed.m3u8", web.port);
  expect_frames(url, 25, &plain);
  assert_true(atomic_load(&web.asked) >= asked + 3);
  snprintf(local, sizeof local, "file://%s", clip("clip.ts"));
  write_playlist("typed.m3u8", local);
  struct source *source;
  struct frame frame = {0};
  struct error err;
  int got = source_open(&source, url, &plain, &err);
  if (!got)
    got = next_frame(source, &frame, &err);
  frame_release(&frame);
  source_close(&source);
  assert_int_equal(got, -1);
}

static int asked_while_refused(const char *spec) {
  int asked = atomic_load(&web.asked);
  struct source *source;
  struct error err;
  assert_int_equal(source_open(&source, spec, &plain, &err), -1);
  if (!strstr(err.message, "a playlist that names itself, or lists without end"))
    fail_msg("%s: %s", spec, err.message);
  return atomic_load(&web.asked) - asked;
}

/* A list that contains itself, directly or through another one, in a file or on a server. */
static void test_lists_without_end(void **state) {
  (void)state;
  static const char *const names[] = {"itself.m3u8", "other.m3u8"};
  char url[128];
  shell("for name in itself other back; do printf '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n' >$name.m3u8; done; "
        "echo itself.m3u8 >>itself.m3u8; echo back.m3u8 >>other.m3u8; echo other.m3u8 >>back.m3u8");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    asked_while_refused(clip(names[i]));
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", web.port, names[i]);
    assert_in_range(asked_while_refused(url), 2, 2 * OPENINGS_SAME_MAX);
  }
  /* A list that names the same playlist for several bit rates is not endless and is accepted. */
  write_playlist("low.m3u8", "clip.ts");
  shell(
      "printf '#EXTM3U\n' >several.m3u8; for rate in 1 2 3 4; do printf '#EXT-X-STREAM-INF:BANDWIDTH=%%d\nlow.m3u8\n' "
      "$rate >>several.m3u8; done");
  expect_frames(clip("several.m3u8"), 25, &plain);
  snprintf(url, sizeof url, "http://127.0.0.1:%d/several.m3u8", web.port);
  expect_frames(url, 25, &plain);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists),
                                     cmocka_unit_test(test_playlist_in_file),
                                     cmocka_unit_test(test_concat),
                                     cmocka_unit_test(test_pipe),
                                     cmocka_unit_test(test_manifest),
                                     cmocka_unit_test(test_session),
                                     cmocka_unit_test(test_lists_without_end),
                                     cmocka_unit_test(test_typed_url)};
  av_log_set_level(AV_LOG_QUIET);
  unsetenv("http_proxy");
  if (!clips_open())
    return 77;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 clip.ts");
  int failed = cmocka_run_group_tests(tests, start_web, stop_web);
  clips_close();
  return failed;
}
