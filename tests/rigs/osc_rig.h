/* What the tests of OSC share: a hub with values, and messages as text. Failures fail the test. */
#ifndef TESTS_OSC_RIG_H
#define TESTS_OSC_RIG_H

#include "app/remote/osc.h"
#include "app/remote/osc_talk.h"
#include "tests/rigs/cmocka_all.h"

enum { TEXT_MAX = 400, HEARD_MAX = 1000 };

/* Messages as text: "/reverie/strength f:0.5". */
struct heard {
  char text[HEARD_MAX][TEXT_MAX];
  int count;
};
void write_down(void *opaque, const struct osc_message *message); /* opaque: the struct heard */
/* The first that begins so, or NULL. */
const char *find_heard(const struct heard *heard, const char *begin);
/* "f:0.5" as an argument, whose text points into the word. */
struct osc_argument argument_of(const char *word);

struct rig {
  struct live_state state;
  struct parameter_choices models;
  struct hub *hub;
  struct heard heard;
  struct log log;
  char logged[4][512]; /* warnings */
  int log_count;
  struct osc *osc; /* NULL: none is started */
  int port;
};
int open_rig(void **state);
int close_rig(void **state);
#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

/* What the window's thread does in a turn. */
const struct parameters *turn(struct rig *rig);

#endif
