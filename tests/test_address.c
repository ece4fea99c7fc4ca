/* Tests how addresses of streams are shown: scheme, host, port and path, without passwords and other secrets. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/address.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

static const struct {
  const char *typed, *shown;
} cases[] = {
    {"rtsp://user:pw@camera/x", "rtsp://camera/x"},
    {"rtsp://user:pw@camera", "rtsp://camera"},
    {"RTSP://User:Pw@Camera:554/Streaming/1?token=t#f", "RTSP://Camera:554/Streaming/1"},
    {"rtsp://user:p@w@camera:554/x", "rtsp://camera:554/x"},
    {"rtsp://user:p/w@camera/x", "rtsp://...@camera/x"},
    {"rtsp://user:1/2@camera/x", "rtsp://...@camera/x"},
    {"rtsp://user:p@s/w@camera/x", "rtsp://...@camera/x"},
    {"rtsp://user:p?w@camera/x", "rtsp://...@camera/x"},
    {"rtsp://user:12?3@camera/x", "rtsp://...@camera/x"},
    {"rtsp://user:p#w@camera/x", "rtsp://...@camera/x"},
    {"rtsp://user:p w@camera/x", "rtsp://camera/x"},
    {"rtsp://user:p%40w@camera/x", "rtsp://camera/x"},
    {"rtsp://user@camera/x", "rtsp://camera/x"},
    {"rtsp://user:pw", "rtsp://user"},
    {"rtsp://user:pw@[fe80::1%25eth0]:554/x", "rtsp://[fe80::1%25eth0]:554/x"},
    {"http://[::1]:8080/a.ts?sig=s", "http://[::1]:8080/a.ts"},
    {"http://fe80::1/a.ts", "http://fe80::1/a.ts"},
    {"http:user:pw@host/x", "http://host/x"},
    {"http:/user:pw@host/x", "http://host/x"},
    {"https://host/@name/video.mp4?mail=a@b", "https://host/@name/video.mp4"},
    {"https://user:pw@host:8443/live.m3u8?token=a@b", "https://host:8443/live.m3u8"},
    {"http://host:80/x?mail=a@b", "http://host:80/x"},
    {"http://host#secret", "http://host"},
    {"srt://host:9000?streamid=#!::u=admin,r=x&passphrase=p@ss", "srt://host:9000"},
    {"srt://:9000?mode=listener&passphrase=secret", "srt://:9000"},
    {"rist://user:pw@host:1234?secret=s", "rist://host:1234"},
    {"udp://@239.0.0.1:1234?localaddr=10.0.0.1", "udp://239.0.0.1:1234"},
    {"tcp://127.0.0.1:22?listen=1", "tcp://127.0.0.1:22"},
    {"rtmp://a.example/live2/stream-key", "rtmp://a.example/live2/..."},
    {"rtmp://u:p@a.example:1935/live2/key?bandwidthtest=true", "rtmp://a.example:1935/live2/..."},
    {"rtmps://a.example/app/instance/key/", "rtmps://a.example/app/instance/..."},
    {"RTMPT://a.example/key", "RTMPT://a.example/..."},
    {"rtmp://a.example/app/k live=1 pubUser=u pubPasswd=secret", "rtmp://a.example/app/..."},
    {"rtmp://a.example/app/...", "rtmp://a.example/app/..."},
    {"rtmp://a.example", "rtmp://a.example"},
    {"icecast://source:hackme@host:8000/live.webm", "icecast://host:8000/live.webm"},
    {"cache:https://u:p@host/x?y", "cache:https://host/x"},
    {"async:cache:https://u:p@host/x", "async:cache:https://host/x"},
    {"crypto+https://u:p@host/x", "crypto+https://host/x"},
    {"hls+https://u:p@host/x.m3u8?k", "hls+https://host/x.m3u8"},
    {"concat:http://a:b@one/x|http://c:d@two/y?z", "concat:http://one/x|http://two/y"},
    {"tee:[f=flv]rtmp://host/live/key", "tee:[f=flv]rtmp://host/live/..."},
    {"subfile,,start,0,end,9,,:http://u:p@host/x", "subfile,,start,0,end,9,,:http://host/x"},
    {"http://proxy/rtsp://u:p@camera/x", "http://proxy/rtsp://camera/x"},
    {"lavfi:movie=http\\\\://u\\\\:p@host/x", "lavfi:movie=http://host/x"},
    {"lavfi:movie=filename='rtsp\\://u\\:p@host\\:554/x'", "lavfi:movie=filename='rtsp://host:554/x'"},
    {"av://rtsp://u:p@host/x", "av://rtsp://host/x"},
    /* these are no addresses of streams */
    {"clip.mp4", "clip.mp4"},
    {"/srv/a?b#c/me@home:x.mp4", "/srv/a?b#c/me@home:x.mp4"},
    {"c:d@e.mp4", "c:d@e.mp4"},
    {"file:///srv/a?b.mp4", "file:///srv/a?b.mp4"},
    {"lavfi:testsrc2=s=512x512:r=30", "lavfi:testsrc2=s=512x512:r=30"},
    {"x11grab::0.0+10,20", "x11grab::0.0+10,20"},
    {"av://v4l2:/dev/video0", "av://v4l2:/dev/video0"},
    {"", ""},
};
enum { CASES = sizeof cases / sizeof *cases };

