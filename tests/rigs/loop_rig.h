/* For tests of the live window's threads: a loop with its mailboxes and a fake engine. */
#ifndef TESTS_LOOP_RIG_H
#define TESTS_LOOP_RIG_H

#include "app/run/loop.h"
#include "tests/rigs/fake_engine.h"

enum { SIDE = 16, PATIENCE_MS = 120000, OTHERS_HOLD = 2, LIMIT = 4096 };

/* A loop with its mailboxes. Tests set some fields before rig_start, and read others. */
struct rig {
  struct mailbox in, out;
  struct host_pictures frames;
  struct loop *loop;
  uint64_t stretch; /* frame.stretch of the frames that put_frame makes */
  struct log log;
  bool early; /* changes are sent before the engine is open */
  /* Warnings of the log: their number, and the last one. */
  int warnings;
  char warned[200];
  struct log told;
  /* Lines of told: their number, and the last one. */
  int tellings;
  char lastly[200];
  /* Calls of loop_params.before, if it is set: how many, the last frame's serial, and the serial from which on it
   * fails. */
  bool before, controlled; /* controlled: the engine has two controls, of which the second is off */
  int befores;
  bool before_on_device;
  uint64_t before_serial, refused;
  struct frame control; /* the control frame that it gives to the request */
  double budget_ms, drawing_ms;
  bool urgent;
  bool recovers, retries_start, leaves_lost;
  atomic_int lefts; /* number of calls of loop_params.left */
  /* loop_params.modulate is set */
  bool modulated;
  bool still;                 /* loop_params.modulate changes no value between frames */
  atomic_int moments;         /* number of calls of loop_params.modulate */
  _Atomic uint64_t moved_for; /* serial of the frame in its last call */
  _Atomic double offset;      /* the amount that loop_params.modulate adds to the strength */
  bool files;                 /* loop_params.read_files is set; it can read any style but "none" */
  /* the last style was refused */
  bool refuses_file;
  atomic_int refusals; /* number of refused styles */
  atomic_int turns;    /* number of calls of loop_params.read_files */
};

/* Send a change to the loop. */
void set_prompt_text(struct loop *loop, int index, const char *text);
void set_number(struct loop *loop, enum parameter id, double number);
/* Starts the loop with an engine that behaves as the script says. has_frames: it gets frames. */
void rig_start(struct rig *rig, const struct fake_engine_script *script, bool has_frames);

/* Ends the loop and checks everything that must always hold. */
void rig_finish(struct rig *rig, int expected);
/* Puts a frame whose pixels all have the value serial. */
void put_frame(struct rig *rig, int serial);
/* Waits for a picture. The test fails if none comes. */
const struct mail *expect_picture(struct rig *rig);
/* Waits for a picture that was made of this frame once more. */
void expect_again(struct rig *rig, uint64_t serial);
/* Fails the test if a picture comes within ms. */
void expect_nothing(struct rig *rig, int ms);

/* Returns the last submit. There must have been one. */
const struct fake_submit *last_submit(void);

/* Puts frames until the engine has followed a wish, or refused it, and some more then. Returns the serial of the next
 * frame. */
int feed_until_followed(struct rig *rig, int serial, const struct engine_shape *wish, bool refused);
void wait_for_handles(int count);

/* Puts count frames, one after the other, and waits for the picture of each. If the caller is delayed between two
 * frames, the loop may have made another picture of the former frame: that picture is skipped, so that the last submit
 * is of the frame put last. Returns the serial of the next frame. */
int feed_frames(struct rig *rig, int serial, int count);

#endif
