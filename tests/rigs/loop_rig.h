/* For tests of the live window's threads: a loop with its mailboxes and a fake engine. */
#ifndef TESTS_LOOP_RIG_H
#define TESTS_LOOP_RIG_H

#include "app/run/loop.h"
#include "tests/rigs/fake_engine.h"

enum { SIDE = 16, PATIENCE_MS = 120000, OTHERS_HOLD = 2, LIMIT = 4096 };

/* A loop with its mailboxes. */
struct rig {
  struct mailbox in, out;
  struct host_pictures frames;
  struct loop *loop;
  struct log log;
  bool early; /* changes are sent before the engine is open */
  int warnings;
  char warned[200]; /* last */
  struct log told;
  int tellings;
  char lastly[200]; /* told last */
  /* What loop_params.before was called with, if it is to be: how often, the last frame's serial, and from which on it
   * fails. */
  bool before, controlled; /* controlled: the engine has two controls, of which the second is switched off */
  int befores;
  bool before_on_device;
  uint64_t before_serial, refused;
  struct frame control; /* that it gives to the request */
  double budget_ms, drawing_ms;
  bool urgent;
  bool recovers, retries_start, leaves_lost;
  atomic_int lefts; /* calls of loop_params.left */
  bool modulated;
  bool still;                 /* and nothing moves by itself */
  atomic_int moments;         /* how often it was asked what is moved */
  _Atomic uint64_t moved_for; /* the frame that was told of with it */
  _Atomic double offset;      /* that is added to the strength, if it is */
  bool files;                 /* style pictures are followed: any but "none" can be read */
  bool refuses_file;
  atomic_int refusals; /* of files */
  atomic_int turns;    /* calls of loop_params.read_files */
};

void set_prompt_text(struct loop *loop, int index, const char *text);
void set_number(struct loop *loop, enum parameter id, double number);
void rig_start(struct rig *rig, const struct fake_engine_script *script, bool has_frames);

/* Everything that holds whatever happened. */
void rig_finish(struct rig *rig, int expected);
void put_frame(struct rig *rig, int serial);
const struct mail *expect_picture(struct rig *rig);
void expect_again(struct rig *rig, uint64_t serial);
void expect_nothing(struct rig *rig, int ms);

/* Once there was one. */
const struct fake_submit *last_submit(void);

/* Frames come until the engine has followed a wish, and some more then. */
int feed_until_followed(struct rig *rig, int serial, const struct engine_shape *wish, bool refused);
void wait_for_handles(int count);

/* Puts count frames, one after the other, and waits for the picture of each. Where the caller is held up between two
 * frames, the loop may have made a picture of the frame before once more: that one is passed over, so that what was
 * submitted last is the frame put last, or a later picture of it. Returns the serial of the next frame. */
int feed_frames(struct rig *rig, int serial, int count);

#endif
