/* Tests OSC over the network with liblo as the other side: values are set, subscribers are informed, answers are sent,
 * errors are logged. */
#include <lo/lo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/datagram.h"
#include "app/remote/osc.h"
#include "tests/rigs/osc_rig.h"
#include "unet/base/platform.h"

enum { WAIT_MS = 60000, QUIET_MS = 60 };

struct peer {
  struct datagram_address address, program;
  int socket;
};

static int open_peer(struct peer *peer, const struct rig *rig) {
  char text[16];
  struct error err;
  assert_int_equal(datagram_find(&peer->address, "1", "test", &err), 0);
  peer->address = datagram_with_port(&peer->address, 0);
  peer->socket = datagram_open(&peer->address, true);
  assert_true(peer->socket >= 0);
  if (rig) {
    snprintf(text, sizeof text, "%d", rig->port);
    assert_int_equal(datagram_find(&peer->program, text, "test", &err), 0);
  }
  return datagram_port(&peer->address);
}

/* Returns a port that is free now. */
static int free_port(void) {
  struct peer peer;
  int port = open_peer(&peer, NULL);
  datagram_close(peer.socket);
  return port;
}

static void start_at(struct rig *rig, const char *host, const struct parameter_choices *to, int lease_ms) {
  char text[32];
  struct error err;
  rig->port = free_port();
  snprintf(text, sizeof text, "%s%d", host, rig->port);
  const struct osc_params params = {text, to, rig->hub, &rig->log, lease_ms};
  if (osc_start(&rig->osc, &params, &err))
    fail_msg("%s", err.message);
}

static void start(struct rig *rig, const struct parameter_choices *to) {
  start_at(rig, "", to, 0);
}

static void peer_says(const struct peer *peer, const char *address, const char *value) {
  struct osc_packet packet = {.size = 0};
  struct osc_message message = {.address = address, .count = value != NULL};
  size_t size;
  if (value)
    message.argument[0] = argument_of(value);
  assert_true(osc_add(&packet, &message));
  const uint8_t *bytes = osc_bytes(&packet, &size);
  datagram_send(peer->socket, &peer->program, bytes, size);
}

/* Waits for a message that begins with this text; NULL: none came. All messages so far are in rig->heard. */
static const char *peer_hears(struct rig *rig, const struct peer *peer, const char *begin, int wait_ms) {
  static uint8_t bytes[DATAGRAM_MAX];
  struct datagram_address from;
  int64_t end_ns = platform_now_ns() + (int64_t)wait_ms * 1000000;
  rig->heard.count = 0;
  for (;;) {
    const char *found = find_heard(&rig->heard, begin);
    int64_t left_ns = end_ns - platform_now_ns();
    if (found || left_ns <= 0)
      return found;
    if (rig->heard.count > HEARD_MAX / 2)
      rig->heard.count = 0;
    int64_t size = datagram_receive(peer->socket, bytes, sizeof bytes, &from, (int)(left_ns / 1000000) + 1);
    if (size > 0)
      osc_read(bytes, (size_t)size, write_down, &rig->heard);
  }
}

/* Waits until the window's thread sees this value. */
static void await_strength(struct rig *rig, double strength) {
  for (int i = 0; i < WAIT_MS && fabs(turn(rig)->strength - strength) > 1e-6; i++)
    platform_sleep_ns(1000000);
  assert_float_equal(turn(rig)->strength, strength, 1e-6);
}

static void liblo_sets_values(void **state) {
  struct rig *rig = *state;
  char port[16];
  start(rig, NULL);
  snprintf(port, sizeof port, "%d", rig->port);
  lo_address address = lo_address_new("127.0.0.1", port);
  assert_true(lo_send(address, "/reverie/strength", "f", 0.125) > 0);
  await_strength(rig, 0.125);
  assert_true(lo_send(address, "/reverie/{strength,detail}", "f", 0.375) > 0);
  await_strength(rig, 0.375);
  assert_float_equal(turn(rig)->detail, 0.375, 1e-6);
  lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  lo_message prompt = lo_message_new(), strength = lo_message_new();
  lo_message_add_string(prompt, "marble");
  lo_message_add_int32(strength, 1);
  lo_bundle_add_message(bundle, "/reverie/prompt/2", prompt);
  lo_bundle_add_message(bundle, "/reverie/strength", strength);
  assert_true(lo_send_bundle(address, bundle) > 0);
  await_strength(rig, 1);
  assert_string_equal(parameters_text(turn(rig), PARAMETER_PROMPT, 2), "marble");
  lo_bundle_free_recursive(bundle);
  lo_address_free(address);
}

