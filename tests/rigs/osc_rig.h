/* Helpers for tests of OSC: a hub with values, an OSC server, and messages as text. Errors fail the test. */
#ifndef TESTS_OSC_RIG_H
#define TESTS_OSC_RIG_H

#include "app/remote/osc.h"
#include "app/remote/osc_talk.h"
#include "tests/rigs/cmocka_all.h"

enum { TEXT_MAX = 400, HEARD_MAX = 1000 };

/* OSC messages that were received, as texts such as "/reverie/strength f:0.5". */
struct heard {
  char text[HEARD_MAX][TEXT_MAX];
  int count;
};
/* adds the message as text to opaque, a struct heard */
void write_down(void *opaque, const struct osc_message *message);
/* Returns the first received message that begins with `begin`; NULL: there is none. */
const char *find_heard(const struct heard *heard, const char *begin);
/* Returns the argument that a text such as "f:0.5" describes. A string argument points into `word`. */
struct osc_argument argument_of(const char *word);

struct rig {
  struct live_state state;
  struct parameter_choices models;
  struct hub *hub;
  struct heard heard;
  struct log log;
  char logged[4][512]; /* texts of the warnings that were logged */
  int log_count;
  struct osc *osc; /* the OSC server; NULL: none was started */
  int port;
};
int open_rig(void **state);
int close_rig(void **state);
#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

/* Does what the window's thread does in one pass of its loop, and returns the values. */
const struct parameters *turn(struct rig *rig);

#endif
