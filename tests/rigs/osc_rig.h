/* Helpers for tests of OSC: a hub with values, and messages as text. Errors fail the test. */
#ifndef TESTS_OSC_RIG_H
#define TESTS_OSC_RIG_H

#include "app/remote/osc.h"
#include "app/remote/osc_talk.h"
#include "tests/rigs/cmocka_all.h"

enum { TEXT_MAX = 400, HEARD_MAX = 1000 };

/* Messages as text, such as "/reverie/strength f:0.5". */
struct heard {
  char text[HEARD_MAX][TEXT_MAX];
  int count;
};
void write_down(void *opaque, const struct osc_message *message); /* stores a message in opaque, a struct heard */
/* Returns the first message that begins with these words, or NULL. */
const char *find_heard(const struct heard *heard, const char *begin);
/* Reads an argument such as "f:0.5". Its text points into word. */
struct osc_argument argument_of(const char *word);

struct rig {
  struct live_state state;
  struct parameter_choices models;
  struct hub *hub;
  struct heard heard;
  struct log log;
  char logged[4][512]; /* the warnings logged */
  int log_count;
  struct osc *osc; /* NULL: none was started */
  int port;
};
int open_rig(void **state);
int close_rig(void **state);
#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

/* Does what the window's thread does in a turn, and returns the values. */
const struct parameters *turn(struct rig *rig);

#endif