static void subscribers_hear_of_changes(void **state) {
  struct rig *rig = *state;
  struct peer mixer, watcher;
  start(rig, NULL);
  open_peer(&mixer, rig);
  open_peer(&watcher, rig);
  turn(rig);
  peer_says(&mixer, "/reverie/subscribe", NULL);
  assert_non_null(peer_hears(rig, &mixer, "/reverie/figures/notice", WAIT_MS));
  char number[8];
  snprintf(number, sizeof number, "i:%d", datagram_port(&watcher.address));
  peer_says(&mixer, "/reverie/subscribe", number); /* subscribes another port of the same machine */
  assert_non_null(peer_hears(rig, &watcher, "/reverie/strength f:0.5", WAIT_MS));
  assert_non_null(peer_hears(rig, &watcher, "/reverie/figures/notice", WAIT_MS));

  rig->state.settings.values.mix = 0.25; /* this change comes from a key */
  turn(rig);
  assert_non_null(peer_hears(rig, &mixer, "/reverie/mix f:0.25", WAIT_MS));
  assert_non_null(peer_hears(rig, &watcher, "/reverie/mix f:0.25", WAIT_MS));

  /* A client that moves a fader does not get its own value back; other subscribers get it. */
  peer_says(&mixer, "/reverie/strength", "f:0.75");
  await_strength(rig, 0.75);
  assert_non_null(peer_hears(rig, &watcher, "/reverie/strength f:0.75", WAIT_MS));
  assert_null(peer_hears(rig, &mixer, "/reverie/strength", QUIET_MS));
  peer_says(&mixer, "/reverie/strength", "f:9"); /* the client that moves the fader gets the value if it was limited */
  await_strength(rig, 1);
  assert_non_null(peer_hears(rig, &mixer, "/reverie/strength f:1", WAIT_MS));

  peer_says(&mixer, "/reverie/unsubscribe", NULL);
  peer_says(&mixer, "/reverie/steps/get", NULL);
  assert_non_null(peer_hears(rig, &mixer, "/reverie/steps i:1", WAIT_MS));
  rig->state.settings.values.mix = 0.5;
  turn(rig);
  assert_non_null(peer_hears(rig, &watcher, "/reverie/mix f:0.5", WAIT_MS));
  assert_null(peer_hears(rig, &mixer, "/reverie/mix", 0));
  datagram_close(mixer.socket);
  datagram_close(watcher.socket);
}

static void those_of_the_command_line_hear(void **state) {
  struct rig *rig = *state;
  struct peer peer;
  char text[32];
  snprintf(text, sizeof text, "localhost:%d", open_peer(&peer, NULL));
  const struct parameter_choices to = {.text = {text}, .count = 1};
  const struct osc_params params = {NULL, &to, rig->hub, &rig->log, 1};
  struct error err;
  turn(rig);
  assert_int_equal(osc_start(&rig->osc, &params, &err), 0);
  assert_non_null(peer_hears(rig, &peer, "/reverie/figures/notice", WAIT_MS));
  assert_non_null(find_heard(&rig->heard, "/reverie/strength f:0.5"));
  assert_non_null(find_heard(&rig->heard, "/reverie/figures/fps f:30"));
  rig->state.settings.values.strength = 0.25;
  turn(rig);
  assert_non_null(peer_hears(rig, &peer, "/reverie/strength f:0.25", WAIT_MS));
  datagram_close(peer.socket);
}

/* A subscription of a client that sends nothing ends after a while; that of an address on the command line does not. */
static void subscriptions_end(void **state) {
  struct rig *rig = *state;
  struct peer silent, named, other;
  char text[32];
  snprintf(text, sizeof text, "localhost:%d", open_peer(&named, NULL));
  const struct parameter_choices to = {.text = {text}, .count = 1};
  turn(rig);
  start_at(rig, "", &to, 50);
  open_peer(&silent, rig);
  open_peer(&other, rig);
  peer_says(&silent, "/reverie/subscribe", NULL);
  assert_non_null(peer_hears(rig, &silent, "/reverie/figures/notice", WAIT_MS));
  platform_sleep_ns(200000000);
  rig->state.settings.values.mix = 0.25;
  turn(rig);
  assert_non_null(peer_hears(rig, &named, "/reverie/mix f:0.25", WAIT_MS));
  peer_says(&other, "/reverie/mix/get", NULL);
  assert_non_null(peer_hears(rig, &other, "/reverie/mix f:0.25", WAIT_MS));
  assert_null(peer_hears(rig, &silent, "/reverie/mix", 0));
  datagram_close(silent.socket);
  datagram_close(named.socket);
  datagram_close(other.socket);
}

