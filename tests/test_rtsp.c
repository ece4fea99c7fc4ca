/* Tests RTSP with a server that falls silent, disconnects and returns with another size, over TCP and UDP, and where
 * one of them does not get through. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include <libavutil/log.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/reading.h"
#include "tests/rigs/rtsp_server.h"

enum { FRAMES = 50, LATE = FRAMES - 5 };

static void start(struct rtsp_server *server, struct reading *reading, const struct rtsp_play *plays, int count,
                  const char *options) {
  if (!rtsp_server_start(server, plays, count)) {
    print_message("no local network here\n");
    skip();
  }
  reading_start(reading, "rtsp", server->port, 0.5, options);
}

static void end(struct rtsp_server *server, struct reading *reading) {
  assert_int_equal(reading_end(reading, NULL), 0);
  rtsp_server_end(server);
}

/* The stream falls silent, ends, and returns with another size. */
static void goes_on(void **state) {
  (void)state;
  static const char *const options[] = {"rtsp_transport=tcp", "rtsp_transport=udp"};
  static const struct rtsp_play plays[] = {
      {"small.h264", false, true, true}, {"large.h264", false, true, false}, {"small.h264", false, true, true}};
  for (int i = 0; i < 2; i++) {
    struct rtsp_server server;
    struct reading reading;
    struct reader_status status;
    struct source_info info;
    start(&server, &reading, plays, 3, options[i]);
    wait_for_number(&reading, LATE);
    wait_for_loss(&reading, &status);
    assert_non_null(strstr(status.reason, "nothing came for 0.5 s"));
    wait_for_width(&reading, LATE, 96);
    assert_true(reader_get_info(reading.reader, &info));
    assert_true(info.realtime && info.returns && info.width == 96 && info.height == 80);
    wait_for_width(&reading, LATE, 64);
    end(&server, &reading);
  }
}

/* Cameras behind a router that blocks datagrams, and cameras that only send datagrams. */
static void takes_what_gets_through(void **state) {
  (void)state;
  static const struct rtsp_play plays[] = {{"small.h264", false, false, true}, {"small.h264", true, true, true}};
  for (int i = 0; i < 2; i++) {
    struct rtsp_server server;
    struct reading reading;
    start(&server, &reading, &plays[i], 1, NULL);
    wait_for_number(&reading, LATE);
    end(&server, &reading);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goes_on),
      cmocka_unit_test(takes_what_gets_through),
  };
  av_log_set_level(AV_LOG_QUIET);
  if (!clips_open())
    return 77;
  make_greys("64x48:r=25,format=yuv420p", FRAMES, "-c:v libx264 -qp 0 -g 5 -bf 0 small.h264");
  make_greys("96x80:r=25,format=yuv420p", FRAMES, "-c:v libx264 -qp 0 -g 5 -bf 0 large.h264");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