static void only_what_may_be_seen_is_shown(void **unused) {
  (void)unused;
  for (int i = 0; i < CASES; i++)
    assert_string_equal(address_shown(cases[i].typed).text, cases[i].shown);
}

static void what_is_shown_may_be_shown_again(void **unused) {
  (void)unused;
  for (int i = 0; i < CASES; i++)
    assert_string_equal(address_shown(cases[i].shown).text, cases[i].shown);
}

static void a_name_is_short_for_a_path_alone(void **unused) {
  (void)unused;
  assert_string_equal(address_name("/srv/clips/a.mp4").text, "a.mp4");
  assert_string_equal(address_name("rtsp://u:p/w@camera/x").text, "rtsp://...@camera/x");
  assert_string_equal(address_name("https://u:p@host/films/a.mp4?k=1").text, "https://host/films/a.mp4");
  assert_true(address_is("Rtsp://x") && address_is("udp:host:1") && !address_is("a/rtsp://x") && !address_is("a:b"));
}

static void keep_line(void *opaque, enum log_level level, const char *text) {
  (void)level;
  snprintf(opaque, 1024, "%s", text);
}

/* Each address is tried at all places in messages: before a reason, in quotes, between words, twice, in an error and in
 * a line of the log. */
static void lines_hold_no_secret(void **unused) {
  (void)unused;
  char line[1024], wanted[1024];
  struct error err;
  const struct log log = {keep_line, line};
  for (int i = 0; i < CASES; i++) {
    const char *typed = cases[i].typed, *shown = cases[i].shown;
    /* in a line, an address with spaces or quotes cannot be recognised completely */
    if (strchr(typed, ' ') || strstr(typed, "='"))
      continue;
    error_set(&err, STATUS_INPUT, "%s: cannot be opened: refused", typed);
    error_prefix(&err, "--to %s: ", typed);
    snprintf(wanted, sizeof wanted, "--to %s: %s: cannot be opened: refused", shown, shown);
    assert_string_equal(err.message, wanted);
    log_line(&log, LOG_INFO, "Opening '%s' for reading, then %s, too", typed, typed);
    snprintf(wanted, sizeof wanted, "Opening '%s' for reading, then %s, too", shown, shown);
    assert_string_equal(line, wanted);
    log_verbatim(&log, LOG_INFO, "%s", typed);
    assert_string_equal(line, typed);
  }
}

static void blanks_and_quotes_hide_nothing(void **unused) {
  (void)unused;
  static const char *const lines[] = {
      "rtsp://user:s3 cr3t@camera/x: refused",
      "rtsp://us s3cr3t@camera: refused",
      "Opening 'rtsp://user:cr3t's3@camera/x' for reading",
      "rtmp://host/live/s3cr3t live=1 pubPasswd=s3cr3t: Input/output error",
      "rtsp://user:pw@camera and http://host/?x=s3cr3t, then rtmp://host/s3cr3t.",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char line[256];
    snprintf(line, sizeof line, "%s", lines[i]);
    address_conceal(line, sizeof line);
    assert_null(strstr(line, "s3"));
    assert_null(strstr(line, "cr3t"));
  }
}

/* Any text is accepted, the result fits the buffer, and hiding secrets a second time changes nothing. */
static void any_text_is_taken(void **unused) {
  (void)unused;
  static const char *const parts[] = {"rtmp", "http", ":", "//", "/",   "@", "?", "#", "[", "]",       "\\",
                                      " ",    "'",    "a", "1",  "...", "|", ".", ",", "=", "\xc3\xa9"};
  srand(7);
  for (int round = 0; round < 20000; round++) {
    char text[120] = "", once[sizeof text];
    for (int i = rand() % 16; i > 0; i--)
      strcat(text, parts[(size_t)rand() % (sizeof parts / sizeof *parts)]);
    address_conceal(text, 100);
    assert_true(strlen(text) < 100);
    memcpy(once, text, sizeof once);
    assert_true(strlen(address_shown(once).text) < sizeof once);
  }
  char long_one[6000];
  memset(long_one, 'p', sizeof long_one);
  memcpy(long_one, "rtsp://u:", 9);
  strcpy(long_one + sizeof long_one - 10, "@camera/x");
  assert_string_equal(address_shown(long_one).text, "rtsp://camera/x");
  address_conceal(long_one, sizeof long_one);
  assert_string_equal(long_one, "rtsp://camera/x");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_what_may_be_seen_is_shown),   cmocka_unit_test(what_is_shown_may_be_shown_again),
      cmocka_unit_test(a_name_is_short_for_a_path_alone), cmocka_unit_test(lines_hold_no_secret),
      cmocka_unit_test(blanks_and_quotes_hide_nothing),   cmocka_unit_test(any_text_is_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