/* Any message of a machine, from any port, renews its subscription. */
static void messages_renew_subscriptions(void **state) {
  struct rig *rig = *state;
  struct peer peer, other;
  int64_t lease_ns = 1500000000, begun_ns, said_ns;
  bool slept;
  turn(rig);
  start_at(rig, "", NULL, (int)(lease_ns / 1000000));
  open_peer(&peer, rig);
  open_peer(&other, rig);
  do { /* if the machine is so slow that the subscription ends before the message, the test proves nothing */
    slept = false;
    peer_says(&peer, "/reverie/subscribe", NULL);
    for (begun_ns = said_ns = platform_now_ns(); platform_now_ns() - begun_ns < lease_ns * 4 / 3;) {
      platform_sleep_ns(lease_ns / 30);
      peer_says(&other, "/reverie/steps/get", NULL);
      slept |= platform_now_ns() - said_ns > lease_ns / 2;
      said_ns = platform_now_ns();
    }
  } while (slept);
  assert_non_null(peer_hears(rig, &peer, "/reverie/figures/notice", WAIT_MS));
  rig->state.settings.values.mix = 0.25;
  turn(rig);
  assert_non_null(peer_hears(rig, &peer, "/reverie/mix f:0.25", WAIT_MS));
  datagram_close(peer.socket);
  datagram_close(other.socket);
}

/* A small packet with many requests does not cause a flood of answers; the values in it are set. */
static void answers_are_bounded(void **state) {
  enum { TIMES = 2500 };
  struct rig *rig = *state;
  struct peer peer;
  static uint8_t bundle[DATAGRAM_MAX] = "#bundle\0\0\0\0\0\0\0\0\1";
  static const uint8_t list[] = "\0\0\0\x14/reverie/list\0\0\0,\0\0";
  static const uint8_t set[] = "\0\0\0\x1c/reverie/strength\0\0\0,f\0\0\x3e\0\0";
  size_t size = 16;
  start(rig, NULL);
  open_peer(&peer, rig);
  for (int i = 0; i < TIMES; i++, size += sizeof list)
    memcpy(bundle + size, list, sizeof list);
  memcpy(bundle + size, set, sizeof set);
  datagram_send(peer.socket, &peer.program, bundle, size + sizeof set);
  await_strength(rig, 0.125);
  peer_says(&peer, "/reverie/subscribe", NULL);
  assert_true(osc_stop(&rig->osc, 60000));
  assert_non_null(strstr(rig->logged[0], "asks for more at once than is answered"));
  datagram_close(peer.socket);
}

/* A packet of patterns that take long to compare with addresses does not delay what follows: the value at its end is
 * set. */
static void matching_is_bounded(void **state) {
  enum { TIMES = 200 };
  struct rig *rig = *state;
  struct peer peer;
  static uint8_t bundle[DATAGRAM_MAX] = "#bundle\0\0\0\0\0\0\0\0\1";
  uint8_t pattern[4 + OSC_PATTERN_MAX + 5] = {0, 0, 1, 4};
  static const uint8_t set[] = "\0\0\0\x1c/reverie/strength\0\0\0,f\0\0\x3e\0\0";
  size_t size = 16;
  start(rig, NULL);
  open_peer(&peer, rig);
  memset(pattern + 4, '*', OSC_PATTERN_MAX);
  memcpy(pattern + 4, "/reverie/", strlen("/reverie/"));
  pattern[4 + OSC_PATTERN_MAX + 1] = ',';
  for (int i = 0; i < TIMES; i++, size += sizeof pattern)
    memcpy(bundle + size, pattern, sizeof pattern);
  memcpy(bundle + size, set, sizeof set);
  datagram_send(peer.socket, &peer.program, bundle, size + sizeof set);
  await_strength(rig, 0.125);
  assert_true(osc_stop(&rig->osc, 60000));
  assert_non_null(strstr(rig->logged[0], "patterns come faster"));
  datagram_close(peer.socket);
}

/* A server that listens at all addresses of the machine refuses a subscription of its own port, at any of these
 * addresses. */
static void the_program_does_not_hear_itself(void **state) {
  struct rig *rig = *state;
  struct peer peer;
  char number[16];
  start_at(rig, "0.0.0.0:", NULL, 0);
  open_peer(&peer, rig);
  snprintf(number, sizeof number, "i:%d", rig->port);
  peer_says(&peer, "/reverie/subscribe", number);
  peer_says(&peer, "/reverie/steps/get", NULL);
  assert_non_null(peer_hears(rig, &peer, "/reverie/steps i:1", WAIT_MS));
  assert_true(osc_stop(&rig->osc, 60000));
  assert_int_equal(rig->log_count, 1);
  assert_non_null(strstr(rig->logged[0], "subscribes this program to itself"));
  datagram_close(peer.socket);
}

static void nonsense_is_answered_and_logged_once(void **state) {
  struct rig *rig = *state;
  struct peer peer;
  int64_t begun_ns = platform_now_ns();
  start(rig, NULL);
  open_peer(&peer, rig);
  for (int i = 0; i < 50; i++)
    peer_says(&peer, "/reverie/strenght", "f:1");
  datagram_send(peer.socket, &peer.program, "\xff\xff\xff", 3);
  datagram_send(peer.socket, &peer.program, "", 0);
  peer_says(&peer, "/reverie/steps/get", NULL);
  assert_non_null(peer_hears(rig, &peer, "/reverie/steps i:1", WAIT_MS));
  assert_non_null(find_heard(&rig->heard, "/reverie/error s:/reverie/strenght s:strenght: there is no parameter"));
  assert_true(osc_stop(&rig->osc, 60000));
  /* at most one log line a second */
  assert_in_range(rig->log_count, 1, 2 + (platform_now_ns() - begun_ns) / 1000000000);
  assert_non_null(strstr(rig->logged[0], "strenght: there is no parameter"));
  datagram_close(peer.socket);
}

static void assert_not_started(struct rig *rig, const char *listen, const char *to, const char *why,
                               enum status status) {
  struct error err = {0};
  const struct parameter_choices list = {.text = {to}, .count = to != NULL};
  const struct osc_params params = {listen, &list, rig->hub, &rig->log, 0};
  assert_int_equal(osc_start(&rig->osc, &params, &err), -1);
  assert_int_equal(err.status, status);
  if (!strstr(err.message, why))
    fail_msg("%s, not %s", err.message, why);
  assert_null(rig->osc);
}

static void places_that_are_none_are_refused(void **state) {
  struct rig *rig = *state;
  struct peer peer;
  char text[32], everywhere[48];
  snprintf(text, sizeof text, "%d", open_peer(&peer, NULL));
  assert_not_started(rig, text, NULL, "another program listens there", STATUS_USAGE);
  datagram_close(peer.socket);
  static const char *const wrong[] = {
      "", "0", "65536", "x", "1x", ":9000", "localhost:", "localhost", "::1:9000", "[::1]9000", "9000:", "-1", " 9000"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_not_started(rig, wrong[i], NULL, "PORT, HOST:PORT", STATUS_USAGE);
    assert_not_started(rig, NULL, wrong[i], "PORT, HOST:PORT", STATUS_USAGE);
  }
  assert_not_started(rig, "127.0.0.1:9", "9", "that is where --osc listens", STATUS_USAGE);
  snprintf(text, sizeof text, "%d", free_port());
  snprintf(everywhere, sizeof everywhere, "0.0.0.0:%s", text);
  assert_not_started(rig, everywhere, text, "that is where --osc listens", STATUS_USAGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RIG(liblo_sets_values),
      WITH_RIG(subscribers_hear_of_changes),
      WITH_RIG(those_of_the_command_line_hear),
      WITH_RIG(subscriptions_end),
      WITH_RIG(messages_renew_subscriptions),
      WITH_RIG(answers_are_bounded),
      WITH_RIG(matching_is_bounded),
      WITH_RIG(the_program_does_not_hear_itself),
      WITH_RIG(nonsense_is_answered_and_logged_once),
      WITH_RIG(places_that_are_none_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
